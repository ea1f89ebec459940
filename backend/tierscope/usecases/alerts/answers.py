"""What reads of alerts answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import NAMES, Described
from tierscope.domain.base.figures import Origin, Series, TimeAxis, Window
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.notifications.silences import Muted
from tierscope.storage.alerts.rows import AlertRow, AlertState, ChangeRow, ChangeState
from tierscope.storage.notifications.silences import Acknowledgement


@dataclass(frozen=True, slots=True)
class AlertSubject:
    """What an alert is about. The id of the fleet is `fleet`, that of simulated hosts `fleet-simulated`."""

    kind: ScopeKind
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert, from when its condition began to hold until it is resolved."""

    id: str
    fingerprint: Annotated[str, Described("Of rule and subject: the same each time it comes.")]
    rule_id: Annotated[str | None, Described("Null where the rule was removed.")]
    rule_name: str
    severity: Severity
    state: AlertState
    subject: AlertSubject
    labels: dict[str, str]
    value: Annotated[float | None, Described("The newest known one.")]
    unit: str
    threshold: float | None
    summary: str
    description: str
    runbook_url: str | None
    started_at: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    last_seen_at: Annotated[datetime, Described("The end of the newest minute that was judged while it held.")]
    origin: Origin
    acknowledged: Acknowledgement | None
    silenced_by: Annotated[tuple[str, ...], Described("Ids of silences.")]
    inhibited_by: Annotated[tuple[str, ...], Described("Ids of alerts.")]


@dataclass(frozen=True, slots=True)
class AlertChange:
    """A change of state, at the end of the minute that made it."""

    at: datetime
    from_state: ChangeState
    to_state: ChangeState
    value: float | None
    summary: str
    reason: Annotated[str, Described("Empty for an ordinary change.")]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The value that the condition looks at, around the alert, and its threshold."""

    axis: TimeAxis
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class AlertDetail:
    """An alert with its history; `evidence` is null where its rule or its subject is gone."""

    alert: Alert
    history: tuple[AlertChange, ...]
    evidence: Evidence | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlertSpan:
    """A stretch of an alert in one state; `to` null while it lasts."""

    __pydantic_config__: ClassVar = NAMES

    alert_id: str
    rule_id: str | None
    rule_name: str
    severity: Severity
    subject: AlertSubject
    origin: Origin
    state: AlertState
    from_: datetime
    to: datetime | None
    value: float | None
    summary: str


@dataclass(frozen=True, slots=True)
class AlertTimeline:
    """All stretches of alerts in a window."""

    window: Window
    spans: tuple[AlertSpan, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlertMark:
    """A mark on a chart: when an alert fired (`to`: until when), or was resolved."""

    at: datetime
    to: datetime | None
    severity: Severity
    rule_name: str
    alert_id: str
    kind: Literal["fired", "resolved"]


def view_alert(row: AlertRow, rule_id: str | None, acknowledged: Acknowledgement | None, muted: Muted) -> Alert:
    """An alert with what people and silences have done about it; `rule_id` is the public one."""
    return copied(
        Alert,
        row,
        id=row.public_id,
        rule_id=rule_id,
        subject=_subject(row),
        acknowledged=acknowledged,
        silenced_by=muted.silenced_by,
        inhibited_by=muted.inhibited_by,
    )


def view_change(row: ChangeRow) -> AlertChange:
    """A change as it is shown with its alert."""
    return AlertChange(row.at, row.from_state, row.to_state, row.value, row.summary, row.reason)


def view_span(
    row: AlertRow, rule_id: str | None, state: AlertState, begun: ChangeRow, to: datetime | None
) -> AlertSpan:
    """The stretch that a change of an alert began."""
    return copied(
        AlertSpan,
        row,
        alert_id=row.public_id,
        rule_id=rule_id,
        subject=_subject(row),
        state=state,
        from_=begun.at,
        to=to,
        value=begun.value,
    )


def _subject(row: AlertRow) -> AlertSubject:
    return AlertSubject(row.subject_kind, row.subject_id, row.subject_name)
