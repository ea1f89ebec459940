"""`tierscope team`: who belongs together, and which services they own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import fail, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.access.teams import TeamRow, Teams
    from tierscope.usecases.access.tokens import Caller
    from tierscope.usecases.access.users import Users

app = typer.Typer(help="Teams, their members and the services that they own.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
Name = Annotated[str, typer.Argument(help="The team's name.")]
Members = Annotated[list[str] | None, typer.Option("--member", help="A user's name; repeatable.")]
Services = Annotated[list[str] | None, typer.Option("--service", help="A service's id; repeatable.")]


@app.command()
def add(name: Name, member: Members = None, service: Services = None, demo: Demo = False) -> None:
    """Make a team."""
    from tierscope.usecases.access.teams import TeamRequest

    with _teams(demo=demo) as (teams, users, caller):
        members = [users.find_by_name(one).public_id for one in member or []]
        row = teams.create(TeamRequest(name, members, service or []), by=caller)
    typer.echo(f"{row.public_id}  {row.name}")


@app.command("list")
def list_teams(demo: Demo = False, as_json: AsJson = False) -> None:
    """List teams by name."""
    with _teams(demo=demo) as (teams, users, _):
        rows = teams.list()
        names = {user.public_id: user.name for user in users.list()}
    if as_json:
        fields = ("public_id", "name", "members", "services")
        print_json([{field.removeprefix("public_"): getattr(row, field) for field in fields} for row in rows])
        return
    for row in rows:
        members = ", ".join(names.get(one, one) for one in row.members) or "nobody"
        typer.echo(f"{row.public_id}  {row.name}: {members}; {len(row.services)} services")


@app.command("set")
def set_team(name: Name, member: Members = None, service: Services = None, demo: Demo = False) -> None:
    """Replace the members of a team, its services, or both: what is not named stays."""
    from tierscope.usecases.access.teams import TeamRequest

    with _teams(demo=demo) as (teams, users, caller):
        found = _find(teams, name)
        members = found.members if member is None else [users.find_by_name(one).public_id for one in member]
        services = found.services if service is None else service
        row = teams.update(found.public_id, TeamRequest(found.name, members, services), by=caller)
    typer.echo(f"{row.name}: {len(row.members)} members, {len(row.services)} services")


@app.command()
def remove(name: Name, demo: Demo = False) -> None:
    """Remove a team; its services are owned by nobody then."""
    with _teams(demo=demo) as (teams, _, caller):
        teams.delete(_find(teams, name).public_id, by=caller)
    typer.echo(f"Removed {name}.")


def _find(teams: Teams, name: str) -> TeamRow:
    found = next((row for row in teams.list() if row.name == name), None)
    if found is None:
        fail(f"there is no team {name!r}", next_step="list them with `tierscope team list`")
    return found


@contextmanager
def _teams(*, demo: bool) -> Iterator[tuple[Teams, Users, Caller]]:
    """Yield teams and users of an instance, and who changes them: whoever has a shell here may do what admins may."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.access.teams import Teams
    from tierscope.usecases.access.tokens import Caller
    from tierscope.usecases.access.users import Users

    with open_database(Settings(), demo=demo) as database:
        yield Teams(database), Users(database), Caller(kind="session", name=actor(), role="admin")
