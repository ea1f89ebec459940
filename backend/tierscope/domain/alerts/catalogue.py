"""Metrics of the catalogue in conditions: `source.name`, with `{node="1"}` or `{tier="top"}` to pick nodes.

Without a pick a metric is the host's own line, else the sum over its nodes; for services it is the line of the
service's control groups. The stored name of a metric is how a condition writes it.
"""

from collections.abc import Sequence
from functools import lru_cache

from tierscope.domain._generated.catalogue import METRICS, Metric
from tierscope.domain.alerts.tree import Matcher
from tierscope.domain.alerts.units import unit_of
from tierscope.domain.alerts.vocabulary import ScopeKind, Series
from tierscope.domain.counters.monotonic import parse_key

_PICKS = ("node", "tier")
_TIERS = ("top", "slow")
_UNITS = {"us": ("seconds", 1e-6), "ns": ("seconds", 1e-9), "ticks": ("seconds", 1e-2), "kib": ("bytes", 1024.0)}
_NAMES = {"ptes": "entries"}


@lru_cache(maxsize=1)
def _by_dotted() -> dict[str, Metric]:
    return {f"{metric.source}.{metric.name}": metric for metric in METRICS}


def dotted_names() -> list[str]:
    """All metrics of the catalogue as conditions write them."""
    return sorted(_by_dotted())


def find_catalogue(name: str, matchers: Sequence[Matcher]) -> Series | None:
    """The series of a metric of the catalogue; None where there is no such metric.

    Raises:
        ValueError: what is picked does not exist; says what does.
    """
    metric = _by_dotted().get(name) or _by_dotted().get(name.partition("[")[0])
    if metric is None:
        return None
    scopes: list[ScopeKind] = []
    if {"host", "node"} & set(metric.scopes):
        scopes += ["host", "fleet"]
    if {"service", "cgroup"} & set(metric.scopes):
        scopes.append("service")
    for matcher in matchers:
        if matcher.name not in _PICKS:
            raise ValueError(f'only {{node="1"}} and {{tier="top"}} can be picked, not `{matcher.name}`')
        if "node" not in metric.scopes:
            raise ValueError(f"`{name}` is not counted per node")
        if matcher.name == "tier" and matcher.value not in _TIERS:
            raise ValueError('a tier is "top" or "slow"')
        if matcher.name == "node" and not matcher.value.isdigit():
            raise ValueError("a node is a number")
    unit, factor = _UNITS.get(metric.unit, (_NAMES.get(metric.unit, metric.unit), 1.0))
    picked = ",".join(f'{matcher.name}="{matcher.value}"' for matcher in matchers)
    return Series(
        key=name + (f"{{{picked}}}" if picked else ""),
        kind="flow" if metric.kind == "counter" else "gauge",
        unit=unit_of(unit),
        meaning=metric.help,
        scopes=tuple(scopes),
        factor=factor,
    )


def pick_keys(stored: str, keys: Sequence[str], scope: str | None, top_nodes: frozenset[int]) -> list[str]:
    """The counter keys that a stored name adds up on a host: of its own lines, or of a service's `scope`."""
    dotted, _, picked = stored.rstrip("}").partition("{")
    metric = _by_dotted().get(dotted) or _by_dotted().get(dotted.partition("[")[0])
    if metric is None:
        return []
    name = dotted[len(metric.source) + 1 :]
    wanted = [key for key in keys if key.endswith(f"|{metric.source}|{name}")]
    if scope is not None:
        return [key for key in wanted if parse_key(key).scope == scope]
    if not picked:
        own = [key for key in wanted if parse_key(key).scope == "host"]
        return own or [key for key in wanted if _node_of(key) is not None]
    kind, _, value = picked.partition("=")
    value = value.strip('"')
    nodes = [(key, _node_of(key)) for key in wanted]
    if kind == "node":
        return [key for key, node in nodes if node == int(value)]
    return [key for key, node in nodes if node is not None and (node in top_nodes) == (value == "top")]


def is_flow(stored: str) -> bool:
    """Whether a stored name is a counter."""
    dotted = stored.partition("{")[0]
    metric = _by_dotted().get(dotted) or _by_dotted().get(dotted.partition("[")[0])
    return metric is not None and metric.kind == "counter"


def _node_of(key: str) -> int | None:
    kind, _, number = parse_key(key).scope.partition(":")
    return int(number) if kind == "node" and number.isdigit() else None
