"""Tags that narrow lists to some hosts and services."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest
from tierscope.domain.base.described import Described
from tierscope.storage.fleet.tags import Tagged, TagValue, find_tagged, list_tags
from tierscope.usecases.base.context import ContextUseCase


@dataclass(frozen=True, slots=True)
class TagChoices:
    """What lists can be narrowed by."""

    tags: Annotated[
        tuple[TagValue, ...], Described("`service`, `owner` (a team), `kernel`, and every label of a host.")
    ]


class TagReads(ContextUseCase):
    """Reads of tags."""

    def choices(self) -> TagChoices:
        """All tags of hosts in service, by key, the commonest first."""
        with self._context.database.read() as session:
            return TagChoices(tuple(list_tags(session)))


def read_tagged(session: ReadSession, tags: Sequence[str]) -> Tagged | None:
    """The hosts and services of tags as `key=value`; None without tags.

    Raises:
        BadRequest: a tag is not `key=value`.
    """
    wanted: dict[str, list[str]] = {}
    for tag in tags:
        key, equals, value = tag.partition("=")
        if not equals or not key:
            raise BadRequest(f"the tag {tag[:80]!r} is not `key=value`")
        wanted.setdefault(key, []).append(value)
    return find_tagged(session, wanted) if wanted else None
