"""`tierscope token`: join tokens for agents, API tokens for programs, login links for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.access.first_link import dashboard_address
from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer, print_json
from tierscope.cli.base.options import AsJson, Demo
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.access.tokens import Access, NewToken

app = typer.Typer(help="Join tokens for agents, API tokens for programs, login links for people.", no_args_is_help=True)


@app.command()
def join(
    uses: Annotated[int, typer.Option(min=1, help="How many hosts it may enrol.")] = 1,
    hours: Annotated[float, typer.Option(min=0.1, max=24 * 30, help="How long it is valid.")] = 24,
    label: Annotated[list[str] | None, typer.Option(help="KEY=VALUE that each host gets; repeatable.")] = None,
    origin: Annotated[
        Literal["live", "import", "simulated"] | None, typer.Option(help="Fix what its hosts' data counts as.")
    ] = None,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Make a token that lets an agent enrol. It is shown once."""
    labels: dict[str, str] = {}
    for pair in label or []:
        key, separator, value = pair.partition("=")
        if not key or not separator:
            fail(f"'{pair}' is not KEY=VALUE", next_step="write for example --label rack=a12", status=BAD_USAGE)
        labels[key] = value
    with _access(demo=demo) as (access, actor):
        made = access.create_join_token(
            uses=uses, lifetime=timedelta(hours=hours), origin=origin, labels=labels, note="cli", actor=actor
        )
    _show(made, as_json=as_json)


@app.command()
def api(
    role: Annotated[Literal["viewer", "operator", "admin"], typer.Option(help="What its holder may do.")] = "viewer",
    days: Annotated[float | None, typer.Option(min=0.01, help="How long it is valid; absent = until revoked.")] = None,
    note: Annotated[str, typer.Option(help="What it is for.")] = "cli",
    scope: Annotated[
        list[str] | None,
        typer.Option(help="A permission, such as write:samples; repeatable. Absent = all of the role."),
    ] = None,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Make an API token. It is shown once."""
    lifetime = None if days is None else timedelta(days=days)
    with _access(demo=demo) as (access, actor):
        made = access.create_api_token(role=role, note=note, lifetime=lifetime, actor=actor, scopes=scope)
    _show(made, as_json=as_json)


@app.command()
def link(
    role: Annotated[Literal["viewer", "operator", "admin"], typer.Option(help="What the session may do.")] = "admin",
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Make a one-time login link, valid for half an hour."""
    settings = Settings()
    with _access(demo=demo) as (access, actor):
        made = access.create_link(role=role, actor=actor)
    address = f"{dashboard_address(settings, demo=demo)}/login?link={made.secret}"
    print_answer({"id": made.id, "url": address, "expires_at": made.expires_at}, address, as_json=as_json)


@app.command("list")
def list_tokens(demo: Demo = False, as_json: AsJson = False) -> None:
    """List tokens without their secrets, newest first."""
    with _access(demo=demo) as (access, _):
        rows = access.list_tokens()
    if as_json:
        fields = (
            "id",
            "kind",
            "role",
            "scopes",
            "user_name",
            "note",
            "uses_left",
            "origin",
            "labels",
            "created_at",
            "expires_at",
        )
        print_json([{field: getattr(row, field) for field in (*fields, "revoked_at")} for row in rows])
        return
    for row in rows:
        ended = " revoked" if row.revoked_at else ""
        typer.echo(f"{row.id}  {row.kind:5}  {row.role or '-':8}  {row.created_at:%Y-%m-%d %H:%M}  {row.note}{ended}")


@app.command()
def revoke(token_id: Annotated[str, typer.Argument(help="As `token list` shows it.")], demo: Demo = False) -> None:
    """Revoke a token at once."""
    with _access(demo=demo) as (access, actor):
        access.revoke_token(token_id, actor=actor)
    typer.echo(f"Revoked {token_id}.")


@contextmanager
def _access(*, demo: bool) -> Iterator[tuple[Access, str]]:
    """Yield the tokens of an instance and the name that goes into the audit trail."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.access.tokens import Access

    with open_database(Settings(), demo=demo) as database:
        yield Access(database), actor()


def _show(made: NewToken, *, as_json: bool) -> None:
    print_answer(
        {"id": made.id, "kind": made.kind, "token": made.secret, "expires_at": made.expires_at},
        made.secret,
        as_json=as_json,
    )
