"""`tierscope team`: who belongs together, and which services they own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.access.users import find_user
from tierscope.cli.base.exits import fail, print_json
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from tierscope_client import Client, models

app = typer.Typer(help="Teams, their members and the services that they own.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The team's name.")]
Members = Annotated[list[str] | None, typer.Option("--member", help="A user's name; repeatable.")]
Services = Annotated[list[str] | None, typer.Option("--service", help="A service's id; repeatable.")]


@app.command()
def add(name: Name, member: Members = None, service: Services = None, demo: Demo = False) -> None:
    """Make a team."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        members = [find_user(client, one)["id"] for one in member or []]
        row = client.create_team({"name": name, "members": members, "services": service or []})
    typer.echo(f"{row['id']}  {row['name']}")


@app.command("list")
def list_teams(demo: Demo = False, as_json: AsJson = False) -> None:
    """List teams by name."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        rows = client.list_teams()
        names = {user["id"]: user["name"] for user in client.list_users()}
    if as_json:
        print_json(rows)
        return
    for row in rows:
        members = ", ".join(names.get(one, one) for one in row["members"]) or "nobody"
        typer.echo(f"{row['id']}  {row['name']}: {members}; {len(row['services'])} services")


@app.command("set")
def set_team(name: Name, member: Members = None, service: Services = None, demo: Demo = False) -> None:
    """Replace the members of a team, its services, or both: what is not named stays."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        found = _find(client, name)
        members = found["members"] if member is None else [find_user(client, one)["id"] for one in member]
        services = found["services"] if service is None else service
        row = client.update_team(found["id"], {"name": found["name"], "members": members, "services": services})
    typer.echo(f"{row['name']}: {len(row['members'])} members, {len(row['services'])} services")


@app.command()
def remove(name: Name, demo: Demo = False) -> None:
    """Remove a team; its services are owned by nobody then."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        client.delete_team(_find(client, name)["id"])
    typer.echo(f"Removed {name}.")


def _find(client: Client, name: str) -> models.Team:
    found = next((row for row in client.list_teams() if row["name"] == name), None)
    if found is None:
        fail(f"there is no team {name!r}", next_step="list them with `tierscope team list`")
    return found
