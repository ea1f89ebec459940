"""A stored configuration of routes, read part by part: what cannot be read is quarantined, and the rest is in force."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tierscope.domain.base.stored_documents import WRONG_SHAPE, describe_problem
from tierscope.domain.notifications.content import MAX_ALERTS
from tierscope.domain.notifications.matchers import Matcher
from tierscope.domain.notifications.receivers import Receiver
from tierscope.domain.notifications.routes import Route
from tierscope.domain.notifications.routing import Document, Routing, read_inhibition, read_receiver, read_route
from tierscope.domain.notifications.silences import Inhibition

T = TypeVar("T")


def read_stored(document: Any) -> tuple[Routing, tuple[str, ...]]:  # noqa: ANN401 - whatever the database holds
    """What of a stored configuration can be read, and what is wrong with the rest, by its place.

    A route is quarantined with the routes within it. Matchers whose expression cannot be read any more match nothing.
    """
    if not isinstance(document, dict):
        return Routing(), ("the configuration is no object",)
    reading = _Reading()
    routing = Routing(
        receivers=tuple(reading.each("receivers", document.get("receivers", ()), _receiver)),
        routes=reading.routes("routes", document.get("routes", ())),
        inhibitions=tuple(reading.each("inhibitions", document.get("inhibitions", ()), _inhibition)),
    )
    reading.note_unreadable(routing)
    return routing, tuple(reading.problems)


def unreadable_matchers(matchers: Iterable[Matcher]) -> list[str]:
    """The matchers that cannot match any more, as text."""
    return [str(matcher) for matcher in matchers if not matcher.is_readable]


class _Reading:
    def __init__(self) -> None:
        self.problems: list[str] = []

    def each(self, place: str, entries: Any, read: Callable[[Document], T]) -> list[T]:  # noqa: ANN401 - likewise
        """Those of a list that can be read."""
        if not isinstance(entries, Sequence) or isinstance(entries, str):
            self.problems.append(f"{place}: no list")
            return []
        found = []
        for at, entry in enumerate(entries):
            try:
                found.append(read(entry))
            except WRONG_SHAPE as error:
                self.problems.append(f"{place}[{at}]: {describe_problem(error)}")
        return found

    def routes(self, place: str, entries: Any) -> tuple[Route, ...]:  # noqa: ANN401 - likewise
        """Routes with those within them."""
        numbers = iter(range(len(entries) if isinstance(entries, Sequence) else 0))

        def read(entry: Document) -> Route:
            here = f"{place}[{next(numbers)}]"
            outer = _route({**entry, "routes": ()})
            return replace(outer, routes=self.routes(f"{here}.routes", entry.get("routes", ())))

        return tuple(self.each(place, entries, read))

    def note_unreadable(self, routing: Routing) -> None:
        """Notes the matchers that match nothing."""
        waiting = [(f"routes[{at}]", route) for at, route in enumerate(routing.routes)]
        while waiting:
            place, route = waiting.pop()
            self._note(place, route.matchers)
            waiting += [(f"{place}.routes[{at}]", inner) for at, inner in enumerate(route.routes)]
        for at, inhibition in enumerate(routing.inhibitions):
            self._note(f"inhibitions[{at}]", (*inhibition.source_matchers, *inhibition.target_matchers))

    def _note(self, place: str, matchers: Sequence[Matcher]) -> None:
        self.problems += [f"{place}: {found} can match nothing" for found in unreadable_matchers(matchers)]


def _receiver(document: Document) -> Receiver:
    receiver = read_receiver(document)
    if not _is_name(receiver.name) or receiver.kind not in MAX_ALERTS:
        raise ValueError(f"{str(receiver.kind)[:40]!r} is no kind of receiver, or it has no name")
    return receiver


def _route(document: Document) -> Route:
    route = read_route(document, stored=True)
    if not all(_is_name(name) for name in (route.receiver or "", *(route.group_by or ()))):
        raise ValueError("receiver and group_by are names")
    return route


def _inhibition(document: Document) -> Inhibition:
    inhibition = read_inhibition(document, stored=True)
    if not all(_is_name(name) for name in inhibition.equal):
        raise ValueError("equal holds names")
    return inhibition


def _is_name(value: object) -> bool:
    return isinstance(value, str)
