"""Finding what a request names, and cursors of lists."""

import base64
import binascii
import json
from datetime import datetime
from typing import TypeVar

from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import BadRequest, NotFound
from tierscope.storage.base import subjects
from tierscope.storage.base.subjects import SubjectHost, SubjectService
from tierscope.storage.fleet.hosts import HostRow, find_host

Subject = TypeVar("Subject")


def require_host(session: ReadSession, public_id: str) -> HostRow:
    """Return the host with this id.

    Raises:
        NotFound: there is none.
    """
    row = find_host(session, public_id)
    if row is None:
        raise NotFound(f"no host has the id {public_id[:80]!r}", next_step="List hosts with GET /v1/hosts.")
    return row


def require_subject_host(session: ReadSession, public_id: str) -> SubjectHost:
    """Return the host with this id, by both its ids.

    Raises:
        NotFound: there is none.
    """
    return _known(subjects.find_host(session, public_id), "host", public_id)


def host_named(database: Database, name: str) -> str:
    """The id of a host given by its id or its name; live ones come before recorded ones.

    Raises:
        NotFound: there is none.
    """
    with database.read() as session:
        return _known(subjects.find_host_named(session, name), "host", name).public_id


def service_named(database: Database, name: str) -> str:
    """The id of a service given by its id or by namespace/name; live ones come before recorded ones.

    Raises:
        NotFound: there is none.
    """
    with database.read() as session:
        return _known(subjects.find_service_named(session, name), "service", name).public_id


def require_service(session: ReadSession, public_id: str) -> SubjectService:
    """Return the service with this id.

    Raises:
        NotFound: there is none.
    """
    return _known(subjects.find_service(session, public_id), "service", public_id)


def _known(found: Subject | None, kind: str, name: str) -> Subject:
    if found is None:
        raise NotFound(f"there is no {kind} {name[:80]!r}", next_step=f"List {kind}s with GET /v1/{kind}s.")
    return found


def require_service_hosts(
    session: ReadSession, public_id: str, host: str | None = None
) -> tuple[SubjectService, list[SubjectHost]]:
    """Return the service with the hosts on which it was ever found, or the one host asked for.

    Raises:
        NotFound: there is no such service, or it never ran on that host.
    """
    service = require_service(session, public_id)
    hosts = [found for found in subjects.hosts_of_service(session, service.id) if host in (None, found.public_id)]
    if host is not None and not hosts:
        raise NotFound(f"service {public_id} was never found on host {host}")
    return service, hosts


_MAX_DIGITS = 18
"""What surely fits into 64 bits."""


def parse_number(text: str) -> int | None:
    """The number of a row that a request names in decimal digits; None where it can be none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def encode_cursor(*parts: str | int) -> str:
    """The opaque position behind the last item of a page."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_position(cursor: str) -> int:
    """The id in a cursor, or in a part of one, that is a plain number.

    Raises:
        BadRequest: it is none, or more than an id can be.
    """
    position = parse_number(cursor)
    if position is None:
        raise BadRequest("the cursor is not one of ours", next_step="Begin again without a cursor.")
    return position


def decode_cursor(cursor: str, types: tuple[type, ...]) -> list[str | int]:
    """The parts of a cursor.

    Raises:
        BadRequest: it was not made by `encode_cursor` for such a list.
    """
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error) as error:
        raise BadRequest("the cursor is not one of ours", next_step="Begin again without a cursor.") from error
    if (
        not isinstance(parts, list)
        or len(parts) != len(types)
        or not all(type(part) is kind for part, kind in zip(parts, types, strict=True))
        or any(isinstance(part, int) and abs(part) >= 10**_MAX_DIGITS for part in parts)
    ):
        raise BadRequest("the cursor is of another list", next_step="Begin again without a cursor.")
    return parts


def encode_moment(at: datetime, number: int) -> str:
    """The position behind an item of a list that is ordered by time, then by number."""
    return encode_cursor(at.isoformat(), number)


def decode_moment(cursor: str) -> tuple[datetime, int]:
    """The time, with its zone, and the number in a cursor.

    Raises:
        BadRequest: it was not made by `encode_moment`.
    """
    at, number = decode_cursor(cursor, (str, int))
    try:
        moment = datetime.fromisoformat(str(at))
    except ValueError as error:
        raise BadRequest("the cursor is not one of ours", next_step="Begin again without a cursor.") from error
    if moment.tzinfo is None:
        raise BadRequest("the cursor is not one of ours", next_step="Begin again without a cursor.")
    return moment, int(number)
