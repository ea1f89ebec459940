"""What papers measured on tiers of memory beside what the presets and the model of threads give.

MEMO's redis and DLRM figures are reproduced by `tierscope.domain.slowdown.thread_rate`, a model of latency and
bandwidth; the share of accesses on the slower tier comes from replays of the presets. Method: docs/method/workloads.md.
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tierscope.domain.simulate import make_policy, make_workload, replay, split_machine, workload_columns
from tierscope.domain.simulate.request_workloads import RECORDS_PER_PAGE
from tierscope.domain.simulate.workloads import zipfian
from tierscope.domain.slowdown.thread_rate import Tiers, thread_rate
from validation.tables import Check, Row, verdict

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

PAGES, INTERVALS, SEED = 20_000, 60, 1
STEADY = 30
DRAM_QPS, HALF_QPS, CXL_QPS = 80_000.0, 65_000.0, 55_000.0
"""MEMO: where redis under YCSB-A saturates with none, half and all of its memory on CXL."""
ALL_CXL_LOSS = 0.16
"""KeyarchOS: redis with all memory on CXL against DRAM."""
DLRM_MEMORY = (0.5, 0.6, 0.7)
"""MEMO: embedding reduction takes 50 to 70 % of the latency of an inference."""
FLUSHED_LATENCY_RATIO = 2.2
"""MEMO: load of a flushed line on CXL over local DRAM; the pointer chase has 4.0."""
CXL_GB_PER_S, DRAM_GB_PER_S, CHANNELS = 16.8, 221.0, 8
"""MEMO: peaks of sequential loads; DRAM over its eight channels."""
TOLERANCE = 0.08


@cache
def trace(name: str) -> "SimulationTrace":
    return make_workload(name, seed=SEED, pages=PAGES, intervals=INTERVALS)


def slow_ratio(name: str, policy: str, dram_ratio: float) -> float:
    """Share of accesses on the slower tier, after warm-up."""
    made = trace(name)
    totals = replay(made, make_policy(policy), split_machine(made.peak_units, dram_ratio)).totals(STEADY)
    assert totals.local_ratio is not None
    return 1.0 - totals.local_ratio


def one_thread(slow: float, loss: float) -> float:
    """Rate of a server with one thread against DRAM, where all on the slower tier loses `loss`."""
    memory = Tiers(latency_ratio=1.0 / (1.0 - loss), saturating_threads=float("inf"), bandwidth_ratio=1.0)
    return thread_rate(1.0, slow, memory_ratio=1.0, tiers=memory)


def redis_rows() -> list[Row]:
    """Redis under YCSB-A: two figures set the model, the third is predicted."""
    loss = 1.0 - CXL_QPS / DRAM_QPS
    found: list[Row] = []
    for label, share, measured, use in (
        ("DRAM", 1.0, DRAM_QPS, "sets the model"),
        ("all on CXL", 0.0, CXL_QPS, "sets the model"),
        ("half on CXL", 0.5, HALF_QPS, "predicted"),
    ):
        slow = 1.0 - share if share in (0.0, 1.0) else slow_ratio("ycsb_a", "interleave", share)
        rate = DRAM_QPS * one_thread(slow, loss)
        off = rate / measured - 1.0
        found.append(
            (
                label,
                use,
                f"{slow:.1%}",
                f"{measured:,.0f}",
                f"{rate:,.0f}",
                f"{off:+.1%}",
                verdict(passed=abs(off) <= TOLERANCE),
            )
        )
    return found


def _dlrm(channels: int) -> Tiers:
    """Tiers of DLRM on so many channels; DRAM of two is used up by 24 threads, that of eight by four times as many."""
    share = channels / CHANNELS
    return Tiers(FLUSHED_LATENCY_RATIO, 24.0 * channels / 2, CXL_GB_PER_S / (DRAM_GB_PER_S * share))


def _dlrm_gain(threads: float, slow: float, memory_ratio: float, channels: int = 2) -> float:
    tiers = _dlrm(channels)
    with_cxl = thread_rate(threads, slow, memory_ratio=memory_ratio, tiers=tiers)
    return with_cxl / thread_rate(threads, 0.0, memory_ratio=memory_ratio, tiers=tiers) - 1.0


def checks() -> list[Check]:
    """Statements of the papers with a verdict."""
    gains = [_dlrm_gain(32, 0.2, memory) for memory in DLRM_MEMORY]
    helps = next(threads for threads in range(1, 65) if _dlrm_gain(threads, 0.2, DLRM_MEMORY[1]) > 0.0)
    small = _dlrm_gain(32, 0.0323, DLRM_MEMORY[1], channels=8)
    middle = gains[1]
    return [
        Check(
            "DLRM, 2 channels, 20 % on CXL, 32 threads",
            "+11 % (within 8 points)",
            f"{middle:+.1%}; {min(gains):+.1%} to {max(gains):+.1%} for 70 to 50 % of the time in memory",
            abs(middle - 0.11) <= TOLERANCE,
        ),
        Check(
            "DLRM, 2 channels, 20 % on CXL helps from",
            "28 threads (within 2)",
            f"{helps} threads",
            abs(helps - 28) <= 2,
        ),
        Check("DLRM, 8 channels, 3.23 % on CXL, 32 threads", "below 0 %", f"{small:+.1%}", small < 0.0),
        *_latest(),
    ]


def _latest() -> list[Check]:
    """KeyarchOS: redis with `latest`, a fifth of memory in DRAM; tiering against none."""
    without, tiering = (
        one_thread(slow_ratio("ycsb_d", policy, 0.2), ALL_CXL_LOSS) for policy in ("first_touch", "hot_page_selection")
    )
    gain = tiering / without - 1.0
    fits = one_thread(0.0, ALL_CXL_LOSS) / one_thread(1.0, ALL_CXL_LOSS) - 1.0
    return [
        Check(
            "Redis, `latest`, 1:4, tiering over none (KeyarchOS)",
            "+6 % (within 8 points, above 0 %)",
            f"{gain:+.1%}",
            gain > 0.0 and abs(gain - 0.06) <= TOLERANCE,
        ),
        Check(
            "Redis, the hot set in DRAM over all on CXL (KeyarchOS)",
            "+12 % and more",
            f"{fits:+.1%}",
            fits >= 0.12,
        ),
    ]


def generator_checks() -> list[Check]:
    """That the YCSB presets have the mixes and distributions of their definitions."""
    made = []
    for name in ("ycsb_a", "ycsb_c"):
        weights = np.sort(_page_accesses(name))[::-1]
        top = float(weights[: PAGES // 5].sum() / weights.sum())
        random = np.random.default_rng(np.random.SeedSequence(99))
        expected = np.sort(
            random.permutation(zipfian(PAGES * RECORDS_PER_PAGE)).reshape(-1, RECORDS_PER_PAGE).sum(axis=1)
        )
        exact = float(expected[::-1][: PAGES // 5].sum())
        made.append(
            Check(
                f"{name}: accesses on the busiest fifth of the pages",
                f"{exact:.1%} (zipfian 0.99, four records to a page; within 1 point)",
                f"{top:.1%}",
                abs(top - exact) <= 0.01,
            )
        )
    columns = workload_columns("ycsb_d", seed=SEED, pages=PAGES, intervals=INTERVALS)
    last = columns.row_interval == INTERVALS - 1
    newest = last & (columns.row_page >= PAGES - PAGES // 10)
    found = float(columns.row_accesses[newest].sum() / columns.row_accesses[last].sum())
    ages = zipfian(PAGES * RECORDS_PER_PAGE)
    exact = float(ages[: PAGES // 10 * RECORDS_PER_PAGE].sum())
    made.append(
        Check(
            "ycsb_d: accesses on the newest tenth of the pages, last interval",
            f"{exact:.1%} (zipfian 0.99 by age; within 1 point)",
            f"{found:.1%}",
            abs(found - exact) <= 0.01,
        )
    )
    return made


def _page_accesses(name: str) -> np.ndarray:
    columns = workload_columns(name, seed=SEED, pages=PAGES, intervals=INTERVALS)
    return np.bincount(columns.row_page, weights=columns.row_accesses, minlength=PAGES)
