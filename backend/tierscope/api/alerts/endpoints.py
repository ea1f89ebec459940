"""Alerts: the list, one with its history, the timeline, and marks for charts."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import ConfigDict, Field

from tierscope.api.alerts.rule_answers import Severity, SubjectKind
from tierscope.api.base.answers import Cursor, From, Limit, To, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format, answer_or_file
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin, Window
from tierscope.usecases.alerts.reads import AlertFilter, AlertReads, AlertView, Evidence, TimelineSpan

AlertState = Literal["pending", "firing", "resolved", "no_data"]


class AlertSubject(Model):
    """What an alert is about. The id of the fleet is `fleet`, that of simulated hosts `fleet-simulated`."""

    kind: SubjectKind
    id: str
    name: str


class AlertAcknowledgement(Model):
    """Who looks after an alert."""

    by: str
    at: datetime
    note: str


class Alert(Model):
    """An alert, from when its condition began to hold until it is resolved."""

    id: str
    fingerprint: str = Field(description="Of rule and subject: the same each time it comes.")
    rule_id: str | None = Field(description="Null where the rule was removed.")
    rule_name: str
    severity: Severity
    state: AlertState
    subject: AlertSubject
    labels: dict[str, str]
    value: float | None = Field(description="The newest known one.")
    unit: str
    threshold: float | None
    summary: str
    description: str
    runbook_url: str | None
    started_at: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    last_seen_at: datetime = Field(description="The end of the newest minute that was judged while it held.")
    origin: Origin
    acknowledged: AlertAcknowledgement | None
    silenced_by: list[str] = Field(description="Ids of silences.")
    inhibited_by: list[str] = Field(description="Ids of alerts.")


class AlertChange(Model):
    """A change of state, at the end of the minute that made it."""

    at: datetime
    from_state: Literal["ok", "pending", "firing", "resolved", "no_data"]
    to_state: Literal["ok", "pending", "firing", "resolved", "no_data"]
    value: float | None
    summary: str
    reason: str = Field(description="Empty for an ordinary change.")


class AlertDetail(Model):
    """An alert with its history."""

    alert: Alert
    history: list[AlertChange]
    evidence: Evidence | None
    notes: list[str]


class AlertSpan(Model):
    """A stretch of an alert in one state; `to` null while it lasts."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    alert_id: str
    rule_id: str | None
    rule_name: str
    severity: Severity
    subject: AlertSubject
    origin: Origin
    state: AlertState
    from_: datetime = Field(validation_alias="from_", serialization_alias="from")
    to: datetime | None
    value: float | None
    summary: str


class AlertTimeline(Model):
    """All stretches of alerts in a window."""

    window: Window
    spans: list[AlertSpan]
    notes: list[str]


class AlertMark(Model):
    """A mark on a chart: when an alert fired (`to`: until when), or was resolved."""

    at: datetime
    to: datetime | None
    severity: Severity
    rule_name: str
    alert_id: str
    kind: Literal["fired", "resolved"]


router = APIRouter(prefix="/v1/alerts", tags=["alerts"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[AlertReads, Depends(use(lambda held: held.alerts))]
Host = Annotated[str | None, Query(description="Host id.")]
Service = Annotated[str | None, Query(description="Service id: its own alerts and those of its hosts.")]
Rule = Annotated[str | None, Query(description="Rule id.")]
State = Annotated[
    Literal["open", "pending", "firing", "resolved", "no_data"] | None, Query(description="`open` = not resolved.")
]


@router.get("", response_model=Page[Alert], responses=FILES, summary="Alerts, newest first")
def list_alerts(
    request: Request,
    reads: Reads,
    state: State = None,
    severity: Severity | None = None,
    host: Host = None,
    service: Service = None,
    rule: Rule = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    format: Format = "json",
) -> Response:
    """List alerts."""
    page = reads.list(AlertFilter(state, severity, host, service, rule), limit=limit, cursor=cursor)
    value = {"items": [_alert(view) for view in page.items], "next_cursor": page.next_cursor}
    return answer_or_file(request, Page[Alert], value, name="alerts", format=format)


@router.get("/timeline", response_model=AlertTimeline, summary="Stretches of alerts in a window")
def read_timeline(
    request: Request,
    reads: Reads,
    from_: From = None,
    to: To = None,
    severity: Severity | None = None,
    host: Host = None,
    service: Service = None,
    rule: Rule = None,
) -> Response:
    """The stretches of all alerts that were open in the window. Default: one day."""
    view = reads.timeline(AlertFilter(None, severity, host, service, rule), from_=from_, to=to)
    spans = [_span(span) for span in view.spans]
    return answer(request, AlertTimeline, {"window": view.window, "spans": spans, "notes": list(view.notes)})


@router.get("/marks", response_model=list[AlertMark], summary="Marks of alerts for charts")
def read_marks(
    request: Request, reads: Reads, host: Host = None, service: Service = None, from_: From = None, to: To = None
) -> Response:
    """When alerts of a host, or of a service and its hosts, fired and were resolved."""
    return answer(request, list[AlertMark], reads.marks(host=host, service=service, from_=from_, to=to))


@router.get("/{alert_id}", response_model=AlertDetail, summary="One alert with its history")
def read_alert(request: Request, reads: Reads, alert_id: str) -> Response:
    """An alert, every change of its state, and the minutes behind it."""
    view = reads.show(alert_id)
    value = {
        "alert": _alert(view.alert),
        "history": [{name: getattr(change, name) for name in AlertChange.model_fields} for change in view.history],
        "evidence": view.evidence,
        "notes": list(view.notes),
    }
    return answer(request, AlertDetail, value)


def _alert(view: AlertView) -> Alert:
    row = view.row
    return Alert.model_validate(
        {name: getattr(row, name) for name in _ROW_FIELDS}
        | {
            "id": row.public_id,
            "rule_id": view.rule_id,
            "subject": _subject(view.row.subject_kind, row.subject_id, row.subject_name),
            "acknowledged": None if view.acknowledged is None else asdict(view.acknowledged),
            "silenced_by": list(view.muted.silenced_by),
            "inhibited_by": list(view.muted.inhibited_by),
        }
    )


_ROW_FIELDS = (
    "fingerprint",
    "rule_name",
    "severity",
    "state",
    "labels",
    "value",
    "unit",
    "threshold",
    "summary",
    "description",
    "runbook_url",
    "started_at",
    "fired_at",
    "resolved_at",
    "last_seen_at",
    "origin",
)


def _subject(kind: str, subject_id: str, name: str) -> dict[str, str]:
    return {"kind": kind, "id": subject_id, "name": name}


def _span(span: TimelineSpan) -> dict[str, object]:
    row = span.row
    return {
        "alert_id": row.public_id,
        "rule_id": span.rule_id,
        "rule_name": row.rule_name,
        "severity": row.severity,
        "subject": _subject(row.subject_kind, row.subject_id, row.subject_name),
        "origin": row.origin,
        "state": span.state,
        "from_": span.from_,
        "to": span.to,
        "value": span.value,
        "summary": row.summary,
    }
