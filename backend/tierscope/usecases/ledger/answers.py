"""The answer of the ledger, and how its columns become figures: totals, rates and the trust in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, Series, TimeAxis, Window, absent
from tierscope.domain.ledger import Column, ColumnPlan, Trust
from tierscope.domain.ledger.columns import ABSENT, SHARES
from tierscope.usecases.ledger.ping_pong import PingPong, StateTime

GROUNDING = "L kernel text of each counter"
WHOLE_HOSTS = "Whole hosts, all their services together: the kernels keep no such counters for this service's cgroups."
_TRUST_ORDER: tuple[Trust, ...] = ("exact", "sampled", "bound", "partial", "not_supported", "not_collected")


@dataclass(frozen=True, slots=True)
class LedgerColumn:
    """A column of the ledger: total and rate over the window, the kernel counters behind it and their trust."""

    key: str
    label: str
    unit: str
    counters: tuple[str, ...]
    trust: Trust
    trust_note: str
    total: Figure
    rate: Figure


@dataclass(frozen=True, slots=True)
class LedgerReset:
    """A stretch that was left out, and why: reboot, wrap, missing counter, gap."""

    at: float
    cause: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServiceState:
    """The verdict on one service of a host: by its own moves and memory, with what its host's counters tell."""

    service_id: str
    service: str
    verdict: str
    explanation: str
    states: tuple[StateTime, ...]
    moves: Annotated[
        tuple[Series, ...],
        Described("Pages promoted and demoted per second in its own cgroups; only what the kernel counts by cgroup."),
    ] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The answer of both routes."""

    subject: str
    origin: Origin
    dialect: str
    window: Window
    axis: TimeAxis
    columns: tuple[LedgerColumn, ...]
    series: tuple[Series, ...]
    resets: tuple[LedgerReset, ...]
    ping_pong: PingPong
    n_hosts: int
    services: Annotated[
        tuple[ServiceState, ...], Described("Of a host: its services, each judged relative to its own memory.")
    ] = ()
    page_bytes: Annotated[
        int | None, Described("Size of the pages that columns in pages count; null where the hosts' sizes differ.")
    ] = None


def shared_size(sizes: Iterable[int | None]) -> int | None:
    """The page size that all hosts have, None where they differ or one does not say."""
    found = set(sizes)
    return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class ColumnSums:
    """One column over the `n_hosts` that have it: intervals, observed seconds, total, and rates added up.

    `newest`: of a gauge the newest values of the hosts, added up.
    """

    n_hosts: int
    n_intervals: int
    seconds: float
    total: float
    per_s: float
    newest: float


@dataclass(frozen=True, slots=True)
class LedgerEvidence:
    """What all figures of one ledger share. `n_hosts` have rows in the window."""

    window: Window
    n_hosts: int
    warnings: tuple[str, ...]
    whole_hosts: bool = False


def view_column(
    column: Column, plans: Sequence[ColumnPlan], sums: ColumnSums | None, evidence: LedgerEvidence
) -> LedgerColumn:
    """A column with its figures; `plans` are those of its hosts."""
    counters, trust, note = trust_of_hosts(plans)
    if evidence.whole_hosts and trust not in ABSENT:
        trust = "bound" if trust in ("exact", "sampled") else trust
        note = f"{WHOLE_HOSTS} {note}".strip()
    total, rate = _numbers(column, sums, evidence, trust, note)
    return LedgerColumn(column.key, column.label, column.unit, counters, trust, note, total, rate)


def trust_of_hosts(plans: Sequence[ColumnPlan]) -> tuple[tuple[str, ...], Trust, str]:
    """The weakest trust of the hosts that have the column at all."""
    having = [plan for plan in plans if plan.trust not in ABSENT]
    if not having:
        # Of several hosts one that may count it says more than those that do not.
        shown = max(plans, key=lambda plan: _TRUST_ORDER.index(plan.trust), default=None)
        if shown is None:
            return (), "not_supported", "No host has sent counters."
        return shown.counters, shown.trust, shown.note
    weakest = max(having, key=lambda plan: _TRUST_ORDER.index(plan.trust))
    counters = tuple(dict.fromkeys(name for plan in having for name in plan.counters))
    if len(having) < len(plans):
        missing = f"{len(plans) - len(having)} of {len(plans)} hosts have no such counter."
        return counters, "partial", f"{weakest.note} {missing}".strip()
    return counters, weakest.trust, weakest.note


def _numbers(
    column: Column, sums: ColumnSums | None, evidence: LedgerEvidence, trust: Trust, note: str
) -> tuple[Figure, Figure]:
    """Total (a gauge: its newest value) and rate over observed seconds, summed over hosts; of shares their mean."""
    window = evidence.window
    name, rate_name = f"tier_moves.{column.key}/1", f"tier_moves.{column.key}_per_s/1"
    rate_unit = f"{column.unit}_per_s"
    if trust in ("not_supported", "not_collected"):
        return (
            absent(name, column.unit, trust, note, window=window, method="counters"),
            absent(rate_name, rate_unit, trust, note, window=window, method="counters"),
        )
    if sums is None:
        reason = "No two samples of one boot in the window to compare."
        return (
            absent(name, column.unit, "not_enough_data", reason, window=window, method="counters"),
            absent(rate_name, rate_unit, "not_enough_data", reason, window=window, method="counters"),
        )

    def figure(definition: str, unit: str, value: float) -> Figure:
        return Figure(
            definition,
            "ok",
            value,
            unit,
            method="counters",
            window=window,
            n_hosts=sums.n_hosts,
            n_intervals=sums.n_intervals,
            coverage=min(1.0, sums.seconds / (evidence.n_hosts * window.seconds)),
            grade="good" if trust == "exact" else "partial",
            grounding=GROUNDING,
            warnings=evidence.warnings,
        )

    if column.gauge:
        reason = "A state, not a flow."
        return (
            figure(name, column.unit, sums.newest),
            absent(rate_name, rate_unit, "not_supported", reason, window=window, method="counters"),
        )
    rate = sums.total / sums.seconds if column.key in SHARES and sums.seconds > 0 else sums.per_s
    return figure(name, column.unit, sums.total), figure(rate_name, rate_unit, rate)
