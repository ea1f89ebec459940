"""The routing tree: from an alert's labels to receivers, with how its notifications are grouped in time.

Routes are tried in order. The first that matches takes the alert; with `continue_` those after it are tried as well.
Inside a route its own routes are tried the same way, and it takes the alert itself where none of them does. What a
route does not say, it has from the route around it. An alert that no route takes is shown and sent to nobody.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tierscope.domain.notifications.matchers import Labels, Matcher, all_match, matchers_text

GROUP_BY_ALL = "..."
"""In `group_by`: every alert is a group of its own."""
MAX_DEPTH = 8
MAX_ROUTES = 500


@dataclass(frozen=True, slots=True)
class Timing:
    """When a group speaks.

    `group_wait_seconds`: from the first change to the first notification, so that what belongs together comes together.
    `group_interval_seconds`: at least so long between notifications about changes. `repeat_interval_seconds`: what is
    still firing is said again after so long.
    """

    group_wait_seconds: float = 30.0
    group_interval_seconds: float = 300.0
    repeat_interval_seconds: float = 14_400.0


@dataclass(frozen=True, slots=True)
class Route:
    """A route as configured; None = as the route around it."""

    matchers: tuple[Matcher, ...] = ()
    receiver: str | None = None
    group_by: tuple[str, ...] | None = None
    group_wait_seconds: float | None = None
    group_interval_seconds: float | None = None
    repeat_interval_seconds: float | None = None
    continue_: bool = False
    routes: tuple["Route", ...] = ()


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an alert goes: `path` names the route by its matchers, so that other routes can change beside it."""

    path: str
    receiver: str
    group_by: tuple[str, ...]
    timing: Timing

    def group_labels(self, labels: Labels) -> dict[str, str]:
        """The labels that the alert shares with its group."""
        if GROUP_BY_ALL in self.group_by:
            return dict(labels)
        return {name: labels[name] for name in self.group_by if name in labels}

    def group_key(self, labels: Labels) -> str:
        """The group's name: the same for the same route, receiver and group labels, for ever."""
        shared = json.dumps(self.group_labels(labels), sort_keys=True, ensure_ascii=False)
        return f"{self.path}:{self.receiver}:{shared}"


ROOT = Destination("", "", ("alertname",), Timing())


def find_destinations(routes: Sequence[Route], labels: Labels) -> list[Destination]:
    """Where an alert with these labels goes; each place once."""
    return list(dict.fromkeys(_descend(routes, ROOT, labels)))


def _descend(routes: Sequence[Route], around: Destination, labels: Labels) -> Iterator[Destination]:
    for route in routes:
        if not all_match(route.matchers, labels):
            continue
        here = _inherit(route, around)
        inner = list(_descend(route.routes, here, labels))
        if inner or here.receiver:
            yield from inner or [here]
        if not route.continue_:
            return


def _inherit(route: Route, around: Destination) -> Destination:
    given = {
        name: value
        for name in ("group_wait_seconds", "group_interval_seconds", "repeat_interval_seconds")
        if (value := getattr(route, name)) is not None
    }
    return Destination(
        path=f"{around.path}/{matchers_text(route.matchers)}",
        receiver=route.receiver or around.receiver,
        group_by=around.group_by if route.group_by is None else route.group_by,
        timing=replace(around.timing, **given),
    )


def check_routes(routes: Sequence[Route], receivers: Mapping[str, object]) -> None:
    """Refuses a tree that cannot be meant.

    Raises:
        ValueError: names the route by its place (`routes[0].routes[2]`) and what is wrong with it.
    """
    count = 0
    waiting: list[tuple[str, Route, bool, int]] = [
        (f"routes[{at}]", route, False, 1) for at, route in enumerate(routes)
    ]
    while waiting:
        place, route, named, depth = waiting.pop()
        count += 1
        if count > MAX_ROUTES or depth > MAX_DEPTH:
            raise ValueError(f"there are at most {MAX_ROUTES} routes, {MAX_DEPTH} deep")
        if route.receiver is not None and route.receiver not in receivers:
            raise ValueError(f"{place}: there is no receiver {route.receiver!r}")
        named = named or route.receiver is not None
        if not named and not route.routes:
            raise ValueError(f"{place}: neither it nor a route around it names a receiver")
        waiting += [(f"{place}.routes[{at}]", inner, named, depth + 1) for at, inner in enumerate(route.routes)]
