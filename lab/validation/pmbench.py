"""The pmbench series of the hot-page-selection patches: signs and order; its machine had persistent memory.

Pages are accessed by a normal distribution over addresses, 20 % of the accesses are stores. The scanner needs a minute
for a pass, as the patches' letter says of the base, so that an interval of a second is short against it.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tierscope.domain.simulate import (
    Costs,
    Machine,
    Totals,
    TraceColumns,
    compile_trace,
    make_policy,
    replay,
    split_machine,
    stall_time,
)
from tierscope.domain.simulate.request_workloads import normal_rates
from validation.tables import Check, Row

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

PAGES, SECONDS, SEED = 5_000, 1200, 1
ACCESSES_PER_PAGE_AND_S = 2.0
DRAM_RATIO = 0.3
SCAN_PASS_S = 60.0
SCAN_SIZE_MB = 0.5
LIMIT_RATIO = 165.2 / 544.0
"""The limit as a share of the traffic that hot-page selection has without one, as in the letter."""
COSTS = Costs(slow_latency_ns=300.0, exposed_ratio=1.0)
"""Persistent memory reads at about three times the latency of DRAM [A]; pmbench hides nothing of it."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel of the series: the letter's score and traffic, and those of the replay (after warm-up)."""

    name: str
    paper_accesses_per_s: float
    paper_mb_per_s: float
    accesses_per_s: float
    promoted_pages_per_s: float


@cache
def trace() -> "SimulationTrace":
    random = np.random.default_rng(np.random.SeedSequence(SEED))
    rates = normal_rates(PAGES)
    rates = random.permutation(rates * ACCESSES_PER_PAGE_AND_S * PAGES / rates.sum())
    counts = random.poisson(rates, (SECONDS, PAGES))
    counts[0] = np.maximum(counts[0], 1)
    interval, page = np.nonzero(counts)
    return compile_trace(
        TraceColumns(
            intervals=SECONDS,
            kinds=np.zeros(PAGES, np.int64),
            units=np.ones(PAGES, np.int64),
            first=np.zeros(PAGES, np.int64),
            last=np.full(PAGES, SECONDS - 1, np.int64),
            row_interval=interval.astype(np.int64),
            row_page=page.astype(np.int64),
            row_accesses=counts[interval, page].astype(np.int64),
            row_written=random.random(len(page)) < 0.2,
        )
    )


def _run(policy: str, settings: dict[str, float]) -> Totals:
    split = split_machine(PAGES, DRAM_RATIO)
    machine = Machine(split.dram_pages, split.slow_pages, scan_pass_s=SCAN_PASS_S, scan_size_mb=SCAN_SIZE_MB)
    found = replay(trace(), make_policy(policy, {"allocation_demotes": 1, **settings}), machine, interval_s=1.0)
    return found.totals(SECONDS // 2)


def score(totals: Totals) -> float:
    """Accesses a second of one thread that does nothing else: DRAM's latency and the stall."""
    seconds = totals.accesses * COSTS.dram_latency_ns * 1e-9 + stall_time(totals, COSTS).total_s
    return totals.accesses / seconds


@cache
def series() -> tuple[Step, ...]:
    """The four kernels. Base: every touch after a scan promotes."""
    base = _run("hot_page_selection", {"hot_threshold_ms": 1e6})
    hot = _run("hot_page_selection", {})
    pages_per_s = hot.promoted_pages / (SECONDS // 2)
    limit = {"numa_balancing_promote_rate_limit_MBps": LIMIT_RATIO * pages_per_s * 4096 / MIB}
    limited, automatic = _run("hot_page_selection", limit), _run("hot_page_selection_auto", limit)
    names = ("base", "+ hint-latency selection", "+ rate limit", "+ automatic threshold")
    paper = ((146_887_704.1, 725.6), (165_695_601.2, 544.0), (162_814_569.8, 165.2), (170_495_294.0, 136.9))
    return tuple(
        Step(name, accesses, mb, score(totals), totals.promoted_pages / (SECONDS // 2))
        for name, (accesses, mb), totals in zip(names, paper, (base, hot, limited, automatic), strict=True)
    )


def rows() -> list[Row]:
    """Each step against the one before, in the letter and here."""
    found: list[Row] = []
    before: Step | None = None
    for step in series():
        if before is None:
            found.append((step.name, "-", "-", "-", "-"))
        else:
            found.append(
                (
                    step.name,
                    f"{step.paper_accesses_per_s / before.paper_accesses_per_s - 1:+.1%}",
                    f"{step.accesses_per_s / before.accesses_per_s - 1:+.1%}",
                    f"{step.paper_mb_per_s / before.paper_mb_per_s - 1:+.1%}",
                    f"{step.promoted_pages_per_s / before.promoted_pages_per_s - 1:+.1%}",
                )
            )
        before = step
    return found


def checks() -> list[Check]:
    base, hot, limited, automatic = series()

    def traffic(step: Step, before: Step) -> float:
        return step.promoted_pages_per_s / before.promoted_pages_per_s - 1

    def gain(step: Step, before: Step) -> float:
        return step.accesses_per_s / before.accesses_per_s - 1

    return [
        Check("Selection raises the score", "above 0 %", f"{gain(hot, base):+.1%}", gain(hot, base) > 0),
        Check("Selection cuts traffic", "below 0 %", f"{traffic(hot, base):+.1%}", traffic(hot, base) < 0),
        Check("The limit lowers the score", "below 0 %", f"{gain(limited, hot):+.1%}", gain(limited, hot) < 0),
        Check("The limit cuts traffic", "below -50 %", f"{traffic(limited, hot):+.1%}", traffic(limited, hot) < -0.5),
        Check(
            "The automatic threshold raises the score again",
            "above 0 %",
            f"{gain(automatic, limited):+.1%}",
            gain(automatic, limited) > 0,
        ),
        Check("All of it raises the score", "above 0 %", f"{gain(automatic, base):+.1%}", gain(automatic, base) > 0),
    ]
