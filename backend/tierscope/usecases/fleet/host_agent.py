"""The agent of a host as it reports on itself: cost, budget, losses, collectors, and what it is told to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, absent
from tierscope.domain.fleet.sending import send_minutes
from tierscope.domain.heat.rows import SAMPLERS
from tierscope.storage.fleet.hosts import SelfReportRow
from tierscope.usecases.fleet.agent_plans import PauseInfo

_NO_REPORT = "The agent has not reported on itself within the last day."
_NOT_SAID = "This release of the agent does not say."
_NO_SAMPLER = "The back end in use takes no hardware samples."


@dataclass(frozen=True, slots=True)
class CollectorInfo:
    """A collector of the agent: what it sees, costs and needs; on, or off with the reason and what would turn it on."""

    name: str
    active: bool
    reason: str | None
    enable_hint: str | None
    granularity: str | None
    privilege: str | None
    sees: str | None
    cost: str | None
    capabilities: tuple[str, ...]
    cpu_ratio: Figure
    failures: int | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """What the agent costs, how it keeps to its budget, what it lost, and whether it is paused.

    `budget_state`: within | backed_off | stopped, None where it does not say. Counts since the stream began, or in the
    report's window for samples.
    """

    send_minutes: Annotated[int, Described("Minutes that a batch of its holds: its data may be as old.")]
    reported_at: datetime | None
    rss_bytes: Figure
    cpu_ratio: Figure
    budget_state: Annotated[str | None, Described("within | backed_off | stopped; null where it does not say.")]
    budget_reason: str | None
    heat_rung: Annotated[str | None, Described("The heat back end in use; null = none, or it does not say.")]
    guard_paused_intervals: Figure
    samples_taken: Figure
    samples_lost: Figure
    throttles: Figure
    spool_bytes: Figure
    dropped_batches: Figure
    pause: PauseInfo


def view_agent(report: SelfReportRow | None, pause: PauseInfo, *, held_seconds: int) -> AgentInfo:
    """The newest report in figures; without one they say so."""
    return AgentInfo(
        send_minutes=send_minutes(held_seconds),
        reported_at=None if report is None else report.ts,
        rss_bytes=_figure("agent.rss_bytes/1", "bytes", report, None if report is None else report.rss_bytes),
        cpu_ratio=_figure(
            "agent.cpu_ratio/1", "ratio", report, None if report is None else _ratio(report.cpu_ns, report.window_ns)
        ),
        budget_state=None if report is None else report.budget_state,
        budget_reason=None if report is None else report.budget_reason,
        heat_rung=None if report is None else report.heat_rung,
        guard_paused_intervals=_count("guard_paused_intervals", "intervals", report),
        samples_taken=_of_sampler("samples_taken", "samples", report),
        samples_lost=_of_sampler("samples_lost", "samples", report),
        throttles=_of_sampler("throttles", "times", report),
        spool_bytes=_count("spool_bytes", "bytes", report),
        dropped_batches=_count("dropped_batches", "batches", report),
        pause=pause,
    )


def view_collectors(items: Sequence[Mapping[str, Any]], report: SelfReportRow | None) -> tuple[CollectorInfo, ...]:
    """The collectors of an inventory with their cost in the newest report."""
    costs = {str(item.get("name")): item for item in report.collectors} if report else {}
    return tuple(_collector(item, costs.get(str(item.get("name"))), report) for item in items)


def _collector(item: Mapping[str, Any], cost: Mapping[str, Any] | None, report: SelfReportRow | None) -> CollectorInfo:
    definition = "agent.collector_cpu_ratio/1"
    active = bool(item.get("active"))
    ratio = None if cost is None or report is None else _ratio(int(cost.get("cpu_ns") or 0), report.window_ns)
    figure = _figure(definition, "ratio", report, ratio)
    if not active:
        figure = absent(definition, "ratio", "not_collected", "The collector is off.")
    return CollectorInfo(
        name=str(item.get("name", "")),
        active=active,
        reason=item.get("reason") or None,
        enable_hint=item.get("enable_hint") or None,
        granularity=item.get("granularity") or None,
        privilege=item.get("privilege") or None,
        sees=item.get("sees") or None,
        cost=item.get("cost") or None,
        capabilities=tuple(item.get("capabilities") or ()),
        cpu_ratio=figure,
        failures=None if cost is None else int(cost.get("failures") or 0),
        last_error=None if cost is None else str(cost.get("last_error") or "") or None,
    )


def _count(name: str, unit: str, report: SelfReportRow | None) -> Figure:
    value: int | None = None if report is None else getattr(report, name)
    return _figure(f"agent.{name}/1", unit, report, value, missing=_NOT_SAID)


def _of_sampler(name: str, unit: str, report: SelfReportRow | None) -> Figure:
    """A count of a hardware sampler: without one in use there is nothing to count, which is not zero."""
    if report is not None and report.heat_rung is not None and report.heat_rung not in SAMPLERS:
        return absent(f"agent.{name}/1", unit, "not_supported", _NO_SAMPLER)
    return _count(name, unit, report)


def _figure(
    definition: str, unit: str, report: SelfReportRow | None, value: float | None, *, missing: str = _NO_REPORT
) -> Figure:
    if report is None or value is None:
        return absent(definition, unit, "not_collected", _NO_REPORT if report is None else missing)
    return Figure(
        definition, "ok", float(value), unit, method="counters", n_hosts=1, n_intervals=1, grade="good", grounding="L"
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole > 0 else None
