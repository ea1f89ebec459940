"""Teams: who belongs to them, and which services they own."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.access.permissions import OWNER
from tierscope.domain.base.described import ASKED
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.access import teams as stored
from tierscope.storage.access.teams import OwnedKind, TeamRef, TeamRow
from tierscope.usecases.access.tokens import Caller, require_held
from tierscope.usecases.base.context import ClockedUseCase

__all__ = ["OwnedKind", "TeamRef", "TeamRequest", "TeamRow", "Teams"]

MAX_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class TeamRequest:
    """What a team is from now on."""

    __pydantic_config__: ClassVar = ASKED

    name: Annotated[str, Field(min_length=1, max_length=100)]
    members: Annotated[Sequence[str], Field(default=(), max_length=10_000, description="Ids of users.")]
    services: Annotated[
        Sequence[str], Field(default=(), max_length=10_000, description="Ids of services that it owns.")
    ]


class Teams(ClockedUseCase):
    """Teams, and whether their members own something."""

    def of_user(self, user_id: int) -> list[TeamRef]:
        """Returns the teams of a user (internal id) by name."""
        with self._database.read() as session:
            return stored.teams_of_user(session, user_id)

    def list(self) -> list[TeamRow]:
        """Returns all teams by name."""
        with self._database.read() as session:
            return stored.list_teams(session)

    def owns(self, user_id: int, kind: OwnedKind, public_id: str) -> bool:
        """Returns whether a team of the user owns the service that something belongs to."""
        with self._database.read() as session:
            return stored.owns(session, user_id=user_id, kind=kind, public_id=public_id)

    def create(self, change: TeamRequest, *, by: Caller) -> TeamRow:
        """Makes a team.

        Raises:
            Unprocessable: the name is not acceptable, or a user or service is not there.
            Conflict: the name is taken.
            Forbidden: the team would own services, and the caller lacks what owners may.
        """
        name = _name(change.name)
        if change.services:
            require_held(by, OWNER)
        public_id = "g" + secrets.token_hex(8)
        with self._database.write() as transaction:
            team_id = stored.insert_team(transaction, public_id=public_id, name=name)
            if team_id is None:
                raise _taken(name)
            self._fill(transaction, team_id, change)
            self._audit(transaction, by, "team.create", public_id, _detail(name, change))
            return _require(transaction, public_id)

    def update(self, public_id: str, change: TeamRequest, *, by: Caller) -> TeamRow:
        """Gives a team another name, members and services.

        Raises:
            NotFound: there is no such team.
            Unprocessable: the name is not acceptable, or a user or service is not there.
            Conflict: the name is taken.
            Forbidden: somebody would come to own a service, and the caller lacks what owners may.
        """
        name = _name(change.name)
        with self._database.write() as transaction:
            team = _require(transaction, public_id)
            if _hands_out(team, name, change):
                require_held(by, OWNER)
            if not stored.rename_team(transaction, team.id, name):
                raise _taken(name)
            self._fill(transaction, team.id, change)
            self._audit(transaction, by, "team.update", public_id, _detail(name, change))
            return _require(transaction, public_id)

    def delete(self, public_id: str, *, by: Caller) -> None:
        """Removes a team. Its services are owned by nobody then.

        Raises:
            NotFound: there is no such team.
        """
        with self._database.write() as transaction:
            team = _require(transaction, public_id)
            stored.delete_team(transaction, team.id)
            self._audit(transaction, by, "team.delete", public_id, {"name": team.name})

    def set_owner(self, service_id: str, team_id: str | None, *, by: Caller) -> TeamRef | None:
        """Says which team owns a service; None = nobody.

        Raises:
            NotFound: there is no such service or team.
            Forbidden: a team is to own the service, and the caller lacks what owners may.
        """
        if team_id is not None:
            require_held(by, OWNER)
        with self._database.write() as transaction:
            team = None if team_id is None else _require(transaction, team_id)
            if not stored.set_owner(transaction, service_id=service_id, team_id=None if team is None else team.id):
                raise NotFound(
                    f"no service has the id {service_id[:80]!r}", next_step="List services with GET /v1/services."
                )
            detail: dict[str, object] = {"team": None if team is None else team.name}
            self._audit(transaction, by, "service.owner", service_id, detail)
            return stored.read_owner(transaction, service_id)

    def _fill(self, transaction: WriteTransaction, team_id: int, change: TeamRequest) -> None:
        missing = stored.set_members(transaction, team_id, change.members)
        if missing:
            raise Unprocessable(f"no user has the id {', '.join(name[:80] for name in missing[:5])}")
        missing = stored.set_services(transaction, team_id, change.services)
        if missing:
            raise Unprocessable(f"no service has the id {', '.join(name[:80] for name in missing[:5])}")

    def _audit(
        self, transaction: WriteTransaction, by: Caller, action: str, subject: str, detail: dict[str, object]
    ) -> None:
        row = stored_access.AuditRow(self._clock(), by.name, action, subject, detail)
        stored_access.append_audit(transaction, row)


def _hands_out(team: TeamRow, name: str, change: TeamRequest) -> bool:
    """Whether a change makes somebody an owner; another name may, where a provider says who is in which team."""
    if not change.services:
        return False
    more = set(change.services) - set(team.services) or set(change.members) - set(team.members)
    return bool(more) or name != team.name


def _name(text: str) -> str:
    name = text.strip()
    if not 0 < len(name) <= MAX_NAME_LENGTH or any(ord(letter) < ord(" ") for letter in name):
        raise Unprocessable(f"a team has a name of 1 to {MAX_NAME_LENGTH} characters")
    return name


def _taken(name: str) -> Conflict:
    return Conflict(f"the name {name!r} is taken", next_step="Choose another name, or change the team that has it.")


def _detail(name: str, change: TeamRequest) -> dict[str, object]:
    return {"name": name, "members": list(change.members), "services": list(change.services)}


def _require(session: ReadSession, public_id: str) -> TeamRow:
    found = stored.list_teams(session, public_id)
    if not found:
        raise NotFound(f"there is no team {public_id[:80]!r}", next_step="List them with GET /v1/teams.")
    return found[0]
