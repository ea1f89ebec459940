"""Commands that change a service elsewhere, or ask it of a host that sent nothing yet."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from factories.installations import enrol
from tierscope.cli.main import app
from tierscope.core.database import Database

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def run(*words: str | Path, expect: int = 0) -> str:
    """Runs a command; returns what it printed."""
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == expect, done.output
    return done.stdout


def test_labels_of_a_file_are_tried_and_set(asked: Database, tmp_path: Path) -> None:
    host, file = enrol(asked, name="node-1"), tmp_path / "labels.csv"
    file.write_text("host,rack\nnode-1,a12\nnode-9,a13\n", encoding="utf-8")
    assert "2 rows read, 1 hosts would change." in run("hosts", "labels", file, "--dry-run", expect=1)
    done = json.loads(run("hosts", "labels", file, "--json", expect=1))
    assert (done["changed"][0]["host_id"], done["changed"][0]["after"]["rack"]) == (host.id, "a12")
    assert done["unknown"] == ["node-9"]


@pytest.mark.usefixtures("asked")
def test_rules_of_a_file_are_stored_and_printed(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules: [{name: waits, expression: psi_some_ratio > 5%}]\n", encoding="utf-8")
    assert run("rules", "import", file) == "added      waits\n"
    assert json.loads(run("rules", "import", file, "--json"))["unchanged"] == ["waits"]
    assert "name: waits" in run("rules", "export")


def test_a_mark_and_a_purge_are_told_by_the_service(asked: Database) -> None:
    host = enrol(asked, name="node-1")
    assert run("event", "new DIMMs", "--host", host.id, "--kind", "capacity").startswith("Marked 'new DIMMs' at ")
    run("event", "x", "--at", "yesterday", expect=2)
    assert run("purge", "list") == "Nothing was purged.\n"
    run("purge", "host", host.id, "--confirm", "node-2", expect=2)
    assert "host node-1  0%" in run("purge", "host", host.id, "--confirm", "node-1")
    (job,) = json.loads(run("purge", "list", "--json"))["items"]
    assert (job["subject"]["name"], job["status"]) == ("node-1", "waiting")


def test_a_host_is_found_by_its_name_and_nothing_is_said_without_data(asked: Database) -> None:
    enrol(asked, name="node-1")
    assert run("fairness", "node-1", expect=3).startswith("node-1: top tier not known")
    assert "Not replayed: " in run("fairness", "node-1", "--replay", expect=3)
    assert run("fairness", "node-9", expect=1) == ""
