"""`tierscope capacity`: what a service holds, how it grows, and when its memory runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.capacity.views import CapacityForecast, CapacitySubject

METRICS = ("resident", "hot", "dram_need")
MOST_DAYS = 400


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(capacity)


def capacity(
    service: Annotated[str, typer.Option(help="Service id, or namespace/name.")],
    metric: Annotated[str, typer.Option(help="What is forecast: resident, hot or dram_need.")] = "resident",
    horizon_days: Annotated[int, typer.Option(help="Days ahead; no more than there are behind.")] = 90,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/capacity-json.md).")] = False,
) -> None:
    """Show a service's memory and forecast it, or say what is missing."""
    if metric not in METRICS or not 1 <= horizon_days <= MOST_DAYS:
        fail(
            f"the metric is one of {', '.join(METRICS)}, and 1 to {MOST_DAYS} days can be asked for",
            next_step="see `tierscope capacity --help`",
            status=BAD_USAGE,
        )
    subject, forecast = _ask(service, metric, horizon_days, demo=demo)
    if as_json:
        print_json(_document(subject, forecast))
    else:
        typer.echo(_describe(subject, forecast))
    if forecast.refused is not None:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _ask(service: str, metric: str, horizon_days: int, *, demo: bool) -> tuple[CapacitySubject, CapacityForecast]:
    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import service_named
    from tierscope.usecases.capacity.reads import CapacityReads

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        found = service_named(database, service)
        reads = CapacityReads(ReadContext(database, utc_now, settings))
        forecast = reads.forecast("service", found, metric, horizon_days=horizon_days)  # type: ignore[arg-type]
        [subject] = reads.list("service", service=found).subjects
    return subject, forecast


def _document(subject: CapacitySubject, forecast: CapacityForecast) -> Any:  # noqa: ANN401 - JSON
    """Both answers as the API gives them."""
    from pydantic import TypeAdapter

    from tierscope.usecases.capacity.views import CapacityForecast, CapacitySubject

    shown = TypeAdapter(CapacitySubject).dump_python(subject, mode="json")
    ahead = TypeAdapter(CapacityForecast).dump_python(forecast, mode="json")
    return {"subject": shown, "forecast": ahead}


def _describe(subject: CapacitySubject, forecast: CapacityForecast) -> str:
    from tierscope.domain.base.words import bytes_text, days_text, growth_text

    lines = [f"{subject.name} ({subject.origin}), {subject.hosts} hosts, {subject.days} whole days of data"]
    figures = (
        ("capacity", subject.capacity_bytes),
        ("resident", subject.resident_bytes),
        ("hot", subject.hot_bytes),
        ("need of DRAM", subject.dram_need_bytes),
        ("cold", subject.cold_bytes),
        ("not seen active", subject.untouched_bytes),
    )
    for name, figure in figures:
        why = "" if figure.value is not None else f"  ({figure.status.replace('_', ' ')}: {figure.reason})"
        lines.append(f"  {name:16} {bytes_text(figure.value):>10}{why}")
    for change in forecast.changes:
        event = "" if change.event is None else f": {change.event}"
        lines.append(f"  {change.kind.replace('_', ' ')} on {change.at:%Y-%m-%d}{event}")
    if forecast.refused is not None:
        return "\n".join([*lines, f"No forecast of {forecast.metric}: {forecast.refused}"])
    end = forecast.exhaustion
    last = forecast.forecast[-1]
    lines.append(f"Forecast of {forecast.metric} by {forecast.method}:")
    lines.append(f"  growth           {growth_text(forecast.growth_bytes_per_day.value)}")
    lines.append(
        f"  on {last.day}    {bytes_text(last.median)}, 95 % from {bytes_text(last.lo95)} to {bytes_text(last.hi95)}"
    )
    if end.none_within_horizon:
        lines.append(f"  {end.threshold_ratio:.0%} of capacity  none within {end.horizon_days} days")
    else:
        lines.append(f"  {end.threshold_ratio:.0%} of capacity  in {days_text(end.median.value)}")
        lines.append(f"  early warning    in {days_text(end.early.value)}")
    return "\n".join([*lines, *(f"  {note}" for note in forecast.notes)])
