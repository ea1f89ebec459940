"""Agents of other releases on the wire: older ones are taken; another protocol is refused and nothing is lost by it."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

import tierscope
from factories import batches
from factories.installations import enrol
from factories.services import batch_headers, running
from factories.waiting import DEADLINE_SECONDS, until
from faults.oracle import samples_of
from faults.programs import shipped_agent
from faults.spools import waiting
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.fleet.agent_versions import oldest_supported, standing
from tierscope.usecases.access.tokens import Access
from tierscope.wire import decode
from tierscope.wire.decode import DecodeLimits, decode_body

NATIVE = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
AGENT = shipped_agent()
SETTINGS = """
server = "{server}"
state_dir = "{state}"
join_token_file = "{token}"
interval_seconds = 1
upload_spread_seconds = 0
hardware_counters = false
[heat]
processes = "none"
[budget]
cpu_max_ratio = 1.0
"""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        yield opened


def versions(client: httpx.Client, token: str) -> dict[str, object]:
    """What the page of releases says."""
    answer = client.get("/v1/agents/versions", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


STANDINGS = {
    "0.2.0": "too_old",
    "0.3.9": "behind",
    "0.4.0": "behind",
    "0.5.7": "current",
    "0.6.0": "ahead",
    "1.5.0": "ahead",
    "": "unknown",
}


def test_two_minor_releases_behind_are_supported() -> None:
    assert {release: standing(release, "0.5.2") for release in STANDINGS} == STANDINGS
    assert oldest_supported("0.5.2") == "0.3.0"


@NATIVE
def test_batches_of_older_releases_are_taken_and_listed_beside_newer_ones(
    database_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tierscope, "__version__", "0.3.0")
    token = Access(database).create_api_token(role="operator", note="t", lifetime=None, actor="test").secret
    with running(Settings(database_url=database_url)) as (_, client):
        for name, release in (("old", "0.1.4"), ("newer", "0.3.0")):
            host = enrol(database, name=name)
            batch = batches.full_batch(host_id=host.id)
            batch.agent_version = release
            body = batches.compress(batch)
            answer = client.post("/v1/ingest/batches", content=body, headers=batch_headers(host.credential))
            assert answer.status_code == 200, answer.text
        document = versions(client, token)
        outdated = client.get("/v1/agents/versions?outdated=true", headers={"Authorization": f"Bearer {token}"}).json()
    listed = document["versions"]
    assert isinstance(listed, list)
    assert [(row["version"], row["hosts"], row["standing"], row["supported"]) for row in listed] == [
        ("0.3.0", 1, "current", True),
        ("0.1.4", 1, "behind", True),
    ]
    assert [host["name"] for host in outdated["hosts"]["items"]] == ["old"]


@contextmanager
def agent_running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The real agent; it gets time to end by itself."""
    assert AGENT is not None
    with (folder / "agent.log").open("ab") as log:
        command = [str(AGENT), "run", "--config", str(folder / "agent.toml")]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DEADLINE_SECONDS)
        finally:
            process.kill()
            process.wait()


@NATIVE
@pytest.mark.skipif(AGENT is None, reason="the agent is not built")
def test_an_agent_whose_protocol_is_unknown_keeps_its_spool_until_the_service_reads_it(
    database_url: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = Access(database)
    operator = access.create_api_token(role="operator", note="t", lifetime=None, actor="test").secret
    join, state, log = tmp_path / "token", tmp_path / "state", tmp_path / "agent.log"
    join.write_text(access.create_join_token(actor="test").secret)
    join.chmod(0o600)

    def rows(query: str) -> list[tuple[object, ...]]:
        with database.read() as session:
            return [tuple(row) for row in session.execute(text(query))]

    with running(Settings(database_url=database_url)) as (_, client):
        words = SETTINGS.format(server=str(client.base_url), state=state, token=join)
        (tmp_path / "agent.toml").write_text(words)
        with monkeypatch.context() as other:
            other.setattr(decode, "SCHEMA_VERSION", 2)
            with agent_running(tmp_path):
                until(lambda: rows("SELECT refused_protocol FROM hosts") == [(1,)], "the protocol is refused", log=log)
                until(lambda: len(waiting(state)) >= 4, "batches queue up", log=log)
            document = versions(client, operator)
        assert document["refused_hosts"] == 1
        (line,) = document["hosts"]["items"]  # type: ignore[index]
        assert (line["protocol"], line["supported"]) == (1, False)
        assert rows("SELECT count(*) FROM counters_live") == [(0,)]
        kept = waiting(state)
        assert sum(len(record.payload) for record in kept) > 1000
        queued = [decode_body(record.payload, DecodeLimits()).batch for record in kept]
        oldest = min(ends_at for _, ends_at, _, _ in samples_of(queued) if ends_at is not None)
        with agent_running(tmp_path):
            until(lambda: rows(f"SELECT 1 FROM streams WHERE batches > {len(kept)}"), "all is taken, and more", log=log)
            until(lambda: rows("SELECT refused_protocol FROM hosts") == [(None,)], "it is refused no more", log=log)
        ((first, batch_count, next_seq, gaps),) = rows(
            "SELECT (SELECT min(ts) FROM counters_live), batches, next_seq, gaps::text FROM streams"
        )
        assert (batch_count, gaps) == (next_seq, "{}")
        assert first == oldest
