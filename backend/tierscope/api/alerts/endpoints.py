"""Alerts: the list, one with its history, the timeline, and marks for charts."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, Cursor, From, Limit, MaxPoints, Tags, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.domain.base.vocabulary import Severity
from tierscope.usecases.alerts.answers import Alert, AlertDetail, AlertMark, AlertTimeline
from tierscope.usecases.alerts.incident import IncidentReads
from tierscope.usecases.alerts.incident_answers import Incident
from tierscope.usecases.alerts.reads import AlertFilter, AlertReads
from tierscope.usecases.alerts.triage import HostTriage, TriageReads

router = APIRouter(prefix="/v1/alerts", tags=["alerts"], dependencies=[Depends(requires("read:fleet"))])

of_hosts = APIRouter(prefix="/v1/hosts", tags=["hosts"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[AlertReads, Depends(use(lambda held: held.alerts))]
Incidents = Annotated[IncidentReads, Depends(use(lambda held: held.incidents))]
Triages = Annotated[TriageReads, Depends(use(lambda held: held.triages))]
Host = Annotated[str | None, Query(description="Host id.")]
Service = Annotated[str | None, Query(description="Service id: its own alerts and those of its hosts.")]
Rule = Annotated[str | None, Query(description="Rule id.")]
State = Annotated[
    Literal["open", "pending", "firing", "resolved", "no_data"] | None, Query(description="`open` = not resolved.")
]


@router.get("", summary="Alerts, newest first")
@tabular("items")
def list_alerts(
    request: Request,
    reads: Reads,
    state: State = None,
    severity: Severity | None = None,
    host: Host = None,
    service: Service = None,
    rule: Rule = None,
    tags: Tags = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[Page[Alert]]:
    """List alerts."""
    page = reads.list(AlertFilter(state, severity, host, service, rule), limit=limit, cursor=cursor, tags=tags or [])
    return answer(request, Page[Alert], page)


@router.get("/timeline", summary="Stretches of alerts in a window")
@tabular("spans")
def read_timeline(
    request: Request,
    reads: Reads,
    from_: From = None,
    to: To = None,
    severity: Severity | None = None,
    host: Host = None,
    service: Service = None,
    rule: Rule = None,
    tags: Tags = None,
) -> Answer[AlertTimeline]:
    """The stretches of all alerts that were open in the window. Default: one day."""
    view = reads.timeline(AlertFilter(None, severity, host, service, rule), from_=from_, to=to, tags=tags or [])
    return answer(request, AlertTimeline, view)


@router.get("/marks", summary="Marks of alerts for charts")
@tabular()
def read_marks(
    request: Request, reads: Reads, host: Host = None, service: Service = None, from_: From = None, to: To = None
) -> Answer[tuple[AlertMark, ...]]:
    """When alerts of a host, or of a service and its hosts, fired and were resolved."""
    return answer(request, tuple[AlertMark, ...], reads.marks(host=host, service=service, from_=from_, to=to))


@router.get("/{alert_id}", summary="One alert with its history")
@tabular("history", "evidence.series", quick=True)
def read_alert(request: Request, reads: Reads, alert_id: str) -> Answer[AlertDetail]:
    """An alert, every change of its state, and the minutes behind it."""
    return answer(request, AlertDetail, reads.show(alert_id))


@router.get("/{alert_id}/incident", summary="What happened around an alert")
@tabular("rows.series", "ribbon", "events", "hosts", "services")
def read_incident(
    request: Request, incidents: Incidents, alert_id: str, max_points: MaxPoints = 240
) -> Answer[Incident]:
    """Tier moves, free memory, pressure, refaults, throughput and events on one axis; onset, cause, and who is touched.

    The window begins well before the condition held and ends half an hour after the alert, 48 hours at most.
    """
    return answer(request, Incident, incidents.show(alert_id, max_points=max_points))


@of_hosts.get("/{host_id}/triage", summary="Why a host is slow")
@tabular("rows.series", "ribbon", "events")
def read_triage(
    request: Request, triages: Triages, host_id: str, from_: From = None, to: To = None, max_points: MaxPoints = 240
) -> Answer[HostTriage]:
    """Throughput, latency, hot memory outside DRAM, free memory, pressure, tier moves and refaults on one axis."""
    return answer(request, HostTriage, triages.show(host_id, from_=from_, to=to, max_points=max_points))
