"""Touched pages a second of each policy of the simulator, against LRU passes over the same stream and a plain read."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bench import examples
from bench.figures import Row, Section
from tierscope.domain.simulate import (
    POLICY_NAMES,
    Costs,
    make_policy,
    make_workload,
    of_recording,
    replay,
    split_machine,
)
from tierscope.domain.simulate.sweep import SweepRun, longest_first
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace
from tierscope.storage.curve.page_traces import read_page_trace
from tierscope.usecases.simulate.runs import replay_to_store, work_at_once

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

TRACES = Path(__file__).parents[2] / "tests" / "data" / "page-traces"
RECORDED = ("redis-zipf", "sqlite")
PAGES = 10_000_000
INTERVALS = 6
DRAM_RATIO = 0.5
TARGET_PER_S = 30e6
TARGET_RATIO = 0.5
MOST_BYTES_PER_PAGE = 48
REPEATS = 3
SWEEP_RUNS, SWEEP_PAGES, SWEEP_INTERVALS = 16, 200_000, 60
TARGET_SCALING = 0.8
ROW_BYTES = 8
"""What the simulator keeps of a row: page and accesses."""

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Stream:
    """A trace and its pages in the order of its rows."""

    name: str
    trace: "SimulationTrace"
    pages: Words


def measure() -> Section:
    """All policies on the recorded traces and a synthetic one; the references on the same streams."""
    rows = [*(row for stream in _streams() for row in _rows_of(stream)), *_sweep()]
    return Section(
        title="Simulating placement policies",
        rows=rows,
        notes=[
            (
                f"One core, best of {REPEATS}; {DRAM_RATIO:.0%} of the peak in DRAM; compiled as `make simcore` does"
                ". A touched page is one row of the trace: a page with accesses in an interval."
            ),
            (
                f"synthetic: {PAGES:,} pages, all touched in the first of {INTERVALS} intervals, then a quarter always"
                " and a third of the others by chance."
            ),
            (
                "libcachesim: the LRU of its Python package, whose loop is native, over a trace file in its own binary"
                " format (oracleGeneral); one request a row, hits and misses alone. Own LRU: a list through arrays in"
                " Rust with the stream in memory, no hashing, no file."
            ),
            (
                f"Sweep: {SWEEP_RUNS} runs of tpp, or one of each policy, on {SWEEP_PAGES:,} pages of cache1 over"
                f" {SWEEP_INTERVALS} intervals, as a worker replays them, without the database."
            ),
            "Reading: summing what the simulator keeps of all rows (8 bytes each) once, at this machine's bandwidth.",
        ],
    )


def _rows_of(stream: Stream) -> list[Row]:
    trace = stream.trace
    machine = split_machine(trace.peak_units, DRAM_RATIO)
    touched = len(stream.pages)
    public = _public_lru(stream, machine.dram_pages)
    own = _own_lru(stream, machine.dram_pages)
    read_s = _read_once(touched)
    rows = [
        Row(f"{stream.name}: libcachesim LRU", "-", _rate(touched / public)),
        Row(f"{stream.name}: own LRU loop", "-", _rate(touched / own)),
        Row(f"{stream.name}: reading the rows once", "-", f"{read_s * 1e3:.1f} ms"),
    ]
    for name in POLICY_NAMES:
        seconds, grown = _replay(trace, name)
        speed = touched / seconds
        is_target = name == "tpp"
        rows += [
            Row(
                f"{stream.name}: {name}, against libcachesim",
                _rate(speed),
                _rate(touched / public),
                public / seconds,
                f"at least {TARGET_RATIO:g}" if is_target else "-",
                public / seconds >= TARGET_RATIO if is_target else None,
            )
        ]
        if is_target:
            rows += [
                Row("the same, against the own LRU loop", _rate(speed), _rate(touched / own), own / seconds),
                Row("the same, against reading", f"{seconds * 1e3:.0f} ms", f"{read_s * 1e3:.1f} ms", seconds / read_s),
            ]
        if is_target and stream.name == "synthetic":
            per_page = grown / trace.pages
            rows += [
                Row(
                    "the same, by itself",
                    _rate(speed),
                    target=f"at least {TARGET_PER_S / 1e6:g} M/s",
                    met=speed >= TARGET_PER_S,
                ),
                Row(
                    "memory of the replay per page, the trace apart",
                    f"{per_page:.1f} bytes",
                    target=f"at most {MOST_BYTES_PER_PAGE} bytes",
                    met=per_page <= MOST_BYTES_PER_PAGE,
                ),
            ]
    return rows


def _sweep() -> list[Row]:
    """Runs a second of a sweep on all cores, against one: of one policy at many shares, and of all policies at one."""
    trace = make_workload("cache1", seed=1, pages=SWEEP_PAGES, intervals=SWEEP_INTERVALS)
    shares = [SweepRun(n, "tpp", (n + 1) / (SWEEP_RUNS + 1), {}, searched=False) for n in range(SWEEP_RUNS)]
    policies = [SweepRun(n, name, DRAM_RATIO, {}, searched=False) for n, name in enumerate(POLICY_NAMES)]
    return [_scaling(trace, "a sweep", shares), _scaling(trace, "a sweep of all policies", policies)]


def _scaling(trace: "SimulationTrace", name: str, runs: list[SweepRun]) -> Row:
    traces, conditions = [HostTrace.of_whole(trace)], Conditions(Costs())
    cores, per_s = len(os.sched_getaffinity(0)), {1: 0.0}
    for threads in (1, cores) * REPEATS:
        started = time.perf_counter()
        ended = work_at_once(
            iter(longest_first(runs)), lambda run: replay_to_store(traces, run, conditions), threads=threads
        )
        done = [future.result() for _, future in ended]
        per_s[threads] = max(per_s.get(threads, 0.0), len(done) / (time.perf_counter() - started))
    ratio = per_s[cores] / per_s[1]
    return Row(
        f"{name} on {cores} cores, against one",
        f"{per_s[cores]:.1f} runs/s",
        f"{per_s[1]:.1f} runs/s",
        ratio,
        f"at least {TARGET_SCALING:g} a core",
        ratio >= TARGET_SCALING * cores,
    )


def _streams() -> Iterator[Stream]:
    for name in RECORDED:
        recording = read_page_trace(TRACES / f"{name}.parquet")
        numbers = recording.rows()[2]
        _, pages = np.unique(numbers, return_inverse=True)
        yield Stream(name, of_recording(recording), pages.astype(np.uint32))
    yield _synthetic()


def _synthetic() -> Stream:
    """Kept in the simulator's own columns from the start: rows of Python would not fit."""
    import tierscope_simcore  # noqa: PLC0415 - compiled, and measured only here

    random = np.random.default_rng(1)
    hot = np.arange(PAGES) % 4 == 3
    by_interval = [
        np.arange(PAGES, dtype=np.uint32)
        if now == 0
        else np.flatnonzero(hot | (random.random(PAGES) < 1 / 3)).astype(np.uint32)
        for now in range(INTERVALS)
    ]
    pages = np.concatenate(by_interval)
    accesses = np.where(hot[pages], 100, random.integers(1, 17, len(pages))).astype(np.uint32)
    trace = tierscope_simcore.SimulationTrace(
        INTERVALS,
        kinds=np.zeros(PAGES, np.uint8),
        units=np.ones(PAGES, np.uint32),
        first=np.zeros(PAGES, np.uint32),
        last=np.full(PAGES, INTERVALS - 1, np.uint32),
        row_interval=np.repeat(np.arange(INTERVALS, dtype=np.uint32), [len(part) for part in by_interval]),
        row_page=pages,
        row_accesses=accesses,
        row_written=np.zeros(len(pages), np.bool_),
    )
    return Stream("synthetic", trace, pages)


def _replay(trace: "SimulationTrace", name: str) -> tuple[float, int]:
    """Best seconds, and by how many bytes the process grew at most."""
    machine = split_machine(trace.peak_units, DRAM_RATIO)
    policy = make_policy(name)
    best, grown = float("inf"), 0
    for _ in range(REPEATS):
        with _watch_memory() as peak:
            started = time.perf_counter()
            replay(trace, policy, machine)
            best = min(best, time.perf_counter() - started)
        grown = max(grown, peak[0])
    return best, grown


@contextmanager
def _watch_memory() -> Iterator[list[int]]:
    """One number that says, after the block, by how many bytes the process had grown at its largest."""
    grown = [0]
    Path("/proc/self/clear_refs").write_text("5")
    before = _status_bytes("VmRSS")
    yield grown
    grown[0] = _status_bytes("VmHWM") - before


def _status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def _public_lru(stream: Stream, capacity: int) -> float:
    import libcachesim  # noqa: PLC0415 - a reference that only this benchmark needs

    record = np.dtype([("time", "<u4"), ("object", "<u8"), ("bytes", "<u4"), ("next", "<i8")])
    requests = np.zeros(len(stream.pages), record)
    requests["time"] = np.arange(len(stream.pages)) // 1000
    requests["object"] = stream.pages.astype(np.uint64) + 1
    requests["bytes"] = 1
    requests["next"] = -2
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as directory:
        path = Path(directory) / "stream.oracleGeneral.bin"
        requests.tofile(path)
        del requests
        best = float("inf")
        for _ in range(REPEATS):
            reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
            cache = libcachesim.LRU(cache_size=capacity)
            started = time.perf_counter()
            cache.process_trace(reader)
            best = min(best, time.perf_counter() - started)
    return best


def _own_lru(stream: Stream, capacity: int) -> float:
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as directory:
        path = Path(directory) / "stream"
        stream.pages.astype("<u4").tofile(path)
        return examples.run("tierscope-engine", "lru", str(path), str(capacity))["seconds"]


def _read_once(rows: int) -> float:
    values = np.ones(rows * ROW_BYTES // 8, np.uint64)
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        values.sum()
        best = min(best, time.perf_counter() - started)
    return best


def _rate(per_s: float) -> str:
    return f"{per_s / 1e6:.3g} M pages/s"
