"""A request that is sent again with its Idempotency-Key creates nothing: it is answered with the id of the first."""

import hashlib
import json

from tierscope.core.database import WriteTransaction
from tierscope.core.errors import Conflict
from tierscope.storage.fleet.events import remember_answer, remembered_answer


def made_before(transaction: WriteTransaction, *, actor: str, key: str | None, content: object) -> str | None:
    """The id that the same request made earlier; None where it is new, or has no key.

    Raises:
        Conflict: the key was used for other content.
    """
    if key is None:
        return None
    seen = remembered_answer(transaction, actor=actor, key=key, request_hash=_digest(content))
    if seen is None:
        return None
    same, answer = seen
    if not same:
        raise Conflict("this Idempotency-Key was used with other content", next_step="Use a new key.")
    return str(answer["id"])


def note_made(transaction: WriteTransaction, *, actor: str, key: str | None, content: object, made: str) -> None:
    """Keep the id that a request made, where it has a key.

    Raises:
        Conflict: another request with the key is at work.
    """
    if key is not None and not remember_answer(
        transaction, actor=actor, key=key, request_hash=_digest(content), answer={"id": made}
    ):
        raise Conflict("the same Idempotency-Key is being used by another request now")


def _digest(content: object) -> bytes:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).digest()
