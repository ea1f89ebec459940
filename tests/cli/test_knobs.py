"""`tierscope knobs`: the same advice as `tierscope analyze`, files alone, exit statuses, bad usage."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands import call
from factories import batches
from factories.installations import enrol, store
from factories.kernel_lab import RECORDINGS
from factories.snapshot_trees import Tree, unpack
from tierscope.cli.base.source_tree import find_agent
from tierscope.core.database import Database

needs_agent = pytest.mark.skipif(find_agent() is None, reason="the agent's program is not built: run `make agent`")
RECORDING = RECORDINGS / "04-pingpong.tar.zst"
LIMIT = "kernel/numa_balancing_promote_rate_limit_MBps"
PIECE = {
    "rule",
    "title",
    "changes",
    "evidence",
    "effect",
    "effect_figure",
    "risk",
    "verify",
    "note",
    "files",
    "advice_id",
    "rules",
    "sources",
}


def run(*words: str | Path, expect: int = 0) -> tuple[str, str]:
    """Runs a command; returns stdout and stderr."""
    done = call(*words)
    assert done.status == expect, done.stderr
    return done.stdout, done.stderr


def document(*words: str | Path, expect: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json", expect=expect)[0])
    return found


@needs_agent
def test_knobs_and_analyze_say_the_same_of_a_recording() -> None:
    knobs, analyzed = document("knobs", RECORDING), document("analyze", RECORDING)
    assert knobs["schema"] == "tierscope.knobs/1"
    for key in ("advice", "first_advice", "waiting", "nothing_to_do", "unknown", "withheld", "notices"):
        assert knobs[key] == analyzed[key]
    first = knobs["first_advice"]
    assert first == knobs["advice"][0]
    assert set(first) == PIECE
    assert first["rule"] == "F4"
    assert [(change["path"], change["rollback"]) for change in first["changes"]] == [(f"/proc/sys/{LIMIT}", "65536")]
    assert knobs["verdict"] == analyzed["verdict"]["verdict"]


@needs_agent
def test_a_file_alone_is_printed_and_a_form_that_does_not_apply_refused() -> None:
    printed, _ = run("knobs", RECORDING, "--format", "sysctl")
    assert printed.startswith(f"{LIMIT.replace('/', '.')} = ")
    _, said = run("knobs", RECORDING, "--format", "systemd", expect=2)
    assert "F4 has no systemd form" in said
    assert "--format sysctl" in said


@needs_agent
def test_a_healthy_recording_has_nothing_to_print(tmp_path: Path) -> None:
    healthy = unpack("01-baseline-fits", tmp_path, step=4)
    found = document("knobs", healthy)
    assert (found["advice"], found["first_advice"], found["nothing_to_do"]["rule"]) == ([], None, "F12")
    printed, said = run("knobs", healthy, "--format", "commands")
    assert printed == ""
    assert "no change is advised" in said
    assert "Leave the settings as they are" in run("knobs", healthy)[0]


@needs_agent
def test_too_few_snapshots_are_not_enough_data(tmp_path: Path) -> None:
    few = Tree(unpack("04-pingpong", tmp_path, step=40), tmp_path / "few")
    assert document("knobs", few.path, expect=3)["verdict"] == "not_known"


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_host_of_the_fleet_is_asked_by_its_id(asked: Database) -> None:
    host = enrol(asked)
    batch = batches.make_batch(host_id=host.id)
    batches.add_inventory(batch)
    batch.inventory.tiers.add(rank=0, kernel_number=4, nodes=[0])
    batch.inventory.tiers.add(rank=1, kernel_number=22, nodes=[1])
    batch.inventory.knobs.add(path="/proc/sys/vm/zone_reclaim_mode", value="1")
    batches.add_counters(batch, [[100 * row] for row in range(10)], keys=["host|vmstat|allocstall_normal"])
    assert store(asked, host, [batch])
    found = document("knobs", "--host", host.id)
    assert (found["host_id"], found["advice"][0]["rule"]) == (host.id, "F10")
    assert found["leading"]["cold_in_dram_bytes"]["status"] == "not_collected"
    assert found["window"]["start"] < found["window"]["end"]
    text = run("knobs", "--host", host.id)[0]
    assert text.startswith("Hot memory outside DRAM: not collected")
    assert "/proc/sys/vm/zone_reclaim_mode: 1 -> 0" in text
    assert run("knobs", "--host", host.id, "--format", "tmpfiles", expect=2)[0] == ""
    assert "there is no host 'nobody'" in run("knobs", "--host", "nobody", expect=1)[1]


@pytest.mark.parametrize(
    "words",
    [(), ("/no/such/place",), (RECORDING, "--host", "x"), (RECORDING, "--json", "--format", "sysctl")],
)
def test_bad_usage_has_a_status_of_its_own(words: tuple[str | Path, ...]) -> None:
    assert run("knobs", *words, expect=2)[0] == ""
