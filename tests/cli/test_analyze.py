"""`tierscope analyze`: verdicts of recordings, documents, exit statuses, errors with a next step."""

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from cli.commands import call
from factories.kernel_lab import RECORDINGS
from factories.snapshot_trees import unpack
from fixtures.elsewhere import long
from fixtures.page_traces import TRACES
from tierscope.cli.base.source_tree import find_agent

VERDICTS = {
    "01-baseline-fits": {"fits"},
    "02-default-spill": {"spill"},
    "03-tiering-steady": {"healthy"},
    "04-pingpong": {"futile_ping_pong"},
    "05-ratelimited": {"limiter_bound"},
    "07b-phase-fastscan": {"following_phases"},
    "08-swap": {"swap_pressure"},
    "10-cxl-real": {"healthy", "fits"},
    "12-kernel-6.1": {"futile_ping_pong"},
    "15-mixed-reclaim": {"limit_reclaim"},
}

needs_agent = pytest.mark.skipif(find_agent() is None, reason="the agent's program is not built: run `make agent`")


KEPT = ("04-pingpong", "08-swap")
"""What `make test` analyses: moves between tiers, and swap."""


def analyze(*words: str | Path, expect: int = 0) -> tuple[str, str]:
    """Runs the command; returns stdout and stderr."""
    done = call("analyze", *words)
    assert done.status == expect, done.stderr
    return done.stdout, done.stderr


def document(*words: str | Path, expect: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(analyze(*words, "--json", expect=expect)[0])
    return found


@needs_agent
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in KEPT else long) for name in sorted(VERDICTS)])
def test_each_recording_gets_its_verdict_with_evidence(name: str) -> None:
    found = document(RECORDINGS / f"{name}.tar.zst", "--kind", "vmstat-dir")
    verdict = found["verdict"]
    assert verdict["verdict"] in VERDICTS[name]
    assert verdict["explanation"]
    assert {"promoted_pages", "demoted_pages", "slow_resident_bytes"} <= {row["key"] for row in verdict["evidence"]}
    assert found["host"]["top_nodes"] == [0]
    totals = {row["key"]: row["value"] for row in found["ledger"]}
    assert found["churn"]["round_trip_pages_hi"] == min(totals["promoted_pages"], totals["demoted_pages"])


@needs_agent
def test_a_directory_says_what_its_archive_says_whatever_it_is_called(tmp_path: Path) -> None:
    directory = unpack("12-kernel-6.1", tmp_path).rename(tmp_path / "a-host")
    found, archived = document(directory), document(RECORDINGS / "12-kernel-6.1.tar.zst")
    assert found["verdict"] == archived["verdict"]
    assert found["ledger"] == archived["ledger"]


SCHEMES = {"migrate_hot": 0, "migrate_cold": 1, "pageout": 0}
"""Actions of DAMON with the node that each moves memory to."""
DAMON = ("damon_promoted_bytes", "damon_demoted_bytes", "damon_paged_out_bytes")


@needs_agent
@pytest.mark.parametrize("refresh_ms", [1000, 0])
def test_what_schemes_of_damon_moved_stands_in_the_ledger_unless_nobody_refreshed_it(
    refresh_ms: int, tmp_path: Path
) -> None:
    root = unpack("03-tiering-steady", tmp_path, step=10)
    snapshots = sorted(root.iterdir())
    for number, snapshot in enumerate(snapshots):
        kdamond = snapshot / "sys/kernel/mm/damon/admin/kdamonds/0"
        for scheme, (action, node) in enumerate(SCHEMES.items()):
            stats = kdamond / f"contexts/0/schemes/{scheme}/stats"
            stats.mkdir(parents=True)
            (stats.parent / "action").write_text(f"{action}\n")
            (stats.parent / "target_nid").write_text(f"{node}\n")
            applied = 4096 * (scheme + 1) * (number if refresh_ms else 1)
            (stats / "sz_applied").write_text(f"{applied}\n")
        (kdamond / "state").write_text("on\n")
        (kdamond / "refresh_ms").write_text(f"{refresh_ms}\n")
    rows = {row["key"]: row for row in document(root, "--kind", "vmstat-dir")["ledger"]}
    steps = len(snapshots) - 1
    assert steps > 5
    wanted = [4096 * place * steps for place in (1, 2, 3)] if refresh_ms else [None] * 3
    assert [rows.get(key, {}).get("value") for key in DAMON] == wanted


@needs_agent
def test_too_few_snapshots_are_not_enough_data(tmp_path: Path) -> None:
    found = document(unpack("04-pingpong", tmp_path, step=40), expect=3)
    assert found["verdict"]["verdict"] == "not_known"


@needs_agent
def test_a_tree_without_snapshots_is_refused_with_the_cause(tmp_path: Path) -> None:
    out, err = analyze(tmp_path, expect=1)
    assert out == ""
    assert "holds no snapshot" in err
    assert "next:" in err


def test_a_page_trace_is_told_by_its_content(tmp_path: Path) -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    copy = tmp_path / "recording"
    shutil.copy(TRACES / "sqlite.parquet", copy)
    found = document(copy, "--sample", "200", "--seed", "7")
    assert found["kind"] == "page-trace"
    assert found["sample"]["one_in"] == 200
    assert found["sample"]["seed"] == 7
    assert [row["dram_share"] for row in found["served_accesses"]["rows"]][-1] == 1.0
    assert found["heat"]["rows"][0]["hot_bytes"]["interval"]["level"] == 0.95
    text, _ = analyze(copy)
    assert "7,881 pages" in text
    assert "exact" in text


@pytest.mark.parametrize(
    "words",
    [
        ("/no/such/place",),
        (__file__,),
        (TRACES / "sqlite.parquet", "--seed", "3"),
        (TRACES / "sqlite.parquet", "--sample", "0"),
        (RECORDINGS / "04-pingpong.tar.zst", "--sample", "3"),
        (TRACES / "sqlite.parquet", "--kind", "something"),
    ],
)
def test_bad_usage_has_a_status_of_its_own(words: tuple[str | Path, ...]) -> None:
    assert analyze(*words, expect=2)[0] == ""


def test_a_damaged_trace_fails_with_cause_and_next_step(tmp_path: Path) -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    path = tmp_path / "damaged.parquet"
    path.write_bytes((TRACES / "sqlite.parquet").read_bytes()[:5000])
    out, err = analyze(path, expect=1)
    assert out == ""
    assert "damaged.parquet: is not readable as Parquet" in err
    assert "next:" in err


@pytest.mark.parametrize(
    ("content", "what", "command"),
    [
        (b"PERFILE2" + bytes(100), "a perf.data file", "import perf-data"),
        (
            b"redis 77 [000] 10.500000: mem-loads: 7f00 401000 main (/usr/bin/redis)\n",
            "text of `perf script`",
            "import perf-script",
        ),
        (b"time,addr\n1,4096\n2,8192\n", "a table of comma-separated values", "Parquet"),
        (bytes([0x96, 0xD5, 0x75, 0x21, 12, 7, 5, 0]), "a data file of sysstat 12.7.5", "import sysstat"),
        (bytes([0, 0, 3, 0x28, 0x50, 5, 0x26, 3]), "a part of a PCP archive", "import pcp"),
    ],
)
def test_a_file_for_another_command_is_named_with_that_command(
    content: bytes, what: str, command: str, tmp_path: Path
) -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    path = tmp_path / "thing"
    path.write_bytes(content)
    out, err = analyze(path, expect=2)
    assert out == ""
    assert err.count(what) == 1
    assert command in err
    assert "--kind" not in err


def test_events_of_damon_are_a_record_whoever_printed_them(tmp_path: Path) -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    lines = [
        f"       kdamond.0-4452  [005] ..... {snapshot}.{region:06d}: damon_aggregated:     target_id=0 nr_regions=2"
        f" {region * 8192}-{(region + 1) * 8192}: {region} 3\n"
        for snapshot in range(100, 130)
        for region in range(2)
    ]
    path = tmp_path / "report.txt"
    path.write_text("cpus=8\n" + "".join(lines))
    found = document(path)
    assert found["kind"] == "damo-record"
    assert (found["targets"][0]["snapshots"], found["targets"][0]["regions"]) == (30, 60)


@needs_agent
@pytest.mark.parametrize("form", ["xz", "gz", ""])
def test_an_archive_of_one_root_is_one_snapshot(form: str, tmp_path: Path) -> None:
    root = next(path for path in unpack("04-pingpong", tmp_path, step=40).iterdir() if path.is_dir())
    archive = tmp_path / f"report.tar.{form}".rstrip(".")
    with tarfile.open(archive, f"w:{form}") as tar:  # type: ignore[call-overload]
        tar.add(root, "sosreport-db1")
    out, _ = analyze(archive, expect=3)
    assert out.startswith("1 snapshot;")
    assert "`tierscope assess` judges one" in out
    assert "Not counted here" not in out
