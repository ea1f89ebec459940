"""A report as one page of HTML: no script, nothing fetched from anywhere, all names escaped."""

from datetime import UTC, datetime

from jinja2 import Environment, PackageLoader, StrictUndefined

from tierscope.domain.base.words import bytes_text, days_text, growth_text, ratio_text
from tierscope.usecases.reports.content import ReportContent

METHODS = {
    "combined": "several methods by how they erred",
    "line": "straight line",
    "drift": "random walk with drift",
    "holt": "Holt's trend",
    "damped_holt": "damped Holt's trend",
    "seasonal_naive": "last week repeated",
}


def render_html(report: ReportContent) -> str:
    """The page."""
    return _environment().get_template("report.html.j2").render(report=report)


def method_text(method: str | None) -> str:
    """A forecast's method in words, such as `damped Holt's trend with weekly season, relative growth`."""
    if method is None:
        return ""
    log, weekly = method.endswith("_log"), "_weekly" in method
    name = method.removesuffix("_log").removesuffix("_weekly")
    return METHODS.get(name, name) + (" with weekly season" if weekly else "") + (", relative growth" if log else "")


def moment_text(at: datetime) -> str:
    """A time in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tierscope.usecases.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "bytes": bytes_text,
        "growth": growth_text,
        "days": days_text,
        "share": ratio_text,
        "moment": moment_text,
        "method": method_text,
    }
    return environment
