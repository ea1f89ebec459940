"""A report as PDF."""

from tierscope.usecases.reports.content import ReportContent


def render_pdf(report: ReportContent) -> bytes:
    """The report as a PDF file."""
    # Loaded where one is drawn: it takes half a second, and no process needs it to start.
    from tierscope.usecases.reports.pdf_pages import draw_pdf  # noqa: PLC0415

    return draw_pdf(report)
