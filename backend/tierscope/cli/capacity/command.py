"""`tierscope capacity`: what a service holds, how it grows, and when memory runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import NOT_ENOUGH_DATA, print_answer
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from tierscope_client import models

_METRICS = {"resident": "memory in use", "hot": "hot memory", "dram_need": "need of DRAM"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(capacity)


def capacity(
    service: Annotated[str, typer.Option(help="Service id, or namespace/name.")],
    metric: Annotated[Literal["resident", "hot", "dram_need"], typer.Option(help="What is forecast.")] = "resident",
    horizon_days: Annotated[int, typer.Option(min=1, max=400, help="Days ahead; no more than there are behind.")] = 90,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Show a service's memory and forecast it, or say what is missing."""
    from tierscope.cli.base.service import open_service, service_id

    with open_service(demo=demo) as client:
        found = service_id(client, service)
        forecast = client.read_forecast(kind="service", id=found, metric=metric, horizon_days=horizon_days)
        [subject] = client.list_capacity(service=found)["subjects"]
    print_answer({"subject": subject, "forecast": forecast}, _describe(subject, forecast), as_json=as_json)
    if forecast["refused"] is not None:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _describe(subject: models.CapacitySubject, forecast: models.CapacityForecast) -> str:
    from tierscope.domain.base.words import bytes_text, days_text, growth_text

    lines = [f"{subject['name']} ({subject['origin']}), {subject['hosts']} hosts, {subject['days']} whole days of data"]
    figures = (
        ("capacity", subject["capacity_bytes"]),
        ("resident", subject["resident_bytes"]),
        ("in use", subject["in_use_bytes"]),
        ("hot", subject["hot_bytes"]),
        ("need of DRAM", subject["dram_need_bytes"]),
        ("cold", subject["cold_bytes"]),
        ("not seen active", subject["untouched_bytes"]),
    )
    for name, figure in figures:
        absent = figure["value"] is None
        why = f"  ({figure['status'].replace('_', ' ')}: {figure['reason']})" if absent else ""
        lines.append(f"  {name:16} {bytes_text(figure['value']):>10}{why}")
    for change in forecast["changes"]:
        event = "" if change["event"] is None else f": {change['event']}"
        lines.append(f"  {change['kind'].replace('_', ' ')} on {change['at'][:10]}{event}")
    if forecast["refused"] is not None:
        return "\n".join([*lines, f"No forecast of {_METRICS[forecast['metric']]}: {forecast['refused']}"])
    end, last = forecast["exhaustion"], forecast["forecast"][-1]
    low, high = bytes_text(last["lo95"]), bytes_text(last["hi95"])
    lines.append(f"Forecast of {_METRICS[forecast['metric']]} by {forecast['method']}:")
    lines.append(f"  growth           {growth_text(forecast['growth_bytes_per_day']['value'])}")
    lines.append(f"  on {last['day']}    {bytes_text(last['median'])}, 95 % from {low} to {high}")
    if end["none_within_horizon"]:
        lines.append(f"  {end['threshold_ratio']:.0%} of capacity  none within {end['horizon_days']} days")
    else:
        lines.append(f"  {end['threshold_ratio']:.0%} of capacity  in {days_text(end['median']['value'])}")
        lines.append(f"  early warning    in {days_text(end['early']['value'])}")
    return "\n".join([*lines, *(f"  {note}" for note in forecast["notes"])])
