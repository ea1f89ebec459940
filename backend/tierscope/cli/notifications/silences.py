"""`tierscope silences`: hold back notifications of alerts for a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_json
from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.notifications.silences import LabelMatcher, Silence, Silences

app = typer.Typer(help="Hold back notifications of alerts for a time.", no_args_is_help=True)

Status = Literal["pending", "active", "expired"]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, as the API gives it.")]
_MATCHER = re.compile(r"([^=!~]+)(=~|!~|!=|=)(.*)", re.DOTALL)


@app.command()
def add(
    matchers: Annotated[list[str], typer.Argument(help="Such as service=cache, severity!=critical, host=~rack7-.*")],
    hours: Annotated[float, typer.Option(min=0.01, max=8760, help="How long from now.")],
    comment: Annotated[str, typer.Option(help="Why.")] = "",
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Silence alerts that meet all matchers, from now on."""
    from tierscope.cli.base.database import actor
    from tierscope.usecases.notifications.silences import SilenceRequest

    new = SilenceRequest(
        matchers=tuple(_parse(text) for text in matchers), ends_at=utc_now() + timedelta(hours=hours), comment=comment
    )
    with _silences(demo=demo) as silences:
        _print(silences.create(new, actor=actor()), as_json=as_json)


@app.command("list")
def list_silences(
    status: Annotated[Status | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 100,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """List silences, newest first."""
    with _silences(demo=demo) as silences:
        page = silences.list(status=status, limit=limit, cursor=None)
    if as_json:
        print_json(_document(page))
        return
    if not page.items:
        typer.echo("There are no silences.")
    for silence in page.items:
        typer.echo(_line(silence))


@app.command()
def expire(
    silence: Annotated[str, typer.Argument(help="Silence id.")], demo: Demo = False, as_json: AsJson = False
) -> None:
    """End a silence now: what still fires is told."""
    from tierscope.cli.base.database import actor

    with _silences(demo=demo) as silences:
        _print(silences.expire(silence, actor=actor()), as_json=as_json)


@contextmanager
def _silences(*, demo: bool) -> Iterator[Silences]:
    from tierscope.cli.base.database import open_database
    from tierscope.usecases.notifications.silences import Silences

    with open_database(Settings(), demo=demo) as database:
        yield Silences(database)


def _parse(text: str) -> LabelMatcher:
    from tierscope.usecases.notifications.silences import LabelMatcher

    found = _MATCHER.fullmatch(text)
    if found is None:
        fail(f"'{text}' is no matcher", next_step="write for example service=cache or host=~rack7-.*", status=BAD_USAGE)
    return LabelMatcher(name=found[1], op=found[2], value=found[3])  # type: ignore[arg-type]  # the expression names them


def _print(silence: Silence, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(silence))
    else:
        typer.echo(_line(silence))


def _line(silence: Silence) -> str:
    matchers = ", ".join(f"{matcher.name}{matcher.op}{matcher.value}" for matcher in silence.matchers)
    if silence.problem is not None:
        matchers = f"cannot be read, holds back nothing: {silence.problem}"
    comment = f"  {silence.comment}" if silence.comment else ""
    return f"{silence.id:18}  {silence.status:8}  until {silence.ends_at:%Y-%m-%d %H:%M:%S %Z}  {matchers}{comment}"


def _document(view: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    from pydantic import TypeAdapter

    return TypeAdapter(type(view)).dump_python(view, mode="json")
