"""Synthetic page traces named after the services of the TPP paper, fitted to the numbers that its text gives.

The paper's traces are not public and its curves are pictures. What its text says of a service (how much of each page
kind is used within two minutes, the mix of kinds, how many cold pages come back within ten minutes) is met by a mix of
page populations. Nothing else about these services is known here: they stand for behaviours, not for measurements.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from tierscope.domain.simulate.trace import TraceColumns, compile_trace
from tierscope.domain.simulate.workloads import PATTERNS, Pattern, Population, generate, make_pattern

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

Service = Literal["web1", "cache1", "cache2", "data_warehouse", "ads"]
SERVICES: tuple[Service, ...] = get_args(Service)

WORKLOAD_PAGES = 50_000
WORKLOAD_INTERVALS = 60
MAX_CELLS = 50_000_000
"""Most pages x intervals: a pattern holds a number for each while it is made."""

_TPP = "synthetic; fitted to the text of TPP (arXiv 2206.02878) section 3"
_PATTERN = "synthetic; one behaviour alone"

WORKLOADS: Mapping[str, tuple[str, str]] = {
    "web1": ("Web (HHVM)", _TPP),
    "cache1": ("Cache1", _TPP),
    "cache2": ("Cache2", _TPP),
    "data_warehouse": ("Data Warehouse", _TPP),
    "ads": ("Ads", _TPP),
    "zipf": ("Zipf, exponent 0.99", _PATTERN),
    "scan": ("Repeated scan", _PATTERN),
    "phase_change": ("Hot fifth that moves every ten intervals", _PATTERN),
    "growth": ("Growing memory, the newest tenth hot", _PATTERN),
    "ping_pong": ("Two sets in turn", _PATTERN),
}
"""Label and source of each workload, services first."""


def make_workload(
    name: str, *, seed: int, pages: int = WORKLOAD_PAGES, intervals: int = WORKLOAD_INTERVALS
) -> "SimulationTrace":
    """A workload by its name, ready to be replayed. Simulated; one seed gives one trace.

    Raises:
        ValueError: there is no such workload, or its size cannot be.
        RuntimeError: the compiled core is not built.
    """
    return compile_trace(workload_columns(name, seed=seed, pages=pages, intervals=intervals))


def workload_columns(name: str, *, seed: int, pages: int, intervals: int) -> TraceColumns:
    """The same as columns of pages and rows.

    Raises:
        ValueError: there is no such workload, or its size cannot be.
    """
    wanted = name.replace("-", "_").lower()
    if wanted not in WORKLOADS:
        raise ValueError(f"there is no workload {name!r}: choose one of {', '.join(WORKLOADS)}")
    if pages < 1 or intervals < 1 or seed < 0:
        raise ValueError("a workload has at least one page and one interval, and a seed of 0 or more")
    if pages * intervals > MAX_CELLS:
        raise ValueError(f"{pages} pages over {intervals} intervals are more than {MAX_CELLS} pages x intervals")
    pattern = _pattern(wanted)
    if pattern is not None:
        return make_pattern(pattern, pages=pages, intervals=intervals, seed=seed)
    return generate(_POPULATIONS[wanted], pages=pages, intervals=intervals, seed=seed)


def _pattern(name: str) -> Pattern | None:
    return next((pattern for pattern in PATTERNS if pattern == name), None)


_POPULATIONS: Mapping[str, Sequence[Population]] = {
    "web1": (
        Population("file", 0.04, touched=0.4, accesses=8, born=(0, 4)),
        Population("file", 0.50, touched=0.01, accesses=2, born=(0, 4)),
        Population("anon", 0.20, touched=0.9, accesses=60, born=(4, 24)),
        Population("anon", 0.26, touched=0.05, accesses=4, born=(4, 24)),
    ),
    "cache1": (
        Population("anon", 0.09, touched=0.6, accesses=40),
        Population("anon", 0.15, touched=0.02, accesses=4),
        Population("file", 0.18, touched=0.7, accesses=30),
        Population("file", 0.58, touched=0.03, accesses=4),
    ),
    "cache2": (
        Population("anon", 0.19, touched=0.5, accesses=40),
        Population("anon", 0.05, touched=0.02, accesses=4),
        Population("file", 0.50, touched=0.4, accesses=30),
        Population("file", 0.26, touched=0.02, accesses=4),
    ),
    "data_warehouse": (
        Population("anon", 0.28, touched=0.9, accesses=60),
        Population("anon", 0.57, touched=0.01, accesses=2),
        Population("file", 0.15, touched=0.01, accesses=4, lives=20),
    ),
    "ads": (
        Population("anon", 0.30, touched=0.9, accesses=60),
        Population("anon", 0.40, touched=0.01, accesses=2),
        Population("file", 0.30, touched=0.01, accesses=2),
    ),
}
