"""Finding what a request names, and cursors of lists."""

import base64
import binascii
import json

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest, NotFound
from tierscope.storage.hosts import HostRow, find_host


def require_host(session: ReadSession, public_id: str) -> HostRow:
    """Return the host with this id.

    Raises:
        NotFound: there is none.
    """
    row = find_host(session, public_id)
    if row is None:
        raise NotFound(f"no host has the id {public_id[:80]!r}", next_step="List hosts with GET /v1/hosts.")
    return row


def encode_cursor(*parts: str | int) -> str:
    """The opaque position behind the last item of a page."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


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
    ):
        raise BadRequest("the cursor is of another list", next_step="Begin again without a cursor.")
    return parts
