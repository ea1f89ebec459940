"""Synthetic page traces named after the services of the TPP paper, fitted to the numbers that its text gives.

The paper's traces are not public and its curves are pictures. What its text says of a service (how much of each page
kind is used within two minutes, the mix of kinds, how many cold pages come back within ten minutes) is met by a mix of
page populations; V01 to V18 are the rows of results in docs/validation.md. Nothing else about these services is known
here: they stand for behaviours, not for measurements. Of Web2 the text has no number of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tierscope.domain.simulate.presets import find_workload
from tierscope.domain.simulate.request_workloads import REQUEST_PATTERNS, make_requests
from tierscope.domain.simulate.trace import TraceColumns, compile_trace
from tierscope.domain.simulate.workloads import PATTERNS, Population, generate, make_pattern

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

Service = Literal["web1", "cache1", "cache2", "data_warehouse", "ads"]
SERVICES: tuple[Service, ...] = get_args(Service)

WORKLOAD_PAGES = 50_000
WORKLOAD_INTERVALS = 60
WORKLOAD_SEED = 0
"""Seed of a workload when none is given."""
MAX_CELLS = 50_000_000
"""Most pages x intervals: a pattern holds a number for each while it is made."""


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
    wanted = find_workload(name)
    if pages < 1 or intervals < 1 or seed < 0:
        raise ValueError("a workload has at least one page and one interval, and a seed of 0 or more")
    if pages * intervals > MAX_CELLS:
        raise ValueError(f"{pages} pages over {intervals} intervals are more than {MAX_CELLS} pages x intervals")
    for pattern in PATTERNS:
        if pattern == wanted:
            return make_pattern(pattern, pages=pages, intervals=intervals, seed=seed)
    for request in REQUEST_PATTERNS:
        if request == wanted:
            return make_requests(request, pages=pages, intervals=intervals, seed=seed)
    return generate(_POPULATIONS[wanted], pages=pages, intervals=intervals, seed=seed)


_WEB1 = (
    # Figure 9: file-heavy at start-up, then anonymous memory grows and the share of files shrinks. Files fill most of
    # two thirds of memory first, as V01 says of DRAM. Files are read once, kept for a while and gone: so much of them
    # a minute that new memory meets a full DRAM now and then (tuned to V02; V03 then follows).
    Population("file", 0.485, touched=0.005, accesses=2, born=(0, 4), lives=36),
    # Figure 8: 3 to 14 % of files are used within two minutes, new ones among them.
    Population("file", 0.11, touched=0.25, accesses=4, born=(0, 4)),
    # Memory of single requests; it carries most accesses, as throughput follows anonymous memory (figure 10).
    Population("anon", 0.035, touched=1.0, accesses=120, born=(5, 24), lives=3),
    # Figure 8: 35 to 60 % of anonymous memory is used within two minutes; figure 11: 80 % of pages that turned cold
    # come back within ten.
    Population("anon", 0.08, touched=0.85, accesses=25, born=(5, 24)),
    Population("anon", 0.25, touched=0.3, accesses=8, born=(5, 24)),
    Population("anon", 0.04, touched=0.0, accesses=2, born=(5, 24)),
)
"""Web1: shares of anonymous memory and of files tuned to V01, the life of files and the accesses to V02."""


@dataclass(frozen=True, slots=True)
class _Cohort:
    """Pages of a cache that are born together: shares of memory by kind, and of the core."""

    born: tuple[int, int]
    anon: float
    file: float
    core: float


_COHORTS = (
    # DRAM of 1:4 ends with the first cohort, that of 2:1 with the second one. Shares of anonymous memory: V11, 85 % of
    # it outside DRAM at 1:4. Shares of the core: tuned to V14 (46 % local at 1:4) and V06 (92 % at 2:1).
    _Cohort((0, 1), anon=0.036, file=0.164, core=0.46),
    _Cohort((2, 5), anon=0.113, file=0.354, core=0.46),
    _Cohort((6, 8), anon=0.091, file=0.242, core=0.08),
)


@dataclass(frozen=True, slots=True)
class _Cache:
    """How often pages of a cache are touched in an interval: the core, and the rest, by kind."""

    core_anon: float
    core_file: float
    anon: float
    file: float


_CORE_ANON, _CORE_FILE = 0.065, 0.145
_REQUESTS, _STREAM = 0.026, 0.15
_CORE_ACCESSES, _OTHER_ACCESSES, _REQUEST_ACCESSES = 60, 10, 20


def _cache(touched: _Cache) -> tuple[Population, ...]:
    """A cache: 24 % of memory anonymous and 76 % files (figure 9: 70 to 82 %).

    The core carries most accesses; tuned to V12 (85 % local under TPP at 1:4). Memory of requests and files that are
    read and replaced make pages change heat, as the text says of all services; both are the same in all caches.
    """
    found = [Population("file", _STREAM, touched.file, _OTHER_ACCESSES, born=(0, 8), lives=25)]
    all_anon, all_file = (sum(getattr(cohort, kind) for cohort in _COHORTS) for kind in ("anon", "file"))
    for cohort in _COHORTS:
        core_anon, core_file = _CORE_ANON * cohort.core, _CORE_FILE * cohort.core
        other_anon = cohort.anon * (1 - _REQUESTS / all_anon) - core_anon
        other_file = cohort.file * (1 - _STREAM / all_file) - core_file
        found += [
            Population("anon", core_anon, touched.core_anon, _CORE_ACCESSES, born=cohort.born),
            Population("file", core_file, touched.core_file, _CORE_ACCESSES, born=cohort.born),
            Population("anon", other_anon, touched.anon, _OTHER_ACCESSES, born=cohort.born),
            Population("file", other_file, touched.file, _OTHER_ACCESSES, born=cohort.born),
        ]
    return (*found, Population("anon", _REQUESTS, 1.0, _REQUEST_ACCESSES, born=(0, 8), lives=2))


_POPULATIONS: Mapping[str, Sequence[Population]] = {
    "web1": _WEB1,
    # Figure 8: within two minutes 40 % of anonymous memory and 25 % of files are used.
    "cache1": _cache(_Cache(core_anon=0.9, core_file=0.9, anon=0.02, file=0.02)),
    # Figure 8: within one minute 43 % of anonymous memory and 30 % of files; section 6.2.1: within two 75 % of
    # anonymous memory, which pages that are touched at random only come near to. Nothing here was tuned to a row of
    # results: all else is as in Cache1.
    "cache2": _cache(_Cache(core_anon=0.36, core_file=0.9, anon=0.36, file=0.16)),
    "data_warehouse": (
        # Figure 9: 85 % anonymous, 15 % file, flat. Section 6.2.1: about a third of anonymous memory is hot; figure 7:
        # 20 % of accessed memory is used within two minutes.
        Population("anon", 0.26, touched=0.9, accesses=60),
        Population("anon", 0.59, touched=0.01, accesses=2),
        # Figure 11: 20 % of hot file pages come back, the others are newly allocated.
        Population("file", 0.15, touched=0.02, accesses=4, lives=15),
    ),
    "ads": (
        # Figure 8: the hot set is nearly all anonymous, files are mostly cold. The mix of kinds is not in the text.
        Population("anon", 0.30, touched=0.9, accesses=60),
        Population("anon", 0.40, touched=0.02, accesses=2),
        Population("file", 0.30, touched=0.005, accesses=2),
    ),
    # DeathStarBench's social network: caches (redis, memcached) in anonymous memory, MongoDB's files, code and logs
    # beside. No paper gives shares of memory; what is set here are shares that its request mixes make plausible [A].
    "dsb_compose_post": (
        Population("anon", 0.30, touched=0.9, accesses=40, written=0.6),
        Population("anon", 0.20, touched=1.0, accesses=30, born=(0, 59), lives=12, written=0.8),
        Population("anon", 0.20, touched=0.1, accesses=4, written=0.3),
        Population("file", 0.30, touched=0.15, accesses=6, born=(0, 8), lives=30, written=0.5),
    ),
    "dsb_read_user_timeline": (
        Population("anon", 0.20, touched=0.9, accesses=40, written=0.05),
        Population("anon", 0.50, touched=0.45, accesses=10, written=0.02),
        Population("file", 0.30, touched=0.03, accesses=4, written=0.0),
    ),
    "dsb_mixed": (
        Population("anon", 0.25, touched=0.9, accesses=40, written=0.15),
        Population("anon", 0.05, touched=1.0, accesses=30, born=(0, 59), lives=12, written=0.8),
        Population("anon", 0.40, touched=0.4, accesses=10, written=0.05),
        Population("file", 0.30, touched=0.05, accesses=4, born=(0, 8), lives=30, written=0.2),
    ),
}
