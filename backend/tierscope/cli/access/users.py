"""`tierscope user`: people who log in here, and links that set their passwords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.access.tokens import Caller
    from tierscope.usecases.access.users import UserRow, Users

app = typer.Typer(help="People who log in here, and links that set their passwords.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
Name = Annotated[str, typer.Argument(help="As `user list` shows it.")]
RoleName = Literal["viewer", "operator", "admin"]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="What is typed to log in; letters, digits and . _ @ + -.")],
    role: Annotated[RoleName, typer.Option(help="What the user may do.")] = "viewer",
    display_name: Annotated[str, typer.Option(help="As people write it.")] = "",
    email: Annotated[str | None, typer.Option(help="Where the user is reached.")] = None,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Make a local user and print a one-time link that sets its password, valid for a day."""
    from tierscope.usecases.access.users import UserRequest

    with _users(demo=demo) as (users, caller):
        user = users.create(UserRequest(name=name, display_name=display_name, email=email, role=role), by=caller)
        address = _password_address(users, user, caller, demo=demo)
    if as_json:
        print_json({**_document(user), "password_link": address})
    else:
        typer.echo(address)


@app.command("list")
def list_users(demo: Demo = False, as_json: AsJson = False) -> None:
    """List users by name."""
    with _users(demo=demo) as (users, _):
        rows = users.list()
    if as_json:
        print_json([_document(row) for row in rows])
        return
    for row in rows:
        seen = "never" if row.last_login_at is None else f"{row.last_login_at:%Y-%m-%d %H:%M}"
        ended = "  disabled" if row.disabled_at else ""
        typer.echo(f"{row.name:30}  {row.role:8}  {row.source:5}  last login {seen}{ended}")


@app.command()
def role(name: Name, role: Annotated[RoleName, typer.Argument(help="The new role.")], demo: Demo = False) -> None:
    """Give a user another role, from its next request on."""
    with _users(demo=demo) as (users, caller):
        row = _change(users, name, caller, role=role)
    typer.echo(f"{row.name} is {row.role} now.")


@app.command()
def disable(name: Name, demo: Demo = False) -> None:
    """Keep a user out: its sessions end at once, its tokens are refused."""
    with _users(demo=demo) as (users, caller):
        row = _change(users, name, caller, disabled=True)
    typer.echo(f"{row.name} is disabled.")


@app.command()
def enable(name: Name, demo: Demo = False) -> None:
    """Let a disabled user in again; its sessions stay ended, its API tokens revoked."""
    with _users(demo=demo) as (users, caller):
        row = _change(users, name, caller, disabled=False)
    typer.echo(f"{row.name} is enabled.")


@app.command("password-link")
def password_link(name: Name, demo: Demo = False, as_json: AsJson = False) -> None:
    """Print a one-time link that sets a local user's password, valid for a day; links before it are void."""
    with _users(demo=demo) as (users, caller):
        user = users.find_by_name(name)
        address = _password_address(users, user, caller, demo=demo)
    if as_json:
        print_json({"name": user.name, "password_link": address})
    else:
        typer.echo(address)


def _change(
    users: Users, name: str, caller: Caller, *, role: RoleName | None = None, disabled: bool | None = None
) -> UserRow:
    from tierscope.usecases.access.users import UserUpdate

    found = users.find_by_name(name)
    change = UserUpdate(
        display_name=found.display_name,
        email=found.email,
        role=role or found.role,
        disabled=(found.disabled_at is not None) if disabled is None else disabled,
    )
    return users.update(found.public_id, change, by=caller)


def _password_address(users: Users, user: UserRow, caller: Caller, *, demo: bool) -> str:
    from tierscope.cli.access.first_link import dashboard_address

    made = users.password_link(user.public_id, by=caller)
    return f"{dashboard_address(Settings(), demo=demo)}/login/password?link={made.secret}"


def _document(row: UserRow) -> dict[str, object]:
    return {
        "id": row.public_id,
        "name": row.name,
        "display_name": row.display_name,
        "email": row.email,
        "role": row.role,
        "source": row.source,
        "disabled": row.disabled_at is not None,
        "teams": list(row.team_ids),
        "created_at": row.created_at,
        "last_login_at": row.last_login_at,
    }


@contextmanager
def _users(*, demo: bool) -> Iterator[tuple[Users, Caller]]:
    """Yield the users of an instance, and who changes them: whoever has a shell here may do what admins may."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.access.tokens import Caller
    from tierscope.usecases.access.users import Users

    with open_database(Settings(), demo=demo) as database:
        yield Users(database), Caller(kind="session", name=actor(), role="admin")
