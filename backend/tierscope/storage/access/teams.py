"""Teams, their members, and the services that they own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import delete, text, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import services, team_members, teams

OwnedKind = Literal["service", "advice", "experiment", "slowdown_point", "event"]

_SERVICE_OF: dict[OwnedKind, str] = {
    "service": "SELECT id FROM services WHERE public_id = :id",
    "advice": "SELECT service_id FROM advice WHERE public_id = :id",
    "experiment": "SELECT service_id FROM experiments WHERE public_id = :id",
    "slowdown_point": "SELECT service_id FROM slowdown_points WHERE public_id = :id",
    # A mark of a host as well is about more than the service.
    "event": "SELECT service_id FROM events WHERE id::text = :id AND host_id IS NULL",
}


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team; members and services are public ids, by name."""

    id: int
    public_id: str
    name: str
    members: tuple[str, ...]
    services: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeamRef:
    """A team as others mention it; `id` is the public one."""

    id: str
    name: str


def list_teams(session: ReadSession, public_id: str | None = None) -> list[TeamRow]:
    """All teams by name, or the one with this public id."""
    where = "" if public_id is None else " WHERE t.public_id = :id"
    statement = text(
        "SELECT t.id, t.public_id, t.name,"  # noqa: S608 - a condition of our own
        " ARRAY(SELECT u.public_id FROM team_members m JOIN users u ON u.id = m.user_id"
        " WHERE m.team_id = t.id ORDER BY u.name) AS members,"
        " ARRAY(SELECT s.public_id FROM services s WHERE s.owner_team_id = t.id"
        " ORDER BY s.namespace, s.name, s.id) AS services"
        f" FROM teams t{where} ORDER BY t.name"
    )
    values = {} if public_id is None else {"id": public_id}
    return [
        TeamRow(row.id, row.public_id, row.name, tuple(row.members), tuple(row.services))
        for row in session.execute(statement, values)
    ]


def insert_team(transaction: WriteTransaction, *, public_id: str, name: str) -> int | None:
    """Stores a team and returns its internal id; None where the name is taken."""
    statement = text("INSERT INTO teams (public_id, name) VALUES (:id, :name) ON CONFLICT DO NOTHING RETURNING id")
    found: int | None = transaction.execute(statement, {"id": public_id, "name": name}).scalar_one_or_none()
    return found


def rename_team(transaction: WriteTransaction, team_id: int, name: str) -> bool:
    """Gives a team another name; False where it is taken."""
    statement = text(
        "UPDATE teams SET name = :name WHERE id = :id AND NOT EXISTS"
        " (SELECT FROM teams WHERE name = :name AND id <> :id) RETURNING id"
    )
    return transaction.execute(statement, {"id": team_id, "name": name}).one_or_none() is not None


def delete_team(transaction: WriteTransaction, team_id: int) -> None:
    """Removes a team. Its services are owned by nobody then."""
    transaction.execute(delete(teams).where(teams.c.id == team_id))


def set_members(transaction: WriteTransaction, team_id: int, user_ids: Sequence[str]) -> list[str]:
    """Makes these users (public ids) the members; returns the ids that nobody has."""
    transaction.execute(delete(team_members).where(team_members.c.team_id == team_id))
    statement = text(
        "WITH added AS (INSERT INTO team_members (team_id, user_id)"
        " SELECT :team, id FROM users WHERE public_id = ANY(:users) RETURNING user_id)"
        " SELECT u.public_id FROM added JOIN users u ON u.id = added.user_id"
    )
    found = set(transaction.execute(statement, {"team": team_id, "users": list(user_ids)}).scalars())
    return sorted(set(user_ids) - found)


def set_services(transaction: WriteTransaction, team_id: int, service_ids: Sequence[str]) -> list[str]:
    """Makes the team the owner of these services (public ids) alone; returns the ids that no service has."""
    transaction.execute(update(services).where(services.c.owner_team_id == team_id).values(owner_team_id=None))
    statement = text("UPDATE services SET owner_team_id = :team WHERE public_id = ANY(:services) RETURNING public_id")
    found = set(transaction.execute(statement, {"team": team_id, "services": list(service_ids)}).scalars())
    return sorted(set(service_ids) - found)


def set_teams_of_user(transaction: WriteTransaction, user_id: int, names: Sequence[str]) -> None:
    """Makes a user a member of the teams with these names alone; names that no team has are passed over."""
    transaction.execute(delete(team_members).where(team_members.c.user_id == user_id))
    statement = text("INSERT INTO team_members (team_id, user_id) SELECT id, :user FROM teams WHERE name = ANY(:names)")
    transaction.execute(statement, {"user": user_id, "names": list(names)})


def set_owner(transaction: WriteTransaction, *, service_id: str, team_id: int | None) -> bool:
    """Says which team owns a service (public id); False where there is no such service."""
    statement = update(services).where(services.c.public_id == service_id).values(owner_team_id=team_id)
    return transaction.execute(statement.returning(services.c.id)).one_or_none() is not None


def read_owner(session: ReadSession, service_id: str) -> TeamRef | None:
    """The team that owns a service (public id)."""
    statement = text(
        "SELECT t.public_id, t.name FROM services s JOIN teams t ON t.id = s.owner_team_id WHERE s.public_id = :id"
    )
    row = session.execute(statement, {"id": service_id}).one_or_none()
    return None if row is None else TeamRef(row.public_id, row.name)


def owns(session: ReadSession, *, user_id: int, kind: OwnedKind, public_id: str) -> bool:
    """Whether a team of the user owns the service that something belongs to."""
    statement = text(
        "SELECT EXISTS (SELECT FROM services s JOIN team_members m ON m.team_id = s.owner_team_id"  # noqa: S608 - ours
        f" WHERE m.user_id = :user AND s.id = ({_SERVICE_OF[kind]}))"
    )
    return bool(session.execute(statement, {"user": user_id, "id": public_id}).scalar_one())


def teams_of_user(session: ReadSession, user_id: int) -> list[TeamRef]:
    """The teams of a user by name."""
    statement = text(
        "SELECT t.public_id, t.name FROM team_members m JOIN teams t ON t.id = m.team_id"
        " WHERE m.user_id = :user ORDER BY t.name"
    )
    return [TeamRef(row.public_id, row.name) for row in session.execute(statement, {"user": user_id})]
