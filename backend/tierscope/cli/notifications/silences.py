"""`tierscope silences`: hold back notifications of alerts for a time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer, rows_text
from tierscope.cli.base.options import AsJson, Demo
from tierscope.core.clock import utc_now

if TYPE_CHECKING:
    from tierscope_client import models

app = typer.Typer(help="Hold back notifications of alerts for a time.", no_args_is_help=True)

Status = Literal["pending", "active", "expired"]
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
    from tierscope.cli.base.service import open_service

    parsed = [_parse(text) for text in matchers]
    ends_at = (utc_now() + timedelta(hours=hours)).isoformat()
    with open_service(demo=demo) as client:
        made = client.create_silence({"matchers": parsed, "ends_at": ends_at, "comment": comment})
    print_answer(made, _line, as_json=as_json)


@app.command("list")
def list_silences(
    status: Annotated[Status | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 100,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """List silences, newest first."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        page = client.list_silences(status=status, limit=limit)
    print_answer(page, rows_text(page["items"], _line, none="There are no silences."), as_json=as_json)


@app.command()
def expire(
    silence: Annotated[str, typer.Argument(help="Silence id.")], demo: Demo = False, as_json: AsJson = False
) -> None:
    """End a silence now: what still fires is told."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        print_answer(client.expire_silence(silence), _line, as_json=as_json)


def _parse(text: str) -> models.LabelMatcher:
    found = _MATCHER.fullmatch(text)
    if found is None:
        fail(f"'{text}' is no matcher", next_step="write for example service=cache or host=~rack7-.*", status=BAD_USAGE)
    return {"name": found[1], "op": found[2], "value": found[3]}  # type: ignore[typeddict-item]  # the expression names them


def _line(silence: models.Silence) -> str:
    matchers = ", ".join(f"{matcher['name']}{matcher['op']}{matcher['value']}" for matcher in silence["matchers"])
    if silence.get("problem") is not None:
        matchers = f"cannot be read, holds back nothing: {silence['problem']}"
    comment = f"  {silence['comment']}" if silence["comment"] else ""
    until = datetime.fromisoformat(silence["ends_at"])
    return f"{silence['id']:18}  {silence['status']:8}  until {until:%Y-%m-%d %H:%M:%S %Z}  {matchers}{comment}"
