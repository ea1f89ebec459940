"""A fleet on several servers answers as it does on one."""

import json
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from architecture.tree import ROOT
from factories.node_fleets import gathered, several_servers
from factories.populated import Populated, populate, populate_by_api
from factories.services import running
from fixtures.servers import Template
from tierscope.core.settings import Settings

DOCUMENT = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
N_HOSTS = 3
OTHERWISE = {"/metrics": "of the process", "/v1/status": "it lists the nodes"}
"""Answers that differ, and why."""
ASKED = {"name": "pgpromote_success", "kind": "service", "metric": "resident", "match": "up", "effect_ratio": "0.1"}


@pytest.fixture(scope="module")
def both(template: Template, storage_mode: str) -> Iterator[tuple[httpx.Client, httpx.Client, Populated]]:
    with ExitStack() as running_ones:
        several = running_ones.enter_context(several_servers(template, storage_mode, "n1", "n2"))
        with running(_settings(several.url)) as (_, client):
            made = populate(several, n_hosts=N_HOSTS)
            populate_by_api(client, several, made)
        name = gathered(template, several)
        running_ones.callback(template.drop_database, name)
        clients = [
            running_ones.enter_context(running(_settings(url)))[1] for url in (template.cluster.url(name), several.url)
        ]
        for client in clients:
            client.headers["Authorization"] = f"Bearer {made.token}"
        yield clients[0], clients[1], made


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
def test_an_answer_is_the_same(both: tuple[httpx.Client, httpx.Client, Populated], path: str) -> None:
    one, several, made = both
    for place in range(N_HOSTS):
        address, given = addresses(path, made, place)
        expected, found = one.get(address, params=given), several.get(address, params=given)
        assert (expected.status_code, expected.text) == (found.status_code, found.text)
