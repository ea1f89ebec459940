"""Silences from the command line, of a service elsewhere."""

import json

import pytest
from typer.testing import CliRunner, Result

from factories.alert_changes import change_alert
from tierscope.cli.main import app
from tierscope.core.clock import utc_now
from tierscope.core.database import Database

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["silences", *words])


@native
def test_a_silence_is_added_listed_and_ended(asked: Database) -> None:
    change_alert(asked, "a1", "firing", utc_now())
    added = run("add", "service=~ca.*", "severity!=critical", "--hours", "2", "--comment", "new DIMMs", "--json")
    assert added.exit_code == 0, added.output
    made = json.loads(added.stdout)
    assert [(matcher["name"], matcher["op"], matcher["value"]) for matcher in made["matchers"]] == [
        ("service", "=~", "ca.*"),
        ("severity", "!=", "critical"),
    ]
    assert (made["status"], made["matches"], made["comment"]) == ("active", ["a1"], "new DIMMs")
    assert "service=~ca.*, severity!=critical  new DIMMs" in run("list").stdout
    assert json.loads(run("list", "--json").stdout)["items"] == [made]
    assert "expired" in run("expire", made["id"]).stdout
    assert run("list", "--status", "active").stdout == "There are no silences.\n"


def test_what_is_no_matcher_is_bad_usage() -> None:
    wrong = run("add", "service", "--hours", "2")
    assert wrong.exit_code == 2
    assert "'service' is no matcher" in wrong.output


@native
@pytest.mark.usefixtures("asked")
def test_a_silence_of_everything_is_refused() -> None:
    refused = run("add", "service=~.*", "--hours", "2")
    assert refused.exit_code == 2
    assert "every matcher also matches" in refused.output
