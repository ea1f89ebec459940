"""Analysis of recordings: equal to counting page by page, and true as often as its intervals say."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fixtures.elsewhere import long
from fixtures.page_traces import TRACES
from tierscope.core.errors import Unprocessable
from tierscope.usecases.recordings.page_traces import TraceAnalysis, analyze_page_trace

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

NAMES = tuple(sorted(path.stem for path in TRACES.glob("*.parquet")))
SMALLER = ("sqlite", "sqlite.miss")
KIND_OF = {"anon": "anon", "heap": "anon", "stack": "anon", "file": "file", "shmem": "tmpfs"}
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Counted:
    """Accesses of each page in each interval, and each page's kind."""

    accesses: np.ndarray
    kinds: np.ndarray

    def of(self, kind: str) -> np.ndarray:
        """Accesses of the pages of one kind, or of all."""
        return self.accesses if kind == "all" else self.accesses[self.kinds == kind]


@cache
def counted(trace: str) -> Counted:
    table = pq.read_table(TRACES / f"{trace}.parquet")
    kinds, kind_of_row = np.unique([KIND_OF[kind] for kind in table["kind"].to_pylist()], return_inverse=True)
    names = ("page", "interval", "loads", "stores")
    page, interval, loads, stores = (table[name].to_numpy().astype(np.int64) for name in names)
    pages, place = np.unique(page * len(kinds) + kind_of_row, return_inverse=True)
    accesses = np.zeros((len(pages), interval.max() + 1), np.int64)
    np.add.at(accesses, (place, interval), loads + stores)
    return Counted(accesses, kinds[pages % len(kinds)])


@cache
def analyzed(name: str) -> TraceAnalysis:
    return analyze_page_trace(TRACES / f"{name}.parquet")


def classes(active: np.ndarray, window: int) -> np.ndarray:
    """Resident, hot, warm and cold bytes at the end of each interval [t, 4], by counting activity up to it."""
    times = np.concatenate([np.zeros((len(active), 1), np.int64), np.cumsum(active, axis=1)], axis=1)
    ends = np.arange(1, times.shape[1])
    resident = times[:, ends] > 0
    hot, recent = (times[:, ends] > times[:, np.maximum(ends - length, 0)] for length in (window, 10))
    parts = (resident, hot, recent & ~hot, resident & ~recent)
    return np.stack([part.sum(axis=0) for part in parts], axis=1) * PAGE_BYTES


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in SMALLER else long) for name in NAMES])
def test_heat_of_a_trace_equals_counting_page_by_page(name: str) -> None:
    truth, found = counted(name), analyzed(name)
    assert len(found.heat) == 4 * 4 * 2
    for kind in ("anon", "file", "tmpfs", "all"):
        active = truth.of(kind) > 0
        for window in (1, 2, 5, 10):
            series = classes(active, window)
            wanted = {"last": series[-1], "median": np.median(series[9:], axis=0)}
            for row in found.heat:
                if (row.kind, row.window_intervals) == (kind, window):
                    values = [row.hot_bytes, row.warm_bytes, row.cold_bytes]
                    assert [row.resident_bytes, *(v.value for v in values)] == wanted[row.at].tolist()
                    assert [v.interval for v in values] == [None] * 3
                    assert [v.method for v in values] == ["trace"] * 3


def reaccess_by_counting(active: np.ndarray, idle: int) -> list[float | None]:
    """Kaplan-Meier over gaps listed page by page, at lags 1, 2, 5, 10 and 20."""
    gaps: list[tuple[int, bool]] = []
    for page in active:
        places = np.flatnonzero(page).tolist()
        gaps += [(after - before, True) for before, after in pairwise(places)]
        gaps.append((len(page) - 1 - places[-1], False))
    kept = [(length - idle, closed) for length, closed in gaps if length > idle]
    lengths, closed = np.array([gap[0] for gap in kept]), np.array([gap[1] for gap in kept], bool)
    shares: list[float | None] = []
    for lag in (1, 2, 5, 10, 20):
        idle_share = 1.0
        for t in range(1, lag + 1):
            if (lengths >= t).any():
                idle_share *= 1 - (closed & (lengths == t)).sum() / (lengths >= t).sum()
        shares.append(1 - idle_share if (lengths >= lag).any() else None)
    return shares


@pytest.mark.parametrize(("since", "idle"), [("last_access", 0), ("turning_cold", 2)])
@pytest.mark.parametrize("name", NAMES)
def test_revisit_of_a_trace_equals_counting_gap_by_gap(name: str, since: str, idle: int) -> None:
    truth, found = counted(name), analyzed(name)
    for kind in ("anon", "file", "all"):
        rows = [row for row in found.revisit if (row.kind, row.since) == (kind, since)]
        assert [row.lag_intervals for row in rows] == [1, 2, 5, 10, 20]
        wanted = reaccess_by_counting(truth.of(kind) > 0, idle)
        assert [row.share.value for row in rows] == pytest.approx(wanted, rel=1e-12)
        assert {(row.share.interval, row.share.method) for row in rows} == {(None, "kaplan_meier")}
    missing = [row.share for row in found.revisit if row.kind == "tmpfs"]
    assert {share.value for share in missing} == {None}
    assert all(share.reason for share in missing)


@pytest.mark.parametrize("name", NAMES)
def test_curve_of_a_trace_is_the_best_placement_of_its_own_accesses(name: str) -> None:
    totals = np.sort(counted(name).accesses.sum(axis=1))[::-1]
    found = analyzed(name).served
    assert [row.dram_share for row in found] == [round(0.05 * i, 2) for i in range(1, 21)]
    for row in found:
        room = row.dram_share * len(totals)
        whole = int(room)
        served = totals[:whole].sum() + (room - whole) * (totals[whole] if whole < len(totals) else 0)
        assert row.share.value == pytest.approx(served / totals.sum(), rel=1e-12)
        assert (row.share.interval, row.share.method) == (None, "top_density")


def write_trace(path: Path, rows: list[tuple[int, int, int, int, str]]) -> Path:
    columns = list(zip(*rows, strict=True)) or [(), (), (), (), ()]
    types = (pa.int32(), pa.uint64(), pa.uint32(), pa.uint32(), pa.string())
    names = ("interval", "page", "loads", "stores", "kind")
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    pq.write_table(pa.table(dict(zip(names, arrays, strict=True))), path)
    return path


def test_a_short_trace_has_no_median_and_says_why(tmp_path: Path) -> None:
    found = analyze_page_trace(write_trace(tmp_path / "short.parquet", [(0, 1, 1, 0, "heap"), (3, 1, 0, 2, "heap")]))
    assert {row.hot_bytes.value for row in found.heat if row.at == "median"} == {None}
    assert {row.hot_bytes.reason for row in found.heat if row.at == "median"} == {
        "The trace has fewer than 10 intervals."
    }
    last = next(row for row in found.heat if (row.at, row.kind, row.window_intervals) == ("last", "anon", 2))
    assert (last.resident_bytes, last.hot_bytes.value) == (PAGE_BYTES, PAGE_BYTES)


def test_a_page_number_in_another_kind_is_other_memory(tmp_path: Path) -> None:
    rows = [(0, 7, 1, 0, "file"), (0, 7, 1, 0, "stack"), (4, 7, 1, 0, "heap"), (4, 8, 1, 0, "shmem")]
    found = analyze_page_trace(write_trace(tmp_path / "kinds.parquet", rows))
    assert found.resident_bytes == {"anon": PAGE_BYTES, "file": PAGE_BYTES, "tmpfs": PAGE_BYTES, "all": 3 * PAGE_BYTES}


def test_a_file_that_is_no_trace_is_named_with_the_cause(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"interval": [1]}), path)
    with pytest.raises(Unprocessable, match=r"x\.parquet: column `page`"):
        analyze_page_trace(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALLER)
def test_intervals_of_samples_hold_the_truth_at_their_rate(name: str) -> None:
    """Over seeds, of all figures of a part together; their intervals are at 0.95 or wider."""
    exact, seeds = analyzed(name), 12
    held = {"heat": [0, 0], "revisit": [0, 0], "served": [0, 0]}
    for seed in range(seeds):
        found = analyze_page_trace(TRACES / f"{name}.parquet", one_in=200, seed=seed)
        pairs = [("heat", a.hot_bytes, b.hot_bytes) for a, b in zip(exact.heat, found.heat, strict=True)]
        pairs += [("heat", a.cold_bytes, b.cold_bytes) for a, b in zip(exact.heat, found.heat, strict=True)]
        pairs += [("revisit", a.share, b.share) for a, b in zip(exact.revisit, found.revisit, strict=True)]
        pairs += [("served", a.share, b.share) for a, b in zip(exact.served, found.served, strict=True)]
        for part, truth, value in pairs:
            if value.interval is None:
                assert value.reason
                continue
            assert truth.value is not None
            assert value.interval.level == 0.95
            held[part][0] += value.interval.lo <= truth.value + 1e-9
            held[part][0] -= value.interval.hi < truth.value - 1e-9
            held[part][1] += 1
    rates = {part: hits / cases for part, (hits, cases) in held.items()}
    assert rates["heat"] >= 0.95
    assert rates["revisit"] >= 0.95
    assert rates["served"] >= 0.95


def test_one_seed_gives_one_sample_and_seeds_differ() -> None:
    path = TRACES / "sqlite.parquet"
    first, again, other = (analyze_page_trace(path, one_in=50, seed=seed) for seed in (3, 3, 4))
    assert (first.heat, first.revisit, first.served) == (again.heat, again.revisit, again.served)
    assert first.heat != other.heat
    assert first.served != other.served


def test_a_sample_too_thin_is_refused_with_the_reason(tmp_path: Path) -> None:
    rows = [(interval, page, 5, 0, "heap") for interval in range(12) for page in range(10)]
    found = analyze_page_trace(write_trace(tmp_path / "thin.parquet", rows), one_in=2, seed=1)
    for share in [*(row.share for row in found.revisit), *(row.share for row in found.served)]:
        assert (share.value, share.interval) == (None, None)
        assert share.reason
    assert found.recorded.trace.pages == 10
