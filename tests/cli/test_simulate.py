"""`tierscope simulate`: the document, its errors, and that threads change nothing."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fixtures.page_traces import TRACES
from tierscope.cli.main import main
from tierscope.domain.simulate import POLICY_NAMES

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

TRACE = TRACES / "sqlite.miss.parquet"


def simulate(*words: str | Path, expect: int = 0) -> tuple[str, str]:
    """Runs the command; returns stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    arguments = ["tierscope", "simulate", *map(str, words)]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code in (expect, None if expect == 0 else expect), err.getvalue()
    return out.getvalue(), err.getvalue()


def document(*words: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(simulate(*words, "--json")[0])
    return found


def write_trace(path: Path, **columns: list[Any]) -> Path:
    """A page trace of these rows."""
    rows = {
        "interval": [0, 0, 1],
        "page": [5, 6, 5],
        "loads": [3, 1, 2],
        "stores": [0, 1, 0],
        "kind": ["anon", "file", "anon"],
        **columns,
    }
    types = {"interval": pa.int32(), "page": pa.uint64(), "loads": pa.uint32(), "stores": pa.uint32()}
    types["kind"] = pa.string()
    table = pa.table({name: pa.array(values, types.get(name)) for name, values in rows.items()})
    pq.write_table(table.replace_schema_metadata({"page_size": "4096"}), path)
    return path


def test_all_policies_answer_and_threads_and_seeds_do_what_they_say() -> None:
    words = (TRACE, "--policy", "all", "--dram-share", "0.4", "--seed", "7")
    found, threaded = document(*words), document(*words, "--threads", "2")
    assert found == threaded
    assert found["simulated"] is True
    runs = {run["policy"]: run for run in found["runs"]}
    assert tuple(runs) == POLICY_NAMES
    assert runs["all_dram"]["local_ratio"] == 1
    for name, run in runs.items():
        totals = run["totals"]
        places = totals["local_accesses"] + totals["slow_accesses"] + totals["away_accesses"]
        assert places == totals["accesses"] == found["trace"]["accesses"]
        if name not in ("all_dram", "swap_ssd", "swap_zns", "tmo", "tpp_tmo"):
            assert run["local_ratio"] <= run["oracle_local_ratio"] + 1e-9, name
            assert run["loss"]["method"] == "prior"
    assert runs["swap_ssd"]["loss"]["value"] is None
    assert "cpu_seconds" in runs["swap_ssd"]["loss"]["reason"]
    assert document(*words[:-1], "8")["runs"] != found["runs"]


def test_settings_reach_the_policy_that_has_them_and_series_add_up() -> None:
    found = document(
        TRACE, "-p", "tpp", "-p", "first-touch", "--dram-pages", "3000", "--set", "demote_scale_factor=5000", "--series"
    )
    tpp, first_touch = found["runs"]
    assert tpp["settings"]["demote_scale_factor"] == 5000
    assert tpp["totals"]["mean_free_dram_pages"] > 1000 > first_touch["totals"]["mean_free_dram_pages"]
    for run in (tpp, first_touch):
        assert sum(run["series"]["local_accesses"]) == run["totals"]["local_accesses"]
        assert sum(run["series"]["promoted_pages"]) == run["totals"]["promoted_pages"]
        assert len(run["series"]["dram_free"]) == found["trace"]["intervals"]


def test_people_get_a_table() -> None:
    out, _ = simulate(TRACE, "-p", "tpp", "--dram-share", "0.5")
    assert out.startswith("Simulated: 7,881 pages")
    assert "tpp" in out


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("-p", "lru", "--dram-share", "0.5"), "there is no policy 'lru'"),
        (("-p", "tpp"), "the size of DRAM is not said"),
        (("-p", "tpp", "--dram-share", "0"), "DRAM share of 0 cannot be"),
        (("-p", "tpp", "--dram-share", "0.5", "--set", "x"), "write key=value"),
        (("-p", "tpp", "--dram-share", "0.5", "--set", "hot_threshold_ms=5"), "has a setting 'hot_threshold_ms'"),
        (("-p", "tpp", "--dram-share", "0.5", "--set", "slow_latency_ns=5"), "slow_latency_ns must be at least"),
        (("-p", "tpp", "--dram-share", "0.5", "--set", "interval_s=0"), "interval_s must be a number above 0"),
    ],
)
def test_bad_usage_names_the_cause_and_the_next_step(words: tuple[str, ...], cause: str) -> None:
    _, error = simulate(TRACE, *words, expect=2)
    assert cause in error
    assert "next:" in error


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"interval": [1, 0, 1]}, "row 2"),
        ({"interval": [0, -1, 1]}, "row 2"),
        ({"kind": ["anon", "device", "anon"]}, "row 2"),
        ({"interval": [0, 0, 0], "page": [5, 6, 5], "kind": ["anon", "file", "anon"]}, "row 3"),
        ({"loads": [2**32 - 1, 1, 1], "stores": [1, 0, 0]}, "row 1"),
        ({"interval": [], "page": [], "loads": [], "stores": [], "kind": []}, "empty"),
    ],
)
def test_bad_traces_are_refused_with_the_row(tmp_path: Path, columns: dict[str, list[Any]], cause: str) -> None:
    path = write_trace(tmp_path / "bad.parquet", **columns)
    _, error = simulate(path, "-p", "tpp", "--dram-share", "0.5", expect=1)
    assert cause in error
    assert "next:" in error


def test_a_good_trace_of_the_same_shape_is_replayed(tmp_path: Path) -> None:
    found = document(write_trace(tmp_path / "good.parquet"), "-p", "first-touch", "--dram-share", "1")
    assert found["trace"]["accesses"] == 7
    assert found["runs"][0]["local_ratio"] == 1
