"""`tierscope user`: people who log in, and links that set their passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import fail, print_answer, print_json
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from tierscope_client import Client, models

app = typer.Typer(help="People who log in, and links that set their passwords.", no_args_is_help=True)

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
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        user = client.create_user({"name": name, "display_name": display_name, "email": email, "role": role})
        address = _password_address(client, user)
    print_answer({**user, "password_link": address}, address, as_json=as_json)


@app.command("list")
def list_users(demo: Demo = False, as_json: AsJson = False) -> None:
    """List users by name."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        rows = client.list_users()
    if as_json:
        print_json(rows)
        return
    for row in rows:
        seen = (row["last_login_at"] or "never")[:16].replace("T", " ")
        ended = "  disabled" if row["disabled"] else ""
        typer.echo(f"{row['name']:30}  {row['role']:8}  {row['source']:5}  last login {seen}{ended}")


@app.command()
def role(name: Name, role: Annotated[RoleName, typer.Argument(help="The new role.")], demo: Demo = False) -> None:
    """Give a user another role, from its next request on."""
    row = _change(name, demo=demo, role=role)
    typer.echo(f"{row['name']} is {row['role']} now.")


@app.command()
def disable(name: Name, demo: Demo = False) -> None:
    """Keep a user out: its sessions end at once, its tokens are refused."""
    row = _change(name, demo=demo, disabled=True)
    typer.echo(f"{row['name']} is disabled.")


@app.command()
def enable(name: Name, demo: Demo = False) -> None:
    """Let a disabled user in again; its sessions stay ended, its API tokens revoked."""
    row = _change(name, demo=demo, disabled=False)
    typer.echo(f"{row['name']} is enabled.")


@app.command("password-link")
def password_link(name: Name, demo: Demo = False, as_json: AsJson = False) -> None:
    """Print a one-time link that sets a local user's password, valid for a day; links before it are void."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        user = find_user(client, name)
        address = _password_address(client, user)
    print_answer({"name": user["name"], "password_link": address}, address, as_json=as_json)


def find_user(client: Client, name: str) -> models.User:
    """The user of this name; ends the command where there is none."""
    found = next((row for row in client.list_users() if row["name"] == name.lower()), None)
    if found is None:
        fail(f"there is no user {name!r}", next_step="list them with `tierscope user list`")
    return found


def _change(name: str, *, demo: bool, role: RoleName | None = None, disabled: bool | None = None) -> models.User:
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        found = find_user(client, name)
        change: models.UserUpdate = {
            "display_name": found["display_name"],
            "email": found["email"],
            "role": role or found["role"],
            "disabled": found["disabled"] if disabled is None else disabled,
        }
        return client.update_user(found["id"], change)


def _password_address(client: Client, user: models.User) -> str:
    made = client.create_password_link(user["id"])
    address = client.read_status()["public_url"] or client.address
    return f"{address.rstrip('/')}{made['path']}"
