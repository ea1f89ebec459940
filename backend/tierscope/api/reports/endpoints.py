"""Scheduled reports of capacity, advice and alerts, by mail or to a webhook."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.copying import copied
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.reports.content import SECTIONS, Section
from tierscope.usecases.reports.schedules import (
    DEFAULT_NAME,
    Format,
    NewReport,
    Report,
    ReportDestination,
    ReportRun,
    Reports,
)

Sections = Annotated[list[Section], Field(min_length=1, max_length=3)]


class ReportRequest(Model):
    """A report: either `cron` (five fields) or every so many days at a time of day. All times are UTC."""

    name: str = Field(min_length=1, max_length=120)
    cron: str | None = Field(default=None, max_length=200)
    every_days: int | None = Field(default=None, ge=1, le=366)
    at: str = Field(default="07:00", max_length=5)
    format: Format = "html"
    to: ReportDestination
    sections: Sections = Field(default=list(SECTIONS))


class PreviewRequest(Model):
    """What to show."""

    name: str = Field(default=DEFAULT_NAME, min_length=1, max_length=120)
    sections: Sections = Field(default=list(SECTIONS))


router = APIRouter(prefix="/v1/reports", tags=["reports"])

Schedules = Annotated[Reports, Depends(use(lambda held: held.reports))]
Writer = Annotated[Caller, Depends(requires("write:reports"))]
_WRITE = [Depends(requires("write:reports"))]


@router.get("", dependencies=_WRITE, summary="Scheduled reports")
@tabular(quick=True)
def list_reports(request: Request, reports: Schedules) -> Answer[tuple[Report, ...]]:
    """All reports by name, with their newest sending. Addresses of people are for operators."""
    return answer(request, tuple[Report, ...], reports.list())


@router.post("", status_code=201, summary="Schedule a report")
def create_report(body: ReportRequest, request: Request, reports: Schedules, caller: Writer) -> Answer[Report]:
    """It is sent for the first time when it is due next. A webhook to an internal address is refused."""
    new = copied(NewReport, body, mail=tuple(body.to.mail), webhook=body.to.webhook, sections=tuple(body.sections))
    return answer(request, Report, reports.create(new, actor=caller.name), status_code=201)


@router.delete("/{report_id}", status_code=204, summary="Delete a scheduled report")
def delete_report(report_id: str, reports: Schedules, caller: Writer) -> None:
    """Delete it with the log of its sendings."""
    reports.delete(report_id, actor=caller.name)


@router.get("/{report_id}/runs", dependencies=_WRITE, summary="Sendings of a report")
@tabular("items", quick=True)
def list_report_runs(
    request: Request, reports: Schedules, report_id: str, limit: Limit = 100, cursor: Cursor = None
) -> Answer[Page[ReportRun]]:
    """Newest first: when each was due, who has taken it, and what went wrong."""
    return answer(request, Page[ReportRun], reports.runs(report_id, limit=limit, cursor=cursor))


@router.post(
    "/preview",
    dependencies=[*_WRITE, COSTLY],
    response_class=Response,
    responses={200: {"content": {"text/html": {}, "application/pdf": {}}}},
    summary="The report as it would be sent now",
)
def preview_report(
    body: PreviewRequest, reports: Schedules, format: Annotated[Literal["html", "pdf"], Query()] = "html"
) -> Response:
    """One page of HTML, or a PDF."""
    sections = tuple(body.sections)
    if format == "html":
        return Response(reports.preview_html(body.name, sections), media_type="text/html; charset=utf-8")
    headers = {"Content-Disposition": 'inline; filename="tierscope-report.pdf"'}
    return Response(reports.preview_pdf(body.name, sections), media_type="application/pdf", headers=headers)
