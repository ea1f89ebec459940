"""Analysis of a snapshot tree without a database: its ledger of tier moves, and the verdict with its evidence."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tierscope.core.errors import ConfigurationError, Unprocessable
from tierscope.domain.base.figures import doubt_figures
from tierscope.domain.counters.monotonic import nominal_step
from tierscope.domain.fleet.host_facts import HostFacts, read_facts
from tierscope.domain.knobs import advise
from tierscope.domain.knobs.gather import gather
from tierscope.domain.knobs.levels import Samples
from tierscope.domain.knobs.machine import SubtractedMemory, list_subtracted
from tierscope.domain.ledger import (
    COLUMNS,
    Bounded,
    Ledger,
    Plan,
    Trust,
    Verdict,
    bound_moves,
    build_ledger,
    plan_service,
    steady_intervals,
)
from tierscope.domain.ledger.course import Held, follow
from tierscope.domain.ledger.flows import list_resets
from tierscope.domain.ledger.machine import read_machine
from tierscope.storage.counters.snapshot_trees import Snapshots, read_snapshots
from tierscope.usecases.knobs.answers import Basis, GivenView, view_given


@dataclass(frozen=True, slots=True)
class Total:
    """One column of the ledger over the recording: the sum of a flow, or the median of a gauge, as `reading` says.

    `steady` is the same over the steady part, which is what the verdict is judged on. None where not supported.
    """

    key: str
    label: str
    unit: str
    reading: str
    value: float | None
    steady: float | None
    observed_seconds: float
    trust: Trust
    counters: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Reset:
    """An interval whose differences were left out or span a gap."""

    at_s: float
    cause: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MovesAnalysis:
    """What a snapshot tree says of its host; `churn` None where promotions or demotions are not counted."""

    snapshots: int
    start_s: float | None
    end_s: float | None
    interval_seconds: float
    kernel_release: str | None
    facts: HostFacts
    dialect: str
    variant: str
    limit_events: int | None
    steady_intervals: int
    totals: tuple[Total, ...]
    resets: tuple[Reset, ...]
    churn: Bounded | None
    verdict: Verdict
    states: tuple[Held, ...]
    settings: GivenView
    subtracted: tuple[SubtractedMemory, ...]
    problems: tuple[str, ...]


def analyze_snapshots(agent: Path, path: Path) -> MovesAnalysis:
    """Read a snapshot tree with the agent's program, build the host's ledger and judge it.

    Raises:
        Unprocessable: the path is no snapshot tree.
        ConfigurationError: the agent's program cannot be run, or is of another version.
    """
    try:
        read = read_snapshots(agent, path)
    except ValueError as error:
        raise Unprocessable(
            str(error),
            next_step="Give a directory or an archive with proc or sys in it, or of several named by their Unix time.",
        ) from error
    except RuntimeError as error:
        raise ConfigurationError(str(error), next_step="Run `make agent`, or install a release.") from error
    return analyze_read(read)


def analyze_read(read: Snapshots) -> MovesAnalysis:
    """Build the ledger of what was read, and judge it."""
    machine, facts = read_machine(read.inventory, read.problems), read_facts(read.inventory)
    plan = machine.plan(read.keys)
    ledger = _ledger(read, plan)
    limit_events = _count_limit_events(read, facts)
    context = replace(machine.context(limit_events), slow_file_share=_slow_file_share(read, facts))
    course = follow(ledger, lambda _: context)
    steady = steady_intervals(ledger)
    return MovesAnalysis(
        snapshots=len(read.times_s),
        start_s=float(read.times_s[0]) if len(read.times_s) else None,
        end_s=float(read.times_s[-1]) if len(read.times_s) else None,
        interval_seconds=nominal_step(read.times_s),
        kernel_release=read.inventory.get("kernel_release") or None,
        facts=facts,
        dialect=plan.dialect,
        variant=plan.variant,
        limit_events=limit_events,
        steady_intervals=int(steady.sum()),
        totals=tuple(_totals(ledger, plan, steady)),
        resets=tuple(Reset(at, cause, tuple(columns)) for at, cause, columns in list_resets(ledger)),
        churn=bound_moves(
            ledger, dram_bytes=machine.top_bytes, page_bytes=machine.page_bytes, huge_pages=machine.huge_pages
        ),
        verdict=course.verdict,
        states=course.held,
        settings=doubt_figures(_advise(read, ledger, course.verdict, limit_events, int(steady.sum())), machine.doubts),
        subtracted=list_subtracted(read.inventory),
        problems=read.problems,
    )


def _ledger(read: Snapshots, plan: Plan) -> Ledger:
    return build_ledger(read.times_s, read.boots, read.values, read.present, plan)


def _advise(read: Snapshots, ledger: Ledger, verdict: Verdict, limit_events: int | None, intervals: int) -> GivenView:
    """What the rules say of the host's settings, on counters alone: a snapshot tree has no heat."""
    samples = Samples(read.times_s, read.boots, read.keys, read.values, read.present)
    before = read.first_inventory
    facts = gather(read.inventory, samples, ledger, verdict, limit_events=limit_events, before=before)
    return view_given(advise(facts), Basis(None, intervals))


def _count_limit_events(read: Snapshots, facts: HostFacts) -> int | None:
    """How often limits of memory were reached: the kernel counts up the tree, so the uppermost groups have it all."""
    scopes = {key.partition("|")[0] for key in read.keys if key.startswith("cgroup:/")}
    uppermost = sorted(scope for scope in scopes if scope != "cgroup:/" and scope.count("/") == 1)
    return _ledger(read, plan_service(read.keys, uppermost, facts.machine.tiers)).total("limit_events")


def _slow_file_share(read: Snapshots, facts: HostFacts) -> float | None:
    """Share of file cache in the pages on the LRU lists of slower nodes, by the medians of their sums."""
    sums = {}
    for kind in ("anon", "file"):
        names = {f"nr_active_{kind}", f"nr_inactive_{kind}"}
        places = [place for place, key in enumerate(read.keys) if _on_slow_node(key, names, facts)]
        if not places:
            return None
        whole = read.values[:, places].sum(axis=1)[read.present[:, places].all(axis=1)]
        sums[kind] = float(np.median(whole)) if len(whole) else 0.0
    resident = sum(sums.values())
    return sums["file"] / resident if resident else None


def _on_slow_node(key: str, names: set[str], facts: HostFacts) -> bool:
    scope, _, rest = key.partition("|")
    source, _, name = rest.partition("|")
    node = scope.removeprefix("node:")
    slow = facts.machine.tiers.known and node.isdigit() and int(node) not in facts.machine.tiers.top_nodes
    return slow and source == "vmstat" and name in names


def _totals(ledger: Ledger, plan: Plan, steady: np.ndarray) -> list[Total]:
    found = []
    for column, planned in zip(COLUMNS, plan.columns, strict=True):
        values = ledger.column(column.key)
        found.append(
            Total(
                key=column.key,
                label=column.label,
                unit=column.unit,
                reading="median" if column.gauge else "sum",
                value=_over(values, gauge=column.gauge),
                steady=_over(values[steady], gauge=column.gauge),
                observed_seconds=ledger.seconds(column.key),
                trust=planned.trust,
                counters=planned.counters,
                note=planned.note,
            )
        )
    return found


def _over(values: np.ndarray, *, gauge: bool) -> float | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    return float(np.median(known)) if gauge else float(known.sum())
