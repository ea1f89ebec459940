"""Which counters a request means, and what the catalogue knows of each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.domain._generated.catalogue import METRICS, Metric
from tierscope.domain.counters.monotonic import CounterKind, guess_kind, guess_unit, parse_key

_BY_NAME = {(metric.source, metric.name): metric for metric in METRICS}
_BRACKET = re.compile(r"\[[^\]]*\]$")
_KEY_PARTS, _SOURCE_PARTS = 3, 2


@dataclass(frozen=True, slots=True)
class CounterName:
    """A counter that a host sends, with what the catalogue knows of it."""

    scope: str
    source: str
    name: str
    kind: CounterKind
    unit: str
    help: str | None
    trust: str | None
    in_catalogue: bool


@dataclass(frozen=True, slots=True)
class KnownCounter(CounterName):
    """A counter by its key. `help` and `trust` are None for names that the catalogue does not have."""

    key: str
    rolled_up: bool


def describe_counter(key: str) -> KnownCounter:
    """What is known of a counter, from the catalogue or by the rules of the kernel's files."""
    parsed = parse_key(key)
    metric = find_metric(parsed.source, parsed.name)
    if metric is None:
        return KnownCounter(
            key=key,
            scope=parsed.scope,
            source=parsed.source,
            name=parsed.name,
            kind=guess_kind(parsed),
            unit=guess_unit(parsed),
            help=None,
            trust=None,
            in_catalogue=False,
            rolled_up=False,
        )
    return KnownCounter(
        key=key,
        scope=parsed.scope,
        source=parsed.source,
        name=parsed.name,
        kind="counter" if metric.kind == "counter" else "gauge",
        unit=metric.unit,
        help=metric.help,
        trust=metric.trust or None,
        in_catalogue=True,
        rolled_up=metric.rollup,
    )


def find_metric(source: str, name: str) -> Metric | None:
    """The catalogue's entry of a counter; a name with a node, size or device in brackets has the entry of the name."""
    return _BY_NAME.get((source, name)) or _BY_NAME.get((source, _BRACKET.sub("", name)))


def match_counters(keys: Sequence[str], name: str, *, scope: str | None, source: str | None) -> list[str]:
    """The keys that a name means, in the order to show them.

    `name` is bare, `source|name` or a whole key. Without a scope a name means the host and its nodes, else the zones;
    where vmstat and zoneinfo of a node print the same counter, vmstat's alone is taken.
    """
    parts = name.split("|")
    if len(parts) >= _KEY_PARTS:
        return [name] if name in set(keys) else []
    if len(parts) == _SOURCE_PARTS:
        source, name = parts
    found = []
    for key in keys:
        parsed = parse_key(key)
        wanted = (source is None or parsed.source == source) and (scope is None or parsed.scope == scope)
        if wanted and parsed.name == name:
            found.append(key)
    if scope is None:
        found = _near(found)
    if source is None:
        taken = {parse_key(key).scope for key in found if parse_key(key).source == "vmstat"}
        found = [key for key in found if parse_key(key).source != "zoneinfo" or parse_key(key).scope not in taken]
    return sorted(set(found), key=_order)


def _near(keys: list[str]) -> list[str]:
    """Of keys in all scopes those of the host and nodes, else of zones, else all."""
    for prefixes in (("host|", "node:"), ("zone:",)):
        near = [key for key in keys if key.startswith(prefixes)]
        if near:
            return near
    return keys


def _order(key: str) -> tuple[int, int, int, str]:
    parsed = parse_key(key)
    scopes = ("host", "node", "zone", "service", "cgroup")
    kind, _, rest = parsed.scope.partition(":")
    number = int(rest.partition("/")[0]) if rest.partition("/")[0].isdigit() else 0
    return (parsed.source != "vmstat", scopes.index(kind) if kind in scopes else len(scopes), number, key)
