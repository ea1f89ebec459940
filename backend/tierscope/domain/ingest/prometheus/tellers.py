"""Who tells a host's counters: exporters, jobs and Prometheus, of which several may send the same counter.

Each counter is taken from one of them, never added up: two that scrape one machine would count it twice. And where they
are two machines under one name, their counters say nothing together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Teller = tuple[str, tuple[tuple[str, str], ...]]
"""The replica of Prometheus that sends, and the labels that all series of one exporter share."""

SAME_BOOT_SECONDS = 30
"""A machine's boot time moves with its clock by less than this."""
_OF_METRICS = frozenset(
    {
        "__name__",
        "cpu",
        "mode",
        "node",
        "zone",
        "exported_node",
        "exported_zone",
        "nodename",
        "release",
        "version",
        "machine",
        "sysname",
        "domainname",
        "tier",
        "collector",
        "resource",
        "type",
        "state",
        "numa_node",
        "instname",
        "instid",
        "device_type",
        "otel_scope_name",
        "otel_scope_version",
    }
)
"""Labels by which the series of one exporter differ, and those that say what it found."""
_OF_CONTAINERS = frozenset(
    {
        "container",
        "container_name",
        "exported_container",
        "exported_namespace",
        "exported_pod",
        "id",
        "image",
        "name",
        "namespace",
        "pod",
        "pod_name",
    }
)
"""Such labels of series of containers. Of all others they are the exporter's own, which changes its pod and goes on."""
_OF_RUNTIMES = ("container_label_", "container_env_")
"""Beginnings of such labels: what cAdvisor tells of a container as its runtime does."""
_GIB = 1 << 30
_RETURNS, _RETURNS_RATIO = 2, 0.1
"""How often a fact comes back after another one, and at what share of its samples, before it is two machines: clocks
are set back, and memory is plugged in and out, but not at the rhythm of scrapes."""


def teller_of(labels: Mapping[str, str], replica_labels: Sequence[str]) -> Teller:
    """Who sends a series."""
    replica = next((labels[name] for name in replica_labels if labels.get(name)), "")
    left_out = _OF_METRICS | _OF_CONTAINERS if labels.get("__name__", "").startswith("container_") else _OF_METRICS
    own = (
        (name, value) for name, value in labels.items() if name not in left_out and not name.startswith(_OF_RUNTIMES)
    )
    return replica, tuple(sorted(own))


def views(places: Ints, tellers: Ints, live: Bools) -> list[Bools]:
    """Which entries [n] make rows together: each counter from one teller.

    The first view has the first of those that are `live` [n], the second the next one where there are several, and so
    on.
    `places` [n]: the counter of each entry; `tellers` [n]: who sends it, in order of preference.
    """
    if not len(places):
        return []
    of_place: dict[int, list[int]] = {}
    for place, teller in sorted(set(zip(places[live].tolist(), tellers[live].tolist(), strict=True))):
        of_place.setdefault(place, []).append(teller)
    depth = max(map(len, of_place.values()), default=1)
    found = []
    for k in range(depth):
        chosen = np.full(int(places.max()) + 1, -1, np.int64)
        for place, several in of_place.items():
            chosen[place] = several[min(k, len(several) - 1)]
        found.append(live & (chosen[places] == tellers))
    return found


@dataclass(frozen=True, slots=True)
class Mark:
    """A series that tells machines apart. `kind` is `name` (the series of one `name`), `boot` or `memory`."""

    teller: int
    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Machines:
    """Whether what is told under one name is one machine. `evidence` is empty where nothing speaks against it.

    `apart`: tellers of other machines than the first one. `mixed`: series hold two machines and cannot be told apart.
    """

    apart: frozenset[int] = frozenset()
    mixed: bool = False
    evidence: tuple[str, ...] = ()


@dataclass(slots=True)
class _Facts:
    """What one teller said of one kind: values with the first and last time of each, and how often one came back."""

    spans: dict[str | float, tuple[int, int]]
    n: int = 0
    returns: int = 0

    def is_mixed(self, kind: str) -> bool:
        """Whether two machines say this by turns."""
        if kind == "name":
            return any(_overlap(one, other) for one, other in combinations(self.spans.values(), 2))
        return self.returns >= max(_RETURNS, _RETURNS_RATIO * self.n)

    def overlaps(self, other: "_Facts") -> bool:
        return _overlap(_whole(self.spans.values()), _whole(other.spans.values()))


def tell_machines(marks: Mapping[int, Mark], ids: Ints, times_ms: Ints, values: Floats) -> Machines:
    """Whether the samples of `marks` (by series) are of one machine. Samples are in order of series and time."""
    facts: dict[tuple[int, str], _Facts] = {}
    order = np.argsort(times_ms, kind="stable")
    for place in order.tolist():
        mark, value = marks.get(int(ids[place])), float(values[place])
        if mark is not None and np.isfinite(value):
            found = facts.setdefault((mark.teller, mark.kind), _Facts({}))
            _note(found, mark, value, int(times_ms[place]))
    evidence: list[str] = []
    mixed = False
    for (_, kind), found in sorted(facts.items(), key=lambda item: item[0]):
        if found.is_mixed(kind):
            mixed = True
            evidence.append(_words(kind, found.spans))
    apart: set[int] = set()
    tellers = sorted({teller for teller, _ in facts})
    for teller in tellers[1:]:
        for kind in ("name", "boot", "memory"):
            first, other = facts.get((tellers[0], kind)), facts.get((teller, kind))
            if first is None or other is None or not first.overlaps(other):
                continue
            if not any(_same(kind, a, b) for a in first.spans for b in other.spans):
                apart.add(teller)
                evidence.append(_words(kind, {**first.spans, **other.spans}))
    return Machines(frozenset(apart), mixed, tuple(dict.fromkeys(evidence)))


def _note(found: _Facts, mark: Mark, value: float, at_ms: int) -> None:
    said: str | float = mark.name or value
    same = next((one for one in found.spans if _same(mark.kind, one, said)), None)
    newest = max(found.spans, key=lambda one: found.spans[one][1], default=None)
    found.n += 1
    if same is None:
        found.spans[said] = (at_ms, at_ms)
        return
    found.returns += same != newest
    found.spans[same] = (found.spans[same][0], at_ms)


def _same(kind: str, one: str | float, other: str | float) -> bool:
    if kind == "boot" and isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= SAME_BOOT_SECONDS
    return one == other


def _whole(spans: Iterable[tuple[int, int]]) -> tuple[int, int]:
    several = list(spans)
    return min(first for first, _ in several), max(last for _, last in several)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


def _words(kind: str, said: Iterable[str | float]) -> str:
    several = sorted(said, key=str)[:4]
    if kind == "name":
        return f"node_uname_info names {' and '.join(map(str, several))}"
    if kind == "boot":
        return f"boot times {' and '.join(_at(one) for one in several)}"
    return f"{' and '.join(f'{float(one) / _GIB:.1f} GiB' for one in several)} of memory"


def _at(seconds: str | float) -> str:
    return str(np.datetime64(round(float(seconds)), "s")) + "Z"
