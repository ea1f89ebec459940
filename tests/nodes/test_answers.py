"""A fleet on several servers answers as it does on one."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from architecture.tree import ROOT
from cli.commands import Ended, call
from factories.node_fleets import gathered, let_rows_leave, node_away, several_servers
from factories.populated import Populated, populate, populate_by_api
from factories.services import running
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.storage.heat.rows import read_rows
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.watch import NodeWatch

DOCUMENT = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
N_HOSTS = 3
OTHERWISE = {"/metrics": "of the process", "/v1/status": "it lists the nodes"}
"""Answers that differ, and why."""
ASKED = {"name": "pgpromote_success", "kind": "service", "metric": "resident", "match": "up", "effect_ratio": "0.1"}


@dataclass(slots=True)
class Both:
    """The same fleet on one server and on several: addresses of databases, clients of services, and what there is."""

    urls: tuple[str, str]
    clients: tuple[httpx.Client, httpx.Client]
    watch: NodeWatch
    """Of the service on several servers."""
    made: Populated


@pytest.fixture(scope="module")
def both(template: Template, storage_mode: str) -> Iterator[Both]:
    with ExitStack() as running_ones:
        several = running_ones.enter_context(several_servers(template, storage_mode, "n1", "n2"))
        with running(_settings(several.url)) as (_, client):
            made = populate(several, n_hosts=N_HOSTS)
            populate_by_api(client, several, made)
        assert let_rows_leave(several, 1)["heat_live"] > 0, "a node has rows in packs alone, the others do not"
        Moves(several).move(made.ids["host_id"][1:2], "n2", actor="test")
        name = gathered(template, several)
        running_ones.callback(template.drop_database, name)
        urls = (template.cluster.url(name), several.url)
        (_, one), (app, other) = (running_ones.enter_context(running(_settings(url))) for url in urls)
        for client in (one, other):
            client.headers["Authorization"] = f"Bearer {made.token}"
        yield Both(urls, (one, other), app.state.use_cases.node_watch, made)


def _settings(url: str) -> Settings:
    return Settings.model_validate({"database_url": url, "rate_limits": {"enabled": False}})


def routes() -> list[str]:
    """Every route that is read."""
    return sorted(path for path, methods in DOCUMENT["paths"].items() if "get" in methods and path not in OTHERWISE)


def addresses(path: str, made: Populated, place: int) -> tuple[str, dict[str, str]]:
    """The address and the parameters of a route about the things at a place; a word where nothing has an id."""
    parameters = DOCUMENT["paths"][path]["get"].get("parameters", ())
    ids = {name: found[min(place, len(found) - 1)] for name, found in made.ids.items()}
    words = {one["name"]: "x" for one in parameters if one["in"] == "path"}
    known = {kind: ids[f"{kind}_id"] for kind in ("host", "service", "scenario")} | {"id": ids["service_id"]}
    needed = [one["name"] for one in parameters if one.get("required") and one["in"] == "query"]
    return path.format(**(words | ids)), {name: (ASKED | known).get(name, "x") for name in needed}


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("path", routes())
def test_an_answer_is_the_same(both: Both, path: str) -> None:
    one, several = both.clients
    for place in range(N_HOSTS):
        address, given = addresses(path, both.made, place)
        expected, found = one.get(address, params=given), several.get(address, params=given)
        assert (expected.status_code, expected.text) == (found.status_code, found.text)


COMMANDS = (
    ("agents", "pauses"),
    ("experiments", "plan", "--service", "SERVICE"),
    ("fairness", "HOST"),
    ("knobs", "--host", "HOST"),
    ("network", "SERVICE"),
)
"""Commands that answer for hosts."""


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_command_answers_the_same(both: Both, words: tuple[str, ...]) -> None:
    one, several = (command(both, client, words) for client in both.clients)
    assert one.status in (0, 3), one.stderr
    assert several == one


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_all_routes_and_commands_say_which_node_is_away_and_answer_with_the_rest(
    both: Both, template: Template
) -> None:
    one, several = both.clients
    # What was answered before the node left is not answered again.
    for host in both.made.ids["host_id"]:
        assert several.get(f"/v1/hosts/{host}/fairness/limits").status_code == httpx.codes.OK
    whole = several.get("/metrics/fleet").text
    with closing(Database(both.urls[1])) as fleet, node_away(template, fleet, 2):
        both.watch.look()
        with fleet.read() as session:
            there = set(session.execute(text("SELECT public_id FROM hosts")).scalars())
        stays, gone = (
            next(place for place, host in enumerate(both.made.ids["host_id"]) if (host in there) is answers)
            for answers in (True, False)
        )
        for path in routes():
            address, given = addresses(path, both.made, stays)
            expected, found = one.get(address, params=given), several.get(address, params=given)
            assert found.headers["X-Nodes-Away"] == "n2", address
            found_nothing = expected.status_code == httpx.codes.NOT_FOUND
            status = httpx.codes.SERVICE_UNAVAILABLE if found_nothing else expected.status_code
            assert found.status_code == status, (address, found.text)
            if path == "/metrics/fleet":
                assert [host in found.text for host in both.made.ids["host_id"]] == [
                    host in there for host in both.made.ids["host_id"]
                ]
            if "{host_id}" in path:
                address, given = addresses(path, both.made, gone)
                assert several.get(address, params=given).status_code == httpx.codes.SERVICE_UNAVAILABLE, address
        for words in COMMANDS:
            done = command(both, several, words, stays)
            assert (done.status in (0, 3), "2 of 3 nodes answer; away: n2" in done.stderr) == (True, True), done.stderr
    both.watch.look()
    assert several.get("/metrics/fleet").text == whole


def command(both: Both, client: httpx.Client, words: tuple[str, ...], place: int = 0) -> Ended:
    """A command about the things at a place, that asks the service of a client."""
    ids = {name.removesuffix("_id").upper(): found[min(place, len(found) - 1)] for name, found in both.made.ids.items()}
    named = [ids.get(word, word) for word in words]
    return call(
        *named, "--json", env={**os.environ, "TIERSCOPE_URL": str(client.base_url), "TIERSCOPE_TOKEN": both.made.token}
    )


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_rows_are_read_whether_they_have_left_or_not(both: Both) -> None:
    found = []
    for url in both.urls:
        with closing(Database(url)) as database, database.read() as session:
            end = utc_now()
            rows = read_rows(session, 1, end - timedelta(days=1), end)
            found.append({host: [(row.end_us, row.method, str(row)) for row in some] for host, some in rows.items()})
    one, several = found
    assert several == one
    assert len(one) == N_HOSTS
    assert len({len(some) for some in one.values()}) == 1, "each host sent the same hours"
