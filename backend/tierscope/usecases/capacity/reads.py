"""Reads of capacity: figures of all services or host groups, and the forecast of one of them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest, NotFound
from tierscope.domain.base.buckets import day_of
from tierscope.domain.base.figures import Window
from tierscope.domain.capacity.days import MIN_HOURS
from tierscope.domain.capacity.forecast import Forecast, Refused
from tierscope.domain.capacity.need import Advised
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.domain.fleet.peer_hosts import SKU_LABELS
from tierscope.storage.capacity.rows import (
    GroupRow,
    Kind,
    StoredDay,
    count_days,
    days_lacking,
    list_groups,
    newest_days,
    read_advised,
    read_days,
    read_forecasts,
)
from tierscope.storage.fleet.services import list_services
from tierscope.storage.fleet.tags import Tagged
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.capacity.figures import subject_view
from tierscope.usecases.capacity.forecasts import (
    Dated,
    Outlook,
    exhaustion_view,
    forecast_lines,
    growth_figure,
    make_forecast,
    outline,
    reach,
    start_of,
    threshold_of,
    window_of,
)
from tierscope.usecases.capacity.history import SPAN, make_history, read_events
from tierscope.usecases.capacity.hours import DAY
from tierscope.usecases.capacity.subjects import RACK_LABELS
from tierscope.usecases.capacity.views import (
    BacktestScore,
    Capacity,
    CapacityForecast,
    CapacitySubject,
    CapacitySubjectRef,
    Metric,
    Widened,
)
from tierscope.usecases.fleet.tags import read_tagged

FRESH = timedelta(days=8)
MAX_HORIZON_DAYS = 400
NOT_MADE = "No day was gone through yet: a worker does that within minutes of the first hour of data."
PARTIAL_TODAY = "Figures are of the newest day with at least six hours of data; forecasts rest on whole days."


class CapacityReads(ContextUseCase):
    """Capacity of services and host groups."""

    def list(self, group_by: str, *, service: str | None = None, tags: Sequence[str] = ()) -> Capacity:
        """All services, one of them, or all groups of a grouping, by name; tags pick services.

        Raises:
            BadRequest: there is no such grouping, or a tag is not `key=value`.
            NotFound: there is no such service.
        """
        now = self._context.clock()
        kind: Kind = "service" if group_by == "service" else "host_group"
        with self._context.database.read() as session:
            if service is not None:
                require_service(session, service)
            groupings = ("service", *_told_apart(list_groups(session)))
            if group_by not in {*groupings, "sku", "rack"} and not group_by.startswith("label:"):
                raise BadRequest(
                    f"there is no grouping {group_by[:80]!r}", next_step=f"Use one of {', '.join(groupings)}."
                )
            tagged = read_tagged(session, tags)
            refs = _services(session, service, tagged) if kind == "service" else _groups(session, group_by)
            newest = {row.subject: row for row in newest_days(session, kind, now - FRESH)}
            whole = count_days(session, kind, now - SPAN, MIN_HOURS)
            outlooks = {
                subject: Dated(outlook, last_day, now)
                for subject, (last_day, outlook) in read_outlooks(session, kind).items()
            }
            advised = read_advised(session) if kind == "service" else {}
            away = read_hosts_away(session)
            lacking = days_lacking(session)
        subjects = tuple(
            subject_view(ref, newest.get(ref.id), whole.get(ref.id, 0), outlooks.get(ref.id), advised.get(ref.id))
            for ref in refs
            if kind == "service" or ref.id in newest
        )
        notes = (*note_away(away), *note_lacking(newest.values(), lacking), *_notes(newest, subjects))
        return Capacity(_window(newest, now), away, group_by, groupings, subjects, notes)

    def forecast(self, kind: str, subject: str, metric: Metric, *, horizon_days: int) -> CapacityForecast:
        """The forecast of one subject, made now.

        Raises:
            NotFound: there is no such service or group.
        """
        now = self._context.clock()
        today = day_of(now)
        found_kind = cast("Kind", kind)
        with self._context.database.read() as session:
            ref = _require(session, found_kind, subject)
            stored = read_days(session, found_kind, subject, today - SPAN, today)
            events = read_events(session, found_kind, subject, today - SPAN, now)
            advised = read_advised(session).get(subject) if found_kind == "service" else None
            away = note_away(read_hosts_away(session))
            lacking = days_lacking(session)
        history = make_history(stored, metric, advised, events, today=today.date(), lacking=lacking)
        made = make_forecast(history, horizon_days)
        days_ahead = reach(history, horizon_days)
        outlook = outline(made, threshold_of(stored, metric), days_ahead)
        window = window_of(history)
        forecast = made if isinstance(made, Forecast) else None
        return CapacityForecast(
            subject=ref,
            metric=metric,
            unit="bytes",
            window=window or Window(today - DAY, today),
            history=history.days,
            forecast=() if forecast is None or history.last_day is None else forecast_lines(forecast, history.last_day),
            method=None if forecast is None else forecast.method,
            backtest=() if forecast is None else tuple(BacktestScore(name, mase) for name, mase in forecast.scores),
            widened=None if forecast is None or forecast.widened is None else Widened(*forecast.widened),
            changes=history.changes,
            growth_bytes_per_day=growth_figure(outlook, window, NOT_MADE),
            exhaustion=exhaustion_view(
                Dated(outlook, None if history.last_day is None else start_of(history.last_day), now), window, NOT_MADE
            ),
            refused=made.why if isinstance(made, Refused) else None,
            notes=(
                *away,
                *note_lacking(stored, lacking),
                *_forecast_notes(metric, advised, forecast, horizon_days, days_ahead, stored),
            ),
        )


def note_away(away: HostsAway) -> tuple[str, ...]:
    """What days, and what is summed up of them, may lack; nothing where all nodes answer."""
    told = away.tell()
    return () if told is None else (f"{told[:1].upper()}{told[1:]}: days that are made meanwhile lack them.",)


def note_lacking(points: Iterable[StoredDay], lacking: Mapping[datetime, HostsAway]) -> tuple[str, ...]:
    """Which days of these points lack hosts of nodes that were away as they were made."""
    found: dict[tuple[str, ...], list[datetime]] = {}
    for day in sorted({point.ts for point in points} & lacking.keys()):
        found.setdefault(lacking[day].nodes, []).append(day)
    return tuple(_note_days(days, lacking[days[-1]]) for days in found.values())


def _note_days(days: Sequence[datetime], away: HostsAway) -> str:
    first, last = f"{days[0]:%Y-%m-%d}", f"{days[-1]:%Y-%m-%d}"
    when = f"Points of {first}" if len(days) == 1 else f"Points of {len(days)} days from {first} to {last}"
    return (
        f"{when} lack the hosts of {', '.join(away.nodes)} ({away.amount()}), which did not answer as they were made:"
        " they are made again once it does."
    )


def read_outlooks(session: ReadSession, kind: Kind) -> dict[str, tuple[datetime, Outlook]]:
    """The stored forecasts of resident bytes by subject, and the start of the last day of each."""
    rows = read_forecasts(session, kind, "resident")
    return {subject: (row.last_day, Outlook.from_body(row.body)) for subject, row in rows.items()}


def _services(session: ReadSession, only: str | None, tagged: Tagged | None) -> list[CapacitySubjectRef]:
    ids = None if tagged is None else tagged.services
    rows = list_services(session, origin=None, host=None, after=None, limit=None, ids=ids)
    return [
        CapacitySubjectRef("service", row.public_id, f"{row.namespace}/{row.name}", row.origin)
        for row in rows
        if only is None or row.public_id == only
    ]


def _told_apart(rows: Sequence[GroupRow]) -> list[str]:
    """The groupings of host groups; none by a label that racks or machines are named by alone, which is the same."""
    names: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        names.setdefault(row.grouping, set()).add((row.name, row.origin))
    twins = {f"label:{label}": "rack" for label in RACK_LABELS} | {f"label:{label}": "sku" for label in SKU_LABELS}
    return [grouping for grouping in names if names[grouping] != names.get(twins.get(grouping, ""))]


def _groups(session: ReadSession, grouping: str) -> list[CapacitySubjectRef]:
    rows = list_groups(session, grouping=grouping)
    return [CapacitySubjectRef("host_group", row.subject, row.name, row.origin) for row in rows]


def _require(session: ReadSession, kind: Kind, subject: str) -> CapacitySubjectRef:
    if kind == "service":
        row = require_service(session, subject)
        return CapacitySubjectRef("service", row.public_id, f"{row.namespace}/{row.name}", row.origin)
    groups = list_groups(session, subject=subject)
    if not groups:
        raise NotFound(f"there is no host group {subject[:80]!r}", next_step="List them with GET /v1/capacity.")
    return CapacitySubjectRef("host_group", groups[0].subject, groups[0].name, groups[0].origin)


def _window(newest: Mapping[str, StoredDay], now: datetime) -> Window:
    if not newest:
        return Window(now - DAY, now)
    starts = [row.ts for row in newest.values()]
    return Window(min(starts), max(starts) + DAY)


def _notes(newest: Mapping[str, StoredDay], subjects: tuple[CapacitySubject, ...]) -> tuple[str, ...]:
    notes = [PARTIAL_TODAY if newest else NOT_MADE]
    if any(subject.origin != "live" for subject in subjects):
        notes.append("Some subjects are simulated or imported: their figures say nothing of a real fleet.")
    return tuple(notes)


def _forecast_notes(
    metric: Metric,
    advised: Advised | None,
    forecast: Forecast | None,
    asked: int,
    days_ahead: int,
    stored: list[StoredDay],
) -> tuple[str, ...]:
    notes = []
    if metric == "dram_need":
        notes.append(
            "Need of DRAM: hot bytes with 10 % headroom; no ratio advice is stored."
            if advised is None
            else f"Need of DRAM: {advised.dram_ratio:.0%} of resident memory by ratio advice at a loss of"
            f" {advised.loss_target:.0%}, at least the hot bytes with 10 % headroom."
        )
    if forecast is not None and days_ahead < asked:
        notes.append(f"The forecast reaches {days_ahead} days: no further than the days that it rests on reach back.")
    if forecast is not None and forecast.worse_than_naive:
        notes.append("No method did better than repeating the last week, so that is what is shown.")
    if any(not row.day.is_whole for row in stored):
        notes.append(f"Days with fewer than {MIN_HOURS} hours of data are left out.")
    return tuple(notes)
