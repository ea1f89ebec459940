"""`tierscope experiments`: start, look at and end comparisons of canary hosts with control hosts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_json
from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.domain.base.figures import Figure
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.experiments.views import Experiment
    from tierscope.usecases.experiments.writes import MetricRequest

app = typer.Typer(help="Compare canary hosts with control hosts, before and after a change.", no_args_is_help=True)

State = Literal["planned", "running", "ended"]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, as the API gives it.")]
Service = Annotated[str, typer.Option("--service", help="Service id.")]
_MARGIN = 0.05


@app.command("list")
def list_experiments(
    service: Annotated[str | None, typer.Option(help="Only of this service id.")] = None,
    state: Annotated[State | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 100,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """List experiments, newest first."""
    from tierscope.usecases.experiments.reads import ExperimentReads

    with _context(demo=demo) as context:
        page = ExperimentReads(context).list(service=service, state=state, limit=limit, cursor=None)
    if as_json:
        print_json(_document(page))
        return
    if not page.items:
        typer.echo("There are no experiments.")
    for item in page.items:
        verdict = (item.verdict or item.state).replace("_", " ")
        typer.echo(f"{item.id:18}  {verdict:14}  {item.n_canary:4} / {item.n_control:<4}  {item.name}")


@app.command()
def show(
    experiment: Annotated[str, typer.Argument(help="Experiment id.")], demo: Demo = False, as_json: AsJson = False
) -> None:
    """Show one experiment: the effect so far, or the answer at its end."""
    from tierscope.usecases.experiments.reads import ExperimentReads

    with _context(demo=demo) as context:
        view = ExperimentReads(context).show(experiment, max_points=500)
    _print(view, as_json=as_json)


@app.command()
def plan(
    service: Service,
    metric: Annotated[str, typer.Option(help="Metric that decides.")] = "throughput_per_s",
    effect: Annotated[float, typer.Option(min=1e-6, max=10, help="Relative effect to find.")] = _MARGIN,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Say how many hosts an effect needs, from the last seven days. Exit status 3 where the data cannot tell."""
    from tierscope.usecases.experiments.reads import ExperimentReads

    with _context(demo=demo) as context:
        view = ExperimentReads(context).plan(service, metric=metric, effect_ratio=effect, from_=None, to=None)
    if as_json:
        print_json(_document(view))
    elif view.hosts_per_arm_needed is None:
        typer.echo(view.baseline.reason or view.spread_ratio.reason)
    else:
        typer.echo(f"{view.hosts_per_arm_needed} hosts in each arm find {effect:.1%} of {view.label.lower()}.")
        found = _share(view.detectable_effect_ratio)
        typer.echo(f"{view.like_hosts} peer hosts can be drawn; split in half, they detect {found}.")
    if view.hosts_per_arm_needed is None:
        raise typer.Exit(NOT_ENOUGH_DATA)


@app.command()
def start(
    name: Annotated[str, typer.Argument(help="What is tried.")],
    *,
    service: Service,
    metric: Annotated[list[str], typer.Option(help="METRIC[:MARGIN], repeatable; the first one decides.")],
    planned_end: Annotated[str, typer.Option(help="ISO time with zone.")],
    change_at: Annotated[str | None, typer.Option(help="ISO time with zone, or -1h; absent = now.")] = None,
    before_from: Annotated[str | None, typer.Option(help="ISO time; absent = seven days before the change.")] = None,
    canary: Annotated[list[str] | None, typer.Option(help="Host id, repeatable.")] = None,
    control: Annotated[list[str] | None, typer.Option(help="Host id, repeatable.")] = None,
    canary_n: Annotated[int | None, typer.Option(min=1, help="Draw so many canary hosts at random.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the draw.")] = None,
    settling_minutes: Annotated[int, typer.Option(min=0, help="Left out after the change.")] = 30,
    advice: Annotated[str | None, typer.Option(help="Id of the advice that is tried.")] = None,
    hypothesis: Annotated[str, typer.Option(help="What is expected, and why.")] = "",
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Register an experiment and mark its change. Making the change itself stays with you."""
    from tierscope.cli.base.database import actor
    from tierscope.usecases.base.windows import parse_instant
    from tierscope.usecases.experiments.writes import ExperimentWrites, NewExperiment

    now = utc_now()
    at = now if change_at is None else parse_instant(change_at, now=now)
    new = NewExperiment(
        name=name,
        service_id=service,
        advice_id=advice,
        hypothesis=hypothesis,
        metrics=tuple(_metric(text) for text in metric),
        canary=tuple(canary or ()),
        control=tuple(control or ()),
        canary_n=canary_n,
        seed=seed,
        before_from=at - timedelta(days=7) if before_from is None else parse_instant(before_from, now=now),
        change_at=at,
        settling_seconds=settling_minutes * 60,
        planned_end=parse_instant(planned_end, now=now),
    )
    with _context(demo=demo) as context:
        made = ExperimentWrites(context.database, clock=context.clock).create(new, actor=actor())
    if as_json:
        print_json(_document(made))
        return
    _print(made.experiment, as_json=False)
    for item in made.excluded:
        typer.echo(f"left out: {item.name}: {item.why}")


@app.command()
def end(
    experiment: Annotated[str, typer.Argument(help="Experiment id.")], demo: Demo = False, as_json: AsJson = False
) -> None:
    """End an experiment now and freeze its answer."""
    from tierscope.cli.base.database import actor
    from tierscope.usecases.experiments.writes import ExperimentWrites

    with _context(demo=demo) as context:
        view = ExperimentWrites(context.database, clock=context.clock).end(experiment, actor=actor())
    _print(view, as_json=as_json)


@contextmanager
def _context(*, demo: bool) -> Iterator[ReadContext]:
    from tierscope.cli.base.database import open_fleet
    from tierscope.usecases.base.context import ReadContext

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        yield ReadContext(database, utc_now, settings)


def _metric(text: str) -> MetricRequest:
    from tierscope.usecases.experiments.writes import MetricRequest

    key, colon, margin = text.rpartition(":")
    if not colon:
        return MetricRequest(text, None, _MARGIN)
    try:
        return MetricRequest(key, None, float(margin))
    except ValueError:
        # Keys of counters have colons of their own: service:demo/cache|metrics|load_milli.
        if "|" in margin:
            return MetricRequest(text, None, _MARGIN)
        fail(f"'{margin}' is no margin", next_step="write for example throughput_per_s:0.05", status=BAD_USAGE)


def _print(view: Experiment, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(view))
        return
    typer.echo(f"{view.id}  {view.name}  ({view.service_name}, {view.state})")
    for arm in view.arms:
        typer.echo(f"  {arm.arm:8} {len(arm.hosts)} hosts, {arm.n_with_data} with data")
    for metric in view.metrics:
        typer.echo(
            f"  {metric.label}: {_effect(metric.effect)}  {(metric.verdict or 'no verdict yet').replace('_', ' ')}"
        )
        typer.echo(f"    {metric.why}")


def _effect(figure: Figure) -> str:
    if figure.value is None:
        return figure.status.replace("_", " ")
    interval = "" if figure.interval is None else f" ({figure.interval.lo:+.1%} to {figure.interval.hi:+.1%})"
    return f"{figure.value:+.1%}{interval}"


def _share(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.1%}"


def _document(view: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    from pydantic import TypeAdapter

    return TypeAdapter(cast("Any", type(view))).dump_python(view, mode="json")
