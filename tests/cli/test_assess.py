"""`tierscope assess`: the agent's answer, its statuses and errors, on a recorded kernel."""

import json
from pathlib import Path

import pytest

from cli.commands import call
from factories.kernel_lab import RECORDINGS
from tierscope.cli.base.source_tree import find_agent

pytestmark = pytest.mark.skipif(find_agent() is None, reason="the agent's program is not built: run `make agent`")

TIERING = RECORDINGS / "03-tiering-steady.tar.zst"


def test_a_recorded_host_is_assessed_with_bounds_and_checks() -> None:
    done = call("assess", TIERING, "--json")
    assert done.status == 0, done.stderr
    [host] = json.loads(done.stdout)["hosts"]
    cold = host["memory"]["cold"]
    assert 0 <= cold["interval"]["lo"] <= cold["interval"]["hi"] <= host["memory"]["movable_bytes"]
    assert {check["id"] for check in host["checks"]} >= {"slower_tier", "demotion_on", "active_at_most_half_of_dram"}
    assert host["tiering"] == "on"


def test_text_names_the_first_step() -> None:
    done = call("assess", TIERING)
    assert done.status == 0, done.stderr
    assert "next: " in done.stdout


def test_a_path_without_readings_is_refused_with_what_would_do(tmp_path: Path) -> None:
    done = call("assess", tmp_path)
    assert done.status == 1
    assert "once --json" in done.stderr
