"""Reads of services: the list, and one service in one sentence with its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tierscope.core.errors import NotFound
from tierscope.domain.base.described import NOW, AsOf, Described, now_fields
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.pages import Page
from tierscope.domain.fleet.pods import PodOwner
from tierscope.storage.fleet.events import list_events
from tierscope.storage.fleet.pods import count_pods, owner_of
from tierscope.storage.fleet.services import find_service, hosts_with_service, list_services, read_aliases
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.fleet.headlines import describe_service
from tierscope.usecases.fleet.service_summaries import ServiceSummary, summarise_services
from tierscope.usecases.fleet.tags import read_tagged
from tierscope.usecases.heat.services import read_heat_now

MAX_EVENTS = 200


@dataclass(frozen=True, slots=True)
class Event:
    """A mark on charts: deploy, knob change, reboot."""

    at: datetime
    kind: str
    text: str
    host_id: str | None
    service_id: str | None


@dataclass(frozen=True, slots=True)
class ServiceDetail:
    """One service now in one sentence, its evidence, and the events of the window."""

    summary: Annotated[ServiceSummary, NOW]
    as_of: Annotated[AsOf, Described("What tells of now in place of the window.")]
    headline: Annotated[str, NOW]
    aliases: tuple[str, ...]
    heat_reason: Annotated[str | None, NOW]
    hosts: Annotated[tuple[str, ...], NOW]
    n_pods: Annotated[int, NOW]
    owner: Annotated[
        PodOwner | None,
        Described("Of most of its pods in a Kubernetes cluster; null where none is known.", as_of="now"),
    ]
    events: tuple[Event, ...]


class ServiceReads(ContextUseCase):
    """Reads of services."""

    def list(
        self, *, limit: int, cursor: str | None, origin: Origin | None, host: str | None, tags: Sequence[str] = ()
    ) -> Page[ServiceSummary]:
        """Services by namespace, name, then id; with tags those on hosts that have them.

        Raises:
            BadRequest: the cursor is not one of ours, or a tag not `key=value`.
        """
        now = self._context.clock()
        after = None
        if cursor is not None:
            namespace, name, service_id = decode_cursor(cursor, (str, str, int))
            after = (str(namespace), str(name), int(service_id))
        with self._context.database.read() as session:
            tagged = read_tagged(session, tags)
            ids = None if tagged is None else tagged.services
            rows = list_services(session, origin=origin, host=host, after=after, limit=limit + 1, ids=ids)
            items = summarise_services(session, rows[:limit], read_heat_now(session, now=now), now=now)
        last = rows[limit - 1] if len(rows) > limit else None
        return Page(
            items=tuple(item.summary for item in items),
            next_cursor=None if last is None else encode_cursor(last.namespace, last.name, last.id),
        )

    def detail(self, public_id: str, *, from_: str | None, to: str | None) -> ServiceDetail:
        """One service now, with the events of the window.

        Raises:
            NotFound: there is no such service.
            BadRequest: the window is not understood.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            row = find_service(session, public_id)
            if row is None:
                raise NotFound(
                    f"no service has the id {public_id[:80]!r}", next_step="List services with GET /v1/services."
                )
            hosts = hosts_with_service(session, row.id)
            heats = read_heat_now(session, now=now, service_id=row.id)
            service = summarise_services(session, [row], heats, now=now)[0]
            aliases = read_aliases(session, row.id)
            n_pods, owner = count_pods(session, row.id), owner_of(session, row.id)
            marks = list_events(
                session,
                start=window.start,
                end=window.end,
                service=public_id,
                host=None,
                before=None,
                limit=MAX_EVENTS,
            )
        return ServiceDetail(
            summary=service.summary,
            as_of=now_fields(ServiceDetail, now),
            headline=describe_service(service),
            aliases=tuple(aliases),
            heat_reason=service.heat_reason,
            hosts=tuple(hosts),
            n_pods=n_pods,
            owner=owner,
            events=tuple(
                Event(mark.at, mark.kind, mark.text, mark.host_id, mark.service_id) for mark in reversed(marks)
            ),
        )
