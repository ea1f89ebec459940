"""What a report holds: capacity with the forecasts that matter most, open advice, and alerts of the last week."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from tierscope.domain.reports.charts import Chart, ChartDay, draw_forecast
from tierscope.usecases.alerts.answers import Alert
from tierscope.usecases.alerts.reads import AlertFilter, AlertReads
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.capacity.reads import CapacityReads
from tierscope.usecases.capacity.views import CapacityForecast, CapacitySubject
from tierscope.usecases.knobs.advice import Advice, AdviceCard

Section = Literal["capacity", "advice", "alerts"]
SECTIONS: tuple[Section, ...] = ("capacity", "advice", "alerts")
PERIOD = timedelta(days=7)
MAX_SUBJECTS = 40
MAX_CHARTS = 6
MAX_CARDS = 25
MAX_ALERTS = 40
CHART_DAYS = 60
"""Days of history in a chart; older ones are in the dashboard."""
WIDTH, HEIGHT = 560.0, 150.0


@dataclass(frozen=True, slots=True)
class Outlined:
    """A forecast with its chart."""

    view: CapacityForecast
    chart: Chart


@dataclass(frozen=True, slots=True)
class CapacityPart:
    """Services and host groups, the ones that run out first at the top; how many are not listed."""

    services: tuple[CapacitySubject, ...]
    groups: tuple[CapacitySubject, ...]
    more_services: int
    more_groups: int
    charts: tuple[Outlined, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlertPart:
    """Alerts that are open, and those that were resolved within the period."""

    open: tuple[Alert, ...]
    resolved: tuple[Alert, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class AdvicePart:
    """Open advice, the most at stake first."""

    cards: tuple[AdviceCard, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class ReportContent:
    """A whole report; parts that were not asked for are None."""

    name: str
    made_at: datetime
    since: datetime
    simulated: bool
    capacity: CapacityPart | None
    advice: AdvicePart | None
    alerts: AlertPart | None


def gather_report(context: ReadContext, name: str, sections: Sequence[Section]) -> ReportContent:
    """Read all parts that are asked for, as they are now."""
    now = context.clock()
    capacity = _capacity(CapacityReads(context)) if "capacity" in sections else None
    advice = _advice(Advice(context.database, clock=context.clock)) if "advice" in sections else None
    alerts = _alerts(AlertReads(context), now - PERIOD) if "alerts" in sections else None
    return ReportContent(name, now, now - PERIOD, _simulated(capacity, advice, alerts), capacity, advice, alerts)


def urgency(subject: CapacitySubject) -> tuple[float, float, float, str]:
    """Sorts what runs out first to the front: by early warning, median, then the share in use."""
    end = subject.days_to_exhaustion
    used, whole = subject.in_use_bytes.value, subject.capacity_bytes.value
    share = used / whole if used is not None and whole else 0.0
    return (_or_never(end.early.value), _or_never(end.median.value), -share, subject.name)


def _capacity(reads: CapacityReads) -> CapacityPart:
    listed = reads.list("service")
    groups = reads.list("sku")
    services = sorted((one for one in listed.subjects if one.resident_bytes.value is not None), key=urgency)
    machines = sorted(groups.subjects, key=urgency)
    wanted = sorted((one for one in [*machines, *services] if one.method is not None), key=urgency)[:MAX_CHARTS]
    charts = []
    for subject in wanted:
        view = reads.forecast(
            subject.kind, subject.id, "resident", horizon_days=subject.days_to_exhaustion.horizon_days
        )
        chart = chart_of(view)
        if chart is not None and view.forecast:
            charts.append(Outlined(view, chart))
    return CapacityPart(
        tuple(services[:MAX_SUBJECTS]),
        tuple(machines[:MAX_SUBJECTS]),
        max(len(services) - MAX_SUBJECTS, 0),
        max(len(machines) - MAX_SUBJECTS, 0),
        tuple(charts),
        listed.notes,
    )


def chart_of(view: CapacityForecast) -> Chart | None:
    """History and forecast of one subject."""
    days = [ChartDay(day.day, day.value, day.excluded is not None) for day in view.history[-CHART_DAYS:]]
    days += [
        ChartDay(day.day, None, False, day.median, (day.lo80, day.hi80), (day.lo95, day.hi95))  # noqa: FBT003 - a field
        for day in view.forecast
    ]
    return draw_forecast(days, view.exhaustion.threshold_bytes, width=WIDTH, height=HEIGHT)


def _advice(reads: Advice) -> AdvicePart:
    page = reads.list(kind=None, status="open", service=None, host=None, limit=MAX_CARDS, cursor=None)
    return AdvicePart(page.items, page.next_cursor is not None)


def _alerts(reads: AlertReads, since: datetime) -> AlertPart:
    firing = reads.list(AlertFilter(state="firing"), limit=MAX_ALERTS, cursor=None)
    pending = reads.list(AlertFilter(state="pending"), limit=MAX_ALERTS, cursor=None)
    resolved = reads.list(AlertFilter(state="resolved"), limit=MAX_ALERTS, cursor=None)
    recent = tuple(one for one in resolved.items if one.resolved_at is not None and one.resolved_at >= since)
    more = any(page.next_cursor is not None for page in (firing, pending))
    return AlertPart((*firing.items, *pending.items), recent, more)


def _simulated(capacity: CapacityPart | None, advice: AdvicePart | None, alerts: AlertPart | None) -> bool:
    """Whether anything in it was not measured live."""
    origins = {one.origin for one in (*capacity.services, *capacity.groups)} if capacity else set()
    origins |= {card.origin for card in advice.cards} if advice else set()
    origins |= {one.origin for one in (*alerts.open, *alerts.resolved)} if alerts else set()
    return bool(origins - {"live"})


def _or_never(days: float | None) -> float:
    return float("inf") if days is None else days
