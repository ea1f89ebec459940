"""Receivers, routes and inhibitions as one configuration, and as the document that holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tierscope.domain.notifications.matchers import Labels, Matcher
from tierscope.domain.notifications.receivers import MAX_RECEIVERS, Receiver, check_receiver
from tierscope.domain.notifications.routes import Destination, Route, Timing, check_routes, find_destinations
from tierscope.domain.notifications.silences import Inhibition

Document = Mapping[str, Any]
MAX_INHIBITIONS = 200
MAX_SECONDS = 30 * 86_400.0
_SECONDS = ("group_wait_seconds", "group_interval_seconds", "repeat_interval_seconds")


@dataclass(frozen=True, slots=True)
class Routing:
    """Where alerts are sent. Without routes nothing is sent."""

    receivers: tuple[Receiver, ...] = ()
    routes: tuple[Route, ...] = ()
    inhibitions: tuple[Inhibition, ...] = ()

    def receiver(self, name: str) -> Receiver | None:
        """The receiver of a name."""
        return next((receiver for receiver in self.receivers if receiver.name == name), None)

    def destinations(self, labels: Labels) -> list[Destination]:
        """Where an alert goes. A receiver that keeps alerts alive groups and waits by itself: it is told at once."""
        found = []
        for destination in find_destinations(self.routes, labels):
            receiver = self.receiver(destination.receiver)
            if receiver is not None and receiver.keeps_alive:
                timing = Timing(0.0, 0.0, receiver.resend_seconds)
                found.append(replace(destination, timing=timing))
            else:
                found.append(destination)
        return found


def check_routing(routing: Routing) -> None:
    """Refuses a configuration that cannot be meant.

    Raises:
        ValueError: names the place and what is wrong there.
    """
    if len(routing.receivers) > MAX_RECEIVERS or len(routing.inhibitions) > MAX_INHIBITIONS:
        raise ValueError(f"there are at most {MAX_RECEIVERS} receivers and {MAX_INHIBITIONS} inhibitions")
    names: dict[str, object] = {}
    for at, receiver in enumerate(routing.receivers):
        try:
            check_receiver(receiver)
        except ValueError as error:
            raise ValueError(f"receivers[{at}]: {error}") from error
        if receiver.name in names:
            raise ValueError(f"receivers[{at}]: there are two receivers {receiver.name!r}")
        names[receiver.name] = receiver
    check_routes(routing.routes, names)
    for at, inhibition in enumerate(routing.inhibitions):
        if not inhibition.source_matchers or not inhibition.target_matchers:
            raise ValueError(f"inhibitions[{at}]: source and target need at least one matcher each")


def routing_document(routing: Routing) -> dict[str, Any]:
    """The configuration as JSON holds it."""
    return {
        "receivers": [
            {"name": receiver.name, "kind": receiver.kind, "settings": _plain(receiver.settings)}
            for receiver in routing.receivers
        ],
        "routes": [_route_document(route) for route in routing.routes],
        "inhibitions": [
            {
                "source_matchers": matcher_documents(inhibition.source_matchers),
                "target_matchers": matcher_documents(inhibition.target_matchers),
                "equal": list(inhibition.equal),
            }
            for inhibition in routing.inhibitions
        ],
    }


def read_routing(document: Document) -> Routing:
    """The configuration of a document that `routing_document` made, or one of the same shape.

    Raises:
        ValueError: a matcher or a number of seconds is wrong; BadPattern where it is an expression.
    """
    return Routing(
        receivers=tuple(read_receiver(entry) for entry in document["receivers"]),
        routes=tuple(read_route(entry) for entry in document["routes"]),
        inhibitions=tuple(read_inhibition(entry) for entry in document["inhibitions"]),
    )


def read_receiver(document: Document) -> Receiver:
    """The receiver of a document; what it says is checked by `check_routing`."""
    settings = {
        field: tuple(value) if isinstance(value, list) else value for field, value in document["settings"].items()
    }
    return Receiver(document["name"], document["kind"], settings)


def read_inhibition(document: Document, *, stored: bool = False) -> Inhibition:
    """The inhibition of a document. Raises ValueError for a matcher that is wrong."""
    return Inhibition(
        read_matchers(document["source_matchers"], stored=stored),
        read_matchers(document["target_matchers"], stored=stored),
        tuple(document["equal"]),
    )


def matcher_documents(matchers: Sequence[Matcher]) -> list[dict[str, str]]:
    """Matchers as JSON holds them."""
    return [{"name": matcher.name, "op": matcher.op, "value": matcher.value} for matcher in matchers]


def read_matchers(documents: Sequence[Document], *, stored: bool = False) -> tuple[Matcher, ...]:
    """The matchers of documents; those `stored` are read even where their expression cannot be read any more.

    Raises:
        ValueError: one of them cannot be read.
    """
    return tuple(Matcher(entry["name"], entry["op"], entry["value"], stored=stored) for entry in documents)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {field: list(value) if isinstance(value, tuple) else value for field, value in settings.items()}


def _route_document(route: Route) -> dict[str, Any]:
    return {
        "matchers": matcher_documents(route.matchers),
        "receiver": route.receiver,
        "group_by": None if route.group_by is None else list(route.group_by),
        **{name: getattr(route, name) for name in _SECONDS},
        "continue": route.continue_,
        "routes": [_route_document(inner) for inner in route.routes],
    }


def read_route(document: Document, *, stored: bool = False) -> Route:
    """The route of a document with those within it. Raises ValueError for matchers or seconds that are wrong."""
    seconds = {name: document.get(name) for name in _SECONDS}
    for name, value in seconds.items():
        if value is not None and not 0 <= value <= MAX_SECONDS:
            raise ValueError(f"`{name}` is from 0 to {MAX_SECONDS:.0f}")
    group_by = document.get("group_by")
    return Route(
        matchers=read_matchers(document.get("matchers", ()), stored=stored),
        receiver=document.get("receiver"),
        group_by=None if group_by is None else tuple(group_by),
        continue_=bool(document.get("continue", False)),
        routes=tuple(read_route(inner, stored=stored) for inner in document.get("routes", ())),
        **seconds,
    )
