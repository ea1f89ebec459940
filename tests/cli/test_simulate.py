"""`tierscope simulate`: the document, its errors, and that threads change nothing."""

import io
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fixtures.elsewhere import long
from fixtures.page_traces import TRACES
from tierscope.cli.main import main
from tierscope.domain.simulate import POLICY_NAMES, WORKLOADS

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


def write_trace(path: Path, columns: Mapping[str, list[Any]], types: Mapping[str, pa.DataType] | None = None) -> Path:
    """A page trace of these rows; columns are of the documented types unless others are given."""
    rows = {
        "interval": [0, 0, 1],
        "page": [5, 6, 5],
        "loads": [3, 1, 2],
        "stores": [0, 1, 0],
        "kind": ["anon", "file", "anon"],
        **columns,
    }
    documented = {"interval": pa.int32(), "page": pa.uint64(), "loads": pa.uint32(), "stores": pa.uint32()}
    wanted = {**documented, "kind": pa.string(), **(types or {})}
    table = pa.table({name: pa.array(values, wanted[name]) for name, values in rows.items()})
    pq.write_table(table.replace_schema_metadata({"page_size": "4096"}), path)
    return path


def test_all_policies_answer_and_threads_and_seeds_do_what_they_say() -> None:
    words = (TRACE, "--policy", "all", "--dram-share", "0.4", "--seed", "7")
    found = document(*words)
    for threads in ("1", "2"):
        assert document(*words, "--threads", threads) == found
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
    out, _ = simulate(TRACE, "-p", "tpp", "-p", "first_touch", "--dram-share", "0.5")
    assert out.startswith("Simulated: 7,881 pages")
    (tpp,) = (line for line in out.splitlines() if line.startswith("tpp  "))
    (still,) = (line for line in out.splitlines() if line.startswith("first_touch"))
    assert "% to " in tpp.split("~")[0], "its local share has an interval"
    assert tpp.count("~") == 2, "promotions and demotions are not claimed"
    assert "~" not in still
    assert "tpp: Moves are not claimed: " in out
    assert "first_touch: " not in out


def test_shares_have_intervals_and_moves_are_claimed_or_not_with_the_reason() -> None:
    found = document(TRACE, "-p", "all", "--dram-share", "0.4")
    runs = {run["policy"]: run for run in found["runs"]}
    for name in ("first_touch", "tpp", "hot_page_selection_auto"):
        interval = runs[name]["local_interval"]
        assert interval["level"] == 0.8
        assert interval["lo"] < runs[name]["local_ratio"] < interval["hi"]
        assert runs[name]["local_interval_reason"] is None
    assert runs["autotiering"]["local_interval"] is None
    assert "no recorded kernel ran AutoTiering" in runs["autotiering"]["local_interval_reason"]
    still = runs["first_touch"]["moves"]
    assert still == {
        "claimed": True,
        "promoted_pages": {"lo": 0.0, "hi": 0.0, "level": 0.8},
        "demoted_pages": {"lo": 0.0, "hi": 0.0, "level": 0.8},
        "reason": None,
    }
    moved = runs["hot_page_selection_auto"]["moves"]
    assert (moved["claimed"], moved["promoted_pages"], moved["demoted_pages"]) == (False, None, None)
    assert "read once" in moved["reason"], "most files of this trace are"


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
        ({"page": [5, 2**64 - 1, 5]}, "row 2, column `page`: is 18446744073709551615"),
        ({"page": [5, None, 5]}, "row 2, column `page`: is null"),
        ({"interval": [0, 0, 2**31 - 1]}, "2147483648 intervals, the limit is 1000000"),
    ],
)
def test_bad_traces_are_refused_with_the_row(tmp_path: Path, columns: dict[str, list[Any]], cause: str) -> None:
    path = write_trace(tmp_path / "bad.parquet", columns)
    _, error = simulate(path, "-p", "tpp", "--dram-share", "0.5", expect=1)
    assert cause in error
    assert "next:" in error


@pytest.mark.parametrize(
    ("types", "columns", "cause"),
    [
        ({"page": pa.int64()}, {"page": [5, -6, 5]}, "row 2, column `page`: is -6"),
        ({"loads": pa.int64()}, {"loads": [3, -1, 2]}, "row 2, column `loads`: is -1"),
        ({"loads": pa.int64()}, {"loads": [3, 1, 2**33]}, "row 3, column `loads`: is 8589934592"),
        ({"interval": pa.int64()}, {"interval": [0, 0, 2**40]}, "row 3, column `interval`: is 1099511627776"),
        ({"loads": pa.float64()}, {"loads": [3.0, 1.5, 2.0]}, "column `loads` has type DOUBLE, expected integers"),
        ({"interval": pa.string()}, {"interval": ["0", "0", "1"]}, "column `interval` has type BYTE_ARRAY"),
        ({"kind": pa.int32()}, {"kind": [0, 1, 0]}, "column `kind` has type INT32, expected strings"),
    ],
)
def test_columns_of_other_types_are_refused_where_their_values_do_not_fit(
    tmp_path: Path, types: dict[str, pa.DataType], columns: dict[str, list[Any]], cause: str
) -> None:
    path = write_trace(tmp_path / "bad.parquet", columns, types)
    _, error = simulate(path, "-p", "tpp", "--dram-share", "0.5", expect=1)
    assert cause in error
    assert "next:" in error


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    path.write_text("interval,page\n0,5\n", encoding="utf-8")
    _, error = simulate(path, "-p", "tpp", "--dram-share", "0.5", expect=1)
    assert "is not readable as Parquet" in error


def test_counts_that_sum_beyond_32_bits_are_added_up(tmp_path: Path) -> None:
    most = 2**32 - 1
    path = write_trace(tmp_path / "large.parquet", {"loads": [most, most, most], "stores": [0, 0, 0]})
    found = document(path, "-p", "first-touch", "--dram-share", "1")
    assert found["trace"]["accesses"] == found["runs"][0]["totals"]["local_accesses"] == 3 * most


@long
def test_workloads_are_replayed_by_name_and_size() -> None:
    words = ("-p", "tpp", "-p", "first-touch", "--dram-share", "0.6", "--pages", "3000", "--intervals", "40")
    for name in WORKLOADS:
        found = document(f"workload:{name}", *words)
        assert found["workload"] == name
        assert found["trace"]["intervals"] == 40
        assert found["trace"]["peak_resident_pages"] == pytest.approx(3000, abs=10)
        assert document(f"workload:{name}", *words, "--threads", "2") == found
    assert document("workload:web1", *words, "--seed", "3")["trace"] != found["trace"]


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("workload:web3",), "there is no workload 'web3': choose one of web1"),
        (("workload:zipf", "--pages", "90000000"), "more than 50000000 pages x intervals"),
        ((TRACE, "--pages", "100"), "has a size of its own"),
        (("nothing.parquet",), "nothing.parquet is no file"),
    ],
)
def test_workloads_and_sizes_that_cannot_be_are_refused(words: tuple[str | Path, ...], cause: str) -> None:
    _, error = simulate(*words, "-p", "tpp", "--dram-share", "0.5", expect=2)
    assert cause in error
    assert "next:" in error


def test_the_scanner_and_the_machine_are_set_by_name() -> None:
    """A slower scan finds fewer pages; what the policy does not have is refused."""
    words = ("workload:phase_change", "-p", "hot-page-selection", "--dram-share", "0.3", "--pages", "4000")
    quick = document(*words, "--set", "hot_threshold_ms=30000")["runs"][0]["totals"]
    slow = document(*words, "--set", "hot_threshold_ms=30000", "--set", "scan_pass_s=600")["runs"][0]["totals"]
    assert 0 < slow["promoted_pages"] < quick["promoted_pages"]
    _, error = simulate(*words, "--set", "scan_pass_s=0", expect=2)
    assert "scan_pass_s must be" in error


def test_memory_without_an_end_has_no_free_part() -> None:
    words = ("workload:zipf", "-p", "all_dram", "-p", "oracle", "-p", "first_touch", "--dram-pages", "1000")
    runs = document(*words, "--pages", "4000")["runs"]
    free = {run["policy"]: run["totals"]["mean_free_dram_pages"] for run in runs}
    assert (free["all_dram"], free["oracle"]) == (None, None)
    assert 0 <= free["first_touch"] < 1000


def test_watermarks_of_a_host_keep_as_much_free() -> None:
    words = ("workload:zipf", "-p", "first-touch", "--dram-pages", "1000", "--pages", "4000")
    marks = ("--set", "watermark_low_pages=200", "--set", "watermark_high_pages=250")
    found = document(*words, *marks, "--set", "watermark_promo_pages=300")
    assert found["runs"][0]["totals"]["mean_free_dram_pages"] == 200
    _, error = simulate(*words, *marks, expect=2)
    assert "say all of watermark_low_pages" in error
    _, error = simulate(*words, *marks, "--set", "watermark_promo_pages=20", expect=2)
    assert "low <= high <= promo" in error


def test_a_good_trace_of_the_same_shape_is_replayed(tmp_path: Path) -> None:
    found = document(write_trace(tmp_path / "good.parquet", {}), "-p", "first-touch", "--dram-share", "1")
    assert found["trace"]["accesses"] == 7
    assert found["runs"][0]["local_ratio"] == 1


def test_intervals_are_as_long_as_the_recording_says_unless_they_are_set(tmp_path: Path) -> None:
    silent = write_trace(tmp_path / "silent.parquet", {})
    table = pq.read_table(silent)
    told = tmp_path / "told.parquet"
    pq.write_table(table.replace_schema_metadata({"page_size": "4096", "interval_seconds": "2.5"}), told)
    words = ("-p", "interleave", "--dram-share", "0.5")
    set_ = ("--set", "interval_s=5")
    for path, more, seconds, source in (
        (silent, (), 60, "default"),
        (told, (), 2.5, "recording"),
        (told, set_, 5, "set"),
        (silent, set_, 5, "set"),
    ):
        found = document(path, *words, *more)
        assert (found["trace"]["interval_seconds"], found["trace"]["interval_from"]) == (seconds, source)
    assert document(told, *words)["runs"] == document(silent, *words, "--set", "interval_s=2.5")["runs"]
    assert "Intervals of 2.5 s, as the recording says." in simulate(told, *words)[0]
    assert "Intervals of 60 s, by default" in simulate(silent, *words)[0]


def test_workloads_are_listed_with_their_sources_and_replayed_by_name() -> None:
    listed = json.loads(simulate("--workload", "list", "--json")[0])
    assert set(listed["workloads"]) == set(WORKLOADS)
    ycsb = listed["workloads"]["ycsb_a"]
    assert "65,000 with half on CXL" in ycsb["measured"][0]
    assert "ycsb_a: YCSB A: update heavy" in simulate("--workload", "list")[0]
    words = ("-p", "tpp", "--dram-share", "0.5", "--pages", "2000", "--intervals", "20")
    by_option = document("--workload", "YCSB-A", *words)
    by_path = document("workload:ycsb_a", *words)
    assert (by_option["simulated"], by_option["runs"]) == (True, by_path["runs"])


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("-p", "tpp", "--dram-share", "0.5"), "say what to replay, once"),
        (("workload:zipf", "--workload", "zipf", "-p", "tpp", "--dram-share", "0.5"), "say what to replay, once"),
        (("--workload", "zipf", "--dram-share", "0.5"), "no policy is named"),
        (("--workload", "ycsb-z", "-p", "tpp", "--dram-share", "0.5"), "there is no workload 'ycsb-z'"),
    ],
)
def test_a_replay_that_is_not_said_once_is_refused(words: tuple[str, ...], cause: str) -> None:
    assert cause in simulate(*words, expect=2)[1]
