"""`tierscope experiments`: start, look at and end comparisons of canary hosts with control hosts."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_answer, rows_text
from tierscope.cli.base.options import AsJson, Demo
from tierscope.core.clock import utc_now

if TYPE_CHECKING:
    from tierscope_client import models

app = typer.Typer(help="Compare canary hosts with control hosts, before and after a change.", no_args_is_help=True)

State = Literal["planned", "running", "ended"]
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
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        page = client.list_experiments(service=service, state=state, limit=limit)
    print_answer(page, rows_text(page["items"], _line, none="There are no experiments."), as_json=as_json)


@app.command()
def show(
    experiment: Annotated[str, typer.Argument(help="Experiment id.")], demo: Demo = False, as_json: AsJson = False
) -> None:
    """Show one experiment: the effect so far, or the answer at its end."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        print_answer(client.read_experiment(experiment), _describe, as_json=as_json)


@app.command()
def plan(
    service: Service,
    metric: Annotated[str, typer.Option(help="Metric that decides.")] = "throughput_per_s",
    effect: Annotated[float, typer.Option(min=1e-6, max=10, help="Relative effect to find.")] = _MARGIN,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Say how many hosts an effect needs, from the last seven days. Exit status 3 where the data cannot tell."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        view = client.plan_experiment(service=service, metric=metric, effect_ratio=effect)
    print_answer(view, _describe_plan, as_json=as_json)
    if view["hosts_per_arm_needed"] is None:
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
    from tierscope.cli.base.service import open_service
    from tierscope.usecases.base.windows import parse_instant

    now = utc_now()
    at = now if change_at is None else parse_instant(change_at, now=now)
    before = at - timedelta(days=7) if before_from is None else parse_instant(before_from, now=now)
    body: models.ExperimentRequest = {
        "name": name,
        "service_id": service,
        "advice_id": advice,
        "hypothesis": hypothesis,
        "metrics": [_metric(text) for text in metric],
        "canary": canary or [],
        "control": control or [],
        "auto": None if canary_n is None else {"canary_n": canary_n, "seed": seed},
        "before_from": before.isoformat(),
        "change_at": at.isoformat(),
        "settling_seconds": settling_minutes * 60,
        "planned_end": parse_instant(planned_end, now=now).isoformat(),
    }
    with open_service(demo=demo) as client:
        print_answer(client.create_experiment(body), _describe_started, as_json=as_json)


@app.command()
def end(
    experiment: Annotated[str, typer.Argument(help="Experiment id.")], demo: Demo = False, as_json: AsJson = False
) -> None:
    """End an experiment now and freeze its answer."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        print_answer(client.end_experiment(experiment), _describe, as_json=as_json)


def _metric(text: str) -> models.MetricRequest:
    key, colon, margin = text.rpartition(":")
    if not colon:
        return {"metric": text, "margin_ratio": _MARGIN}
    try:
        return {"metric": key, "margin_ratio": float(margin)}
    except ValueError:
        # Keys of counters have colons of their own: service:demo/cache|metrics|load_milli.
        if "|" in margin:
            return {"metric": text, "margin_ratio": _MARGIN}
        fail(f"'{margin}' is no margin", next_step="write for example throughput_per_s:0.05", status=BAD_USAGE)


def _line(item: models.ExperimentItem) -> str:
    verdict = (item["verdict"] or item["state"]).replace("_", " ")
    return f"{item['id']:18}  {verdict:14}  {item['n_canary']:4} / {item['n_control']:<4}  {item['name']}"


def _describe(view: models.Experiment) -> str:
    lines = [f"{view['id']}  {view['name']}  ({view['service_name']}, {view['state']})"]
    lines += [f"  {arm['arm']:8} {len(arm['hosts'])} hosts, {arm['n_with_data']} with data" for arm in view["arms"]]
    for metric in view["metrics"]:
        verdict = (metric["verdict"] or "no verdict yet").replace("_", " ")
        lines += [f"  {metric['label']}: {_effect(metric['effect'])}  {verdict}", f"    {metric['why']}"]
    return "\n".join(lines)


def _describe_started(made: models.StartedExperiment) -> str:
    excluded = (f"left out: {item['name']}: {item['why']}" for item in made["excluded"])
    return "\n".join([_describe(made["experiment"]), *excluded])


def _describe_plan(view: models.ExperimentPlan) -> str:
    if view["hosts_per_arm_needed"] is None:
        return str(view["baseline"]["reason"] or view["spread_ratio"]["reason"])
    effect, least = view["effect_ratio"], view["detectable_effect_ratio"]
    found = "nothing" if least is None else f"{least:.1%}"
    return (
        f"{view['hosts_per_arm_needed']} hosts in each arm find {effect:.1%} of {view['label'].lower()}.\n"
        f"{view['like_hosts']} peer hosts can be drawn; split in half, they detect {found}."
    )


def _effect(figure: models.Figure) -> str:
    if figure["value"] is None:
        return figure["status"].replace("_", " ")
    around = figure["interval"]
    interval = "" if around is None else f" ({around['lo']:+.1%} to {around['hi']:+.1%})"
    return f"{figure['value']:+.1%}{interval}"
