"""No answer has a good figure that may stand on a file of a host that had a problem: every GET of the contract."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import httpx
import pytest

from architecture.tree import ROOT
from factories import batches
from factories.installations import Enrolled, store
from factories.populated import Populated, populate, populate_by_api
from factories.services import running
from tierscope.core.database import Database
from tierscope.core.errors import Unavailable
from tierscope.core.settings import Settings
from tierscope.domain.base import doubts
from tierscope.domain.base.doubts import OF_THE_PRODUCT
from tierscope.domain.base.figures import Figure
from tierscope.usecases.base.doubts import HostDoubts

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
T = TypeVar("T")
DOCUMENT: dict[str, Any] = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
LEDGERS = {"/v1/hosts/{host_id}/ledger", "/v1/services/{service_id}/ledger"}
"""Each column knows its own files: tests/usecases/test_damaged_recordings.py."""
CAUSE = "1 file ends within a line and may be cut off: /sys/devices/system/node/node0/meminfo"
VIEW = "this is a container's view of its host: its lists of reclaim hold 64.0 GiB, and MemTotal is 4.0 GiB"
DOUBTS = [pytest.param("file-not-understood", CAUSE, id="cut-off"), pytest.param("container-view", VIEW, id="view")]


def good_in(answer: object) -> Iterator[str]:
    """Definitions of good figures of hosts with a value, at any depth."""
    if isinstance(answer, dict):
        own = str(answer.get("definition", "")).startswith(OF_THE_PRODUCT)
        if answer.get("grade") == "good" and answer.get("value") is not None and not own:
            yield answer.get("definition", "no figure")
        for part in answer.values():
            yield from good_in(part)
    elif isinstance(answer, list):
        for part in answer:
            yield from good_in(part)


def ask_all(client: httpx.Client, made: Populated, host: int = 0) -> dict[str, dict[str, Any]]:
    """Answers of every GET that needs no more than ids, by path."""
    client.headers["Authorization"] = f"Bearer {made.token}"
    found = {}
    for path, methods in DOCUMENT["paths"].items():
        names = re.findall(r"{([^}]*)}", path)
        needed = [one for one in methods.get("get", {}).get("parameters", ()) if one["in"] == "query"]
        if "get" not in methods or not made.ids.keys() >= set(names) or any(one.get("required") for one in needed):
            continue
        filled = path
        for name in names:
            ids = made.ids[name]
            filled = filled.replace(f"{{{name}}}", ids[host] if name == "host_id" else ids[0])
        answer = client.get(filled)
        if answer.status_code == 200 and "json" in answer.headers["content-type"]:
            found[path] = answer.json()
    return found


def report(database: Database, host: Enrolled, finding: str, cause: str) -> None:
    """Let a host's agent report that a file of it has a problem."""
    batch = batches.make_batch(host_id=host.id, seq=100, sealed_wall_ns=batches.now_ns())
    batches.add_inventory(batch, hostname=host.identity.name)
    batch.inventory.findings.add(id=finding, severity="warning", cause=cause, fix="f", confidence="certain")
    assert store(database, host, [batch])


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings.model_validate({"database_url": database_url, "rate_limits": {"enabled": False}})


@pytest.mark.parametrize(("finding", "cause"), DOUBTS)
def test_no_figure_is_good_of_a_host_whose_files_have_a_problem(
    database: Database, settings: Settings, finding: str, cause: str
) -> None:
    with running(settings) as (_, client):
        made = populate(database)
        populate_by_api(client, database, made)
        before = {path for path, told in ask_all(client, made).items() if list(good_in(told))}
    assert before >= {"/v1/fleet", "/v1/hosts", "/v1/hosts/{host_id}", "/v1/hosts/{host_id}/fairness", *LEDGERS}
    report(database, made.hosts[0], finding, cause)
    with running(settings) as (_, client):
        told, other = ask_all(client, made), ask_all(client, made, host=1)

    (line,) = (line for line in told["/v1/hosts"]["items"] if line["id"] == made.hosts[0].id)
    assert list(good_in(line)) == []
    assert any(cause in warning for warning in line["memory_bytes"]["warnings"])
    left = {path for path, answer in told.items() if path not in LEDGERS and list(good_in(answer))}
    assert left == {"/v1/hosts", "/v1/services/{service_id}/fairness"}, "these have lines of the other host"
    assert list(good_in(other["/v1/hosts/{host_id}"])), "nothing is wrong there"


def test_every_answer_passes_what_lowers_its_figures(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = doubts.Doubts.lower

    def lower_best(known: doubts.Doubts, answer: object, asked: Iterable[str] = ()) -> object:
        """Of an answer whose figures are all good: few are in what two hosts send in a day."""
        return lower(known, graded_good(answer), asked)

    with running(settings) as (_, client):
        made = populate(database)
        populate_by_api(client, database, made)
        for host in made.hosts:
            report(database, host, "file-not-understood", CAUSE)
    monkeypatch.setattr(doubts.Doubts, "lower", lower_best)
    with running(settings) as (_, client):
        told = ask_all(client, made)

    with_figures = {path for path, answer in told.items() if figures_in(answer)}
    assert len(with_figures) >= 20
    assert {path for path in with_figures - LEDGERS if list(good_in(told[path]))} == set()


@pytest.mark.usefixtures("database")
def test_what_has_no_figures_is_told_without_the_database(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: HostDoubts, __: object) -> doubts.Doubts:
        raise Unavailable("the database is away")

    monkeypatch.setattr(HostDoubts, "read", fail)
    with running(settings) as (_, client):
        asked = {path: client.get(path).status_code for path in ("/v1/status", "/v1/slow-memory", "/v1/fleet")}
    assert asked == {"/v1/status": 200, "/v1/slow-memory": 200, "/v1/fleet": 503}


def graded_good(answer: T) -> T:
    if isinstance(answer, Figure):
        return replace(answer, grade="good")
    if isinstance(answer, (tuple, list)):
        return type(answer)(graded_good(part) for part in answer)
    if is_dataclass(answer) and not isinstance(answer, type):
        return replace(
            answer, **{one.name: graded_good(getattr(answer, one.name)) for one in fields(answer) if one.init}
        )
    return answer


def figures_in(answer: object) -> int:
    """How many figures of hosts with a value it has."""
    if isinstance(answer, list):
        return sum(map(figures_in, answer))
    if not isinstance(answer, dict):
        return 0
    is_figure = "definition" in answer and answer.get("value") is not None
    own = is_figure and not str(answer["definition"]).startswith(OF_THE_PRODUCT)
    return own + sum(map(figures_in, answer.values()))
