"""The kill switch of a service elsewhere, and imports from the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from factories.installations import enrol
from tierscope.cli.main import app
from tierscope.core.database import Database
from tierscope.usecases.fleet.agent_plans import AgentPlans

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def importing(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_DATABASE_URL", database_url)
    monkeypatch.setenv("TIERSCOPE_DATA_DIR", str(tmp_path))


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@native
def test_one_agent_is_paused_and_goes_on(asked: Database) -> None:
    host = enrol(asked)
    paused = run("agents", "pause", "--host", host.id, "--heat-only", "--json")
    assert paused.exit_code == 0, paused.output
    answer = json.loads(paused.stdout)
    assert answer["changed"] == 1
    assert [(row["host_id"], row["scope"]) for row in answer["pauses"]] == [(host.id, "heat")]
    config = AgentPlans(asked).config(host.identity)
    assert (config.paused, config.heat_enabled) == (False, False)
    assert json.loads(run("agents", "pauses", "--json").stdout) == answer["pauses"]
    assert "No agent is paused." in run("agents", "resume", "--host", host.id).stdout


@pytest.mark.parametrize("words", [(), ("--host", "h1", "--all")])
def test_the_switch_wants_one_host_or_all(words: tuple[str, ...]) -> None:
    assert run("agents", "pause", *words).exit_code == 2


@native
@pytest.mark.usefixtures("importing")
@pytest.mark.parametrize("kind", ["page-trace", "damo", "perf-script", "perf-data"])
def test_recordings_of_a_service_go_through_the_agents_replay(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, called = tmp_path / "recording", tmp_path / "called"
    recording.write_text("x")
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {called}\n')
    agent.chmod(0o755)
    monkeypatch.setenv("TIERSCOPE_AGENT_BINARY", str(agent))
    words = ("--service", "demo/cache", "--host", "lab-1", "--server", "http://127.0.0.1:1")
    done = run("import", kind, str(recording), *words)
    assert done.exit_code == 0, done.output
    arguments = called.read_text().splitlines()
    assert arguments[:6] == ["replay", str(recording), "--service", "demo/cache", "--host", "lab-1"]
    assert "--join-token-file" in arguments
