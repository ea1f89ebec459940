"""Alerts for lists, timelines and charts: with their history, what mutes them, and the minutes behind them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest, NotFound
from tierscope.domain.alerts.evaluating import measure
from tierscope.domain.alerts.frame import MINUTE_S, Floats, Ints
from tierscope.domain.alerts.rules import CheckedRule
from tierscope.domain.base.figures import Series, TimeAxis, Window, gaps_to_none
from tierscope.domain.base.pages import Page
from tierscope.domain.ledger.doubt import list_doubts
from tierscope.domain.notifications.silences import FiringAlert, Muted, Muting
from tierscope.storage.alerts import rows as stored
from tierscope.storage.alerts.rows import AlertFilter, AlertRow, ChangeRow
from tierscope.storage.alerts.rules import list_rules
from tierscope.storage.base.subjects import newest_inventories
from tierscope.storage.notifications.routes import read_stored_routing
from tierscope.storage.notifications.silences import (
    acknowledgements_of,
    open_alerts,
    silences_in_force,
)
from tierscope.usecases.alerts.answers import (
    Alert,
    AlertDetail,
    AlertMark,
    AlertSpan,
    AlertTimeline,
    Evidence,
    view_alert,
    view_change,
    view_span,
)
from tierscope.usecases.alerts.conditions import find_condition
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import decode_moment, encode_moment
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.fleet.tags import read_tagged

__all__ = ["AlertFilter", "AlertReads"]

MAX_SPANS = 2000
MAX_MARKS = 1000
MOST_DOUBTS = 3
DOUBTED = "The values may be wrong, because a file that they may stand on had a problem:"
_BEFORE = timedelta(hours=1)
_AFTER = timedelta(minutes=30)
_MOST = timedelta(hours=24)


class AlertReads(ContextUseCase):
    """Reads of alerts."""

    def list(self, wanted: AlertFilter, *, limit: int, cursor: str | None, tags: Sequence[str] = ()) -> Page[Alert]:
        """Alerts, newest first.

        Raises:
            BadRequest: the cursor is not one of ours, or a tag not `key=value`.
        """
        before = None if cursor is None else decode_moment(cursor)
        with self._context.database.read() as session:
            wanted = replace(wanted, tagged=read_tagged(session, tags))
            rows = stored.list_alerts(session, wanted, before=before, limit=limit + 1)
            views = self._views(session, rows[:limit])
        more = len(rows) > limit
        last = rows[limit - 1] if more else None
        return Page(views, None if last is None else encode_moment(last.started_at, int(last.id)))

    def show(self, alert_id: str) -> AlertDetail:
        """One alert.

        Raises:
            NotFound: there is no such alert.
        """
        with self._context.database.read() as session:
            row = require_alert(session, alert_id)
            evidence, notes = self._evidence(session, row)
            history = tuple(map(view_change, stored.changes_of(session, [row.id])))
            return AlertDetail(self._views(session, [row])[0], history, evidence, notes)

    def timeline(
        self, wanted: AlertFilter, *, from_: str | None, to: str | None, tags: Sequence[str] = ()
    ) -> AlertTimeline:
        """The stretches of all alerts that were open in a window.

        Raises:
            BadRequest: the window cannot be understood, or a tag is not `key=value`.
        """
        window = parse_window(from_, to, now=self._context.clock(), default=timedelta(days=1))
        with self._context.database.read() as session:
            wanted = replace(wanted, tagged=read_tagged(session, tags))
            rows = stored.alerts_between(session, wanted, window.start, window.end, limit=MAX_SPANS)
            changes = stored.changes_of(session, [row.id for row in rows])
            public = {row.id: row.public_id for row in list_rules(session)}
        by_alert: dict[int, list[ChangeRow]] = {}
        for change in changes:
            by_alert.setdefault(change.alert_id, []).append(change)
        spans = [
            span
            for row in rows
            for span in _stretches(row, public.get(row.rule_id or 0), by_alert.get(row.id, []), window)
        ]
        notes = (f"Only the first {MAX_SPANS} alerts of the window.",) if len(rows) == MAX_SPANS else ()
        return AlertTimeline(window, tuple(spans), notes)

    def marks(
        self, *, host: str | None, service: str | None, from_: str | None, to: str | None
    ) -> tuple[AlertMark, ...]:
        """When alerts of a host, or of a service and its hosts, fired and were resolved in a window.

        Raises:
            BadRequest: neither or both are named, or the window cannot be understood.
        """
        if (host is None) == (service is None):
            raise BadRequest("name a host or a service", next_step="Send `host=` or `service=`.")
        window = parse_window(from_, to, now=self._context.clock())
        wanted = AlertFilter(host=host, service=service)
        with self._context.database.read() as session:
            rows = stored.alerts_between(session, wanted, window.start, window.end, limit=MAX_MARKS)
        found = []
        for row in rows:
            if row.fired_at is None:
                continue
            found.append(AlertMark(row.fired_at, row.resolved_at, row.severity, row.rule_name, row.public_id, "fired"))
            if row.resolved_at is not None and row.resolved_at < window.end:
                resolved = AlertMark(row.resolved_at, None, row.severity, row.rule_name, row.public_id, "resolved")
                found.append(resolved)
        return tuple(sorted(found, key=lambda mark: (mark.at, mark.alert_id, mark.kind)))

    def _views(self, session: ReadSession, rows: Sequence[AlertRow]) -> tuple[Alert, ...]:
        if not rows:
            return ()
        now = self._context.clock()
        public = {row.id: row.public_id for row in list_rules(session)}
        given = acknowledgements_of(session, [row.public_id for row in rows])
        opened = {alert.id: alert for alert in open_alerts(session)}
        firing = [FiringAlert(alert.id, alert.labels) for alert in opened.values() if alert.state == "firing"]
        muting = Muting(now, silences_in_force(session, now), read_stored_routing(session).routing.inhibitions, firing)

        def muted(row: AlertRow) -> Muted:
            alert = opened.get(row.public_id)
            return Muted() if alert is None else muting.judge(alert.id, alert.labels)

        return tuple(
            view_alert(
                row, None if row.rule_id is None else public.get(row.rule_id), given.get(row.public_id), muted(row)
            )
            for row in rows
        )

    def _evidence(self, session: ReadSession, row: AlertRow) -> tuple[Evidence | None, tuple[str, ...]]:
        found = find_condition(session, row)
        if isinstance(found, str):
            return None, (found,)
        now = self._context.clock()
        end = min(now, (row.resolved_at or now) + _AFTER)
        start = max(row.started_at - _BEFORE, end - _MOST)
        frame, count = found.read(session, start, end)
        values = measure(found.checked.condition, frame)[0, -count:]
        bodies = newest_inventories(session, found.subject.host_ids, row.last_seen_at).values()
        notes = tuple(f"{DOUBTED} {doubt}" for doubt in list_doubts(bodies)[:MOST_DOUBTS])
        return _evidence_view(found.checked, Window(start, end), frame.minutes[-count:], values), notes


def require_alert(session: ReadSession, alert_id: str) -> AlertRow:
    """The alert with this public id.

    Raises:
        NotFound: there is none.
    """
    row = stored.find_alert_row(session, alert_id)
    if row is None:
        raise NotFound(f"there is no alert {alert_id[:80]!r}", next_step="List them with GET /v1/alerts.")
    return row


def _evidence_view(checked: CheckedRule, window: Window, minutes: Ints, values: Floats) -> Evidence:
    condition = checked.condition
    times = tuple(float(minute) * MINUTE_S for minute in minutes.tolist())
    series = [Series("value", condition.written_value, condition.unit_name, gaps_to_none(values))]
    if condition.threshold is not None:
        level = tuple(condition.threshold for _ in times)
        series.append(Series("threshold", "Threshold", condition.unit_name, level))
    return Evidence(TimeAxis(window, "1m", float(MINUTE_S), times), tuple(series))


def _stretches(row: AlertRow, rule_id: str | None, changes: Sequence[ChangeRow], window: Window) -> list[AlertSpan]:
    found = []
    for place, change in enumerate(changes):
        state = change.to_state
        if state == "resolved" or state == "ok":  # noqa: PLR1714 - narrows the type
            continue
        to = changes[place + 1].at if place + 1 < len(changes) else None
        if change.at < window.end and (to is None or to > window.start):
            found.append(view_span(row, rule_id, state, change, to))
    return found
