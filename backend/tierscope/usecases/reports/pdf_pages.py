"""A report drawn as A4 pages of a PDF. Names are escaped, because paragraphs read a markup of their own."""

import io
from collections.abc import Sequence
from html import escape

from reportlab.graphics.shapes import Circle, Drawing, Line, Polygon, PolyLine, String
from reportlab.lib.colors import Color, HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, KeepTogether, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from tierscope.domain.base.words import ABSENT, bytes_text, days_text, growth_text, ratio_text
from tierscope.domain.reports.charts import Chart, Point
from tierscope.usecases.capacity.views import CapacitySubject, Exhaustion
from tierscope.usecases.reports.content import AdvicePart, AlertPart, CapacityPart, ReportContent
from tierscope.usecases.reports.html import method_text, moment_text

INK, QUIET, LINE = HexColor("#1c2430"), HexColor("#5b6673"), HexColor("#d9dee4")
ACCENT, ALERT, TINT = HexColor("#2f6fb0"), HexColor("#b3261e"), HexColor("#f4f6f8")
_FAINT, _FAINTER = Color(0.184, 0.435, 0.690, alpha=0.28), Color(0.184, 0.435, 0.690, alpha=0.14)
_MARGIN = 16 * mm
_WIDTH = A4[0] - 2 * _MARGIN
_LEFT, _BELOW = 58.0, 20.0
_LATIN = "latin-1"

_BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=8.5, leading=11, textColor=INK)
_QUIET = ParagraphStyle("quiet", parent=_BODY, textColor=QUIET, fontSize=8)
_NUMBER = ParagraphStyle("number", parent=_BODY, alignment=TA_RIGHT)
_HEAD = ParagraphStyle("head", parent=_BODY, fontName="Helvetica-Bold", textColor=QUIET, fontSize=7.5, leading=9)
_HEAD_NUMBER = ParagraphStyle("head_number", parent=_HEAD, alignment=TA_RIGHT)
_TITLE = ParagraphStyle("title", parent=_BODY, fontName="Helvetica-Bold", fontSize=17, leading=21)
_H2 = ParagraphStyle(
    "h2", parent=_BODY, fontName="Helvetica-Bold", fontSize=13, leading=16, spaceBefore=14, spaceAfter=5, keepWithNext=1
)
_H3 = ParagraphStyle(
    "h3", parent=_BODY, fontName="Helvetica-Bold", fontSize=10, leading=13, spaceBefore=9, spaceAfter=3, keepWithNext=1
)
_NOTE = ParagraphStyle("note", parent=_BODY, backColor=TINT, borderPadding=5, spaceBefore=8, spaceAfter=8)


def draw_pdf(report: ReportContent) -> bytes:
    """The pages. The same content makes the same bytes."""
    out = io.BytesIO()
    document = SimpleDocTemplate(
        out,
        pagesize=A4,
        leftMargin=_MARGIN,
        rightMargin=_MARGIN,
        topMargin=_MARGIN,
        bottomMargin=_MARGIN,
        title=_safe(report.name),
        author="Tierscope",
        invariant=1,
    )
    story: list[Flowable] = [
        Paragraph(_escape(report.name), _TITLE),
        Paragraph(f"As of {moment_text(report.made_at)}; alerts since {moment_text(report.since)}.", _QUIET),
    ]
    if report.simulated:
        text = "Some of what follows is simulated or imported. It says nothing of a real fleet, and is marked."
        story.append(Paragraph(text, _NOTE))
    if report.capacity is not None:
        story += _capacity(report.capacity)
    if report.advice is not None:
        story += _advice(report.advice)
    if report.alerts is not None:
        story += _alerts(report.alerts)
    document.build(story, onFirstPage=_footer, onLaterPages=_footer)
    return out.getvalue()


def _footer(canvas: Canvas, document: SimpleDocTemplate) -> None:
    canvas.setFont("Helvetica", 7.5)
    canvas.setFillColor(QUIET)
    canvas.drawRightString(A4[0] - _MARGIN, 9 * mm, f"Tierscope, page {document.page}")


def _capacity(part: CapacityPart) -> list[Flowable]:
    story: list[Flowable] = [Paragraph("Capacity", _H2)]
    if not part.services and not part.groups:
        story.append(Paragraph("No daily point of any service or host yet.", _BODY))
    for one in part.charts:
        subject = one.view.subject
        name = f"<b>{_escape(subject.name)}</b>{_origin(subject.origin)}"
        end = _exhaustion(one.view.exhaustion).replace("<br/>", ", ")
        text = f"{name}: memory in use by day, {_escape(method_text(one.view.method))}. Until 90 %: {end}."
        story.append(KeepTogether([Paragraph(text, _BODY), _draw(one.chart), Spacer(1, 6)]))
    if part.charts:
        key = (
            "Line: 95th percentile of each day. Dashed: forecast, with the intervals of 80 % and 95 %."
            " Rings: days that are left out. Dotted: 90 % of the capacity."
        )
        story.append(Paragraph(key, _QUIET))
    if part.groups:
        story += [Paragraph("Hosts by machine", _H3), _subjects(part.groups, hosts=True)]
        story += _more(part.more_groups, "groups")
    if part.services:
        story += [Paragraph("Services", _H3), _subjects(part.services, hosts=False)]
        story += _more(part.more_services, "services")
    return [*story, *(Paragraph(_escape(note), _QUIET) for note in part.notes)]


def _subjects(rows: Sequence[CapacitySubject], *, hosts: bool) -> Table:
    names = ["Machines" if hosts else "Service", "Hosts", "In use", "Of capacity", "DRAM need", "Cold"]
    names += ["Not seen active", *(["Stranded"] if hosts else []), "Growth", "Until 90 %"]
    body = []
    for one in rows:
        numbers = [
            str(one.hosts),
            bytes_text(one.in_use_bytes.value),
            ratio_text(one.in_use_bytes.value, one.capacity_bytes.value),
            bytes_text(one.dram_need_bytes.value),
            bytes_text(one.cold_bytes.value),
            bytes_text(one.untouched_bytes.value),
            *([bytes_text(one.stranded_bytes.value)] if hosts else []),
            growth_text(one.growth_bytes_per_day.value),
            _exhaustion(one.days_to_exhaustion),
        ]
        body.append([f"{_escape(one.name)}{_origin(one.origin)}", *numbers])
    first = 0.20 if hosts else 0.25
    rest = (1.0 - first - 0.06) / (len(names) - 2)
    return _table(names, body, [first, 0.06, *[rest] * (len(names) - 2)], numbers_from=1)


def _exhaustion(end: Exhaustion) -> str:
    early = "" if end.early.value is None else f"early: {days_text(end.early.value)}"
    if end.median.value is not None:
        return f"{days_text(end.median.value)}{'<br/>' if early else ''}{early}"
    if early:
        return early
    return f"none in {end.horizon_days} days" if end.none_within_horizon else "not enough data"


def _advice(part: AdvicePart) -> list[Flowable]:
    story: list[Flowable] = [Paragraph("Advice", _H2)]
    if not part.cards:
        return [*story, Paragraph("No advice is open.", _BODY)]
    rows = [
        [
            f"<b>{_escape(card.title)}</b><br/>{_escape(card.sentence)}",
            f"{_escape(card.subject_name)}{_origin(card.origin)}",
            str(card.hosts or "-"),
            bytes_text(card.stake_bytes),
        ]
        for card in part.cards
    ]
    story.append(_table(["Advice", "For", "Hosts", "At stake"], rows, [0.56, 0.24, 0.07, 0.13], numbers_from=2))
    return story + ([Paragraph("More advice is in the dashboard.", _QUIET)] if part.more else [])


def _alerts(part: AlertPart) -> list[Flowable]:
    story: list[Flowable] = [Paragraph("Alerts", _H2)]
    if not part.open:
        story.append(Paragraph("No alert is open.", _BODY))
    for title, rows, ends in (("Open", part.open, False), ("Resolved in the last seven days", part.resolved, True)):
        if not rows:
            continue
        body = []
        for one in rows:
            at = one.resolved_at if ends else one.started_at
            state = _escape(one.severity) if ends else f"{_escape(one.severity)}, {_escape(one.state)}"
            shown = f'<font color="#b3261e"><b>{state}</b></font>' if one.severity == "critical" else state
            body.append(
                [
                    f"<b>{_escape(one.rule_name)}</b><br/>{_escape(one.summary)}",
                    f"{_escape(one.subject.name)}{_origin(one.origin)}",
                    shown,
                    "-" if at is None else moment_text(at),
                ]
            )
        names = ["Alert", "Subject", "Severity", "Resolved" if ends else "Since"]
        table = _table(names, body, [0.48, 0.2, 0.14, 0.18], numbers_from=len(names))
        story += [Paragraph(title, _H3), table]
    return story + ([Paragraph("More open alerts are in the dashboard.", _QUIET)] if part.more else [])


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], shares: Sequence[float], *, numbers_from: int) -> Table:
    head = [Paragraph(_escape(name), _HEAD if i < numbers_from else _HEAD_NUMBER) for i, name in enumerate(names)]
    body = [
        [Paragraph(_safe(cell), _BODY if i < numbers_from else _NUMBER) for i, cell in enumerate(row)] for row in rows
    ]
    table = Table([head, *body], colWidths=[share * _WIDTH for share in shares], repeatRows=1)
    table.setStyle(
        TableStyle(
            [
                ("LINEBELOW", (0, 0), (-1, -1), 0.5, LINE),
                ("VALIGN", (0, 0), (-1, 0), "BOTTOM"),
                ("VALIGN", (0, 1), (-1, -1), "TOP"),
                ("LEFTPADDING", (0, 0), (-1, -1), 3),
                ("RIGHTPADDING", (0, 0), (-1, -1), 3),
                ("TOPPADDING", (0, 0), (-1, -1), 3),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
            ]
        )
    )
    return table


def _draw(chart: Chart) -> Drawing:
    scale = (_WIDTH - _LEFT - 6) / chart.width
    high = chart.height * scale
    drawing = Drawing(_WIDTH, high + _BELOW + 8)

    def at(point: Point) -> Point:
        return _LEFT + point[0] * scale, _BELOW + high - point[1] * scale

    def flat(points: Sequence[Point]) -> list[float]:
        return [number for point in points for number in at(point)]

    for tick in chart.y_ticks:
        _, y = at((0.0, tick.at))
        drawing.add(Line(_LEFT, y, _LEFT + chart.width * scale, y, strokeColor=LINE, strokeWidth=0.5))
        label = bytes_text(tick.value)
        drawing.add(String(_LEFT - 4, y - 2.5, label, fontSize=7, fillColor=QUIET, textAnchor="end"))
    for tick in chart.x_ticks:
        x, _ = at((tick.at, 0.0))
        anchor = "start" if tick.at == 0 else "middle"
        drawing.add(String(x, _BELOW - 11, tick.label, fontSize=7, fillColor=QUIET, textAnchor=anchor))
    for band, colour in ((chart.band95, _FAINTER), (chart.band80, _FAINT)):
        if band:
            drawing.add(Polygon(flat(band), fillColor=colour, strokeColor=None))
    if chart.threshold is not None:
        (x0, y), (x1, _) = at((0.0, chart.threshold)), at((chart.width, chart.threshold))
        drawing.add(Line(x0, y, x1, y, strokeColor=ALERT, strokeWidth=0.8, strokeDashArray=[1.5, 2]))
    for run in chart.history:
        drawing.add(PolyLine(flat(run), strokeColor=INK, strokeWidth=1.0))
    for point in chart.excluded:
        x, y = at(point)
        drawing.add(Circle(x, y, 1.3, fillColor=None, strokeColor=QUIET, strokeWidth=0.6))
    if chart.median:
        drawing.add(PolyLine(flat(chart.median), strokeColor=ACCENT, strokeWidth=1.2, strokeDashArray=[4, 2]))
    return drawing


def _more(count: int, what: str) -> list[Flowable]:
    return [Paragraph(f"{count} more {what} are in the dashboard.", _QUIET)] if count else []


def _origin(origin: str) -> str:
    return "" if origin == "live" else f' <font color="#5b6673" size="7">({_escape(origin)})</font>'


def _escape(text: str) -> str:
    return escape(_safe(text), quote=False)


def _safe(text: str) -> str:
    """What the fonts of every PDF reader have: other characters become question marks."""
    plain = text.replace(ABSENT, "-").replace("\0", "")
    return plain.encode(_LATIN, "replace").decode(_LATIN)
