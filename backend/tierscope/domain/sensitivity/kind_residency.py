"""Resident memory of a service by page kind, in all tiers and in DRAM alone, from whichever counters a host has.

The kernel's `file` of a control group holds shared memory; here it is taken off and stands as tmpfs. Where no shared
memory is counted, tmpfs is not known and file holds it.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.ledger import Tiers

Floats = npt.NDArray[np.float64]
Name = tuple[str, str]
"""Source and name of a counter of the service's scope."""
Source = Literal["placement", "memory.numa_stat", "memory.stat", "heat"]

KINDS: tuple[PageKind, ...] = ("anon", "file", "tmpfs")
SOURCES = frozenset({"placement", "memory.numa_stat", "memory.stat"})
_BRACKET = re.compile(r"^(anon|file|tmpfs|shmem)\[([^\]]+)\]$")


@dataclass(frozen=True, slots=True)
class Terms:
    """Counters to add and to subtract for one kind; no `plus`: not known."""

    plus: tuple[Name, ...] = ()
    minus: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class ResidencyPlan:
    """How bytes by kind are made. `top` is None where the host does not tell what lies in DRAM."""

    source: Source
    everywhere: tuple[Terms, Terms, Terms]
    top: tuple[Terms, Terms, Terms] | None


@dataclass(frozen=True, slots=True)
class KindBytes:
    """Bytes by kind [b, 3] over b buckets, NaN where not known: resident in any tier, and in DRAM."""

    resident: Floats
    top: Floats


def plan_residency(names: Collection[Name], tiers: Tiers, *, n_tiers: int) -> ResidencyPlan | None:
    """The best plan for the counters that a host sends of the service, None without any.

    With several tiers placement comes before nodes, and nodes before totals, which say nothing of DRAM. With one tier
    all that is resident is in DRAM, and totals are the shortest way.
    """
    one = n_tiers <= 1
    by_class, by_node = _bracketed(names, "placement"), _bracketed(names, "memory.numa_stat")
    if by_class and not one:
        fast = {name for name, place in by_class.items() if place[1] in FAST_TIERS}
        return ResidencyPlan("placement", _placed(by_class, set(by_class)), _placed(by_class, fast))
    if by_node and tiers.known and not one:
        fast = {name for name, place in by_node.items() if _node(place[1]) in tiers.top_nodes}
        return ResidencyPlan("memory.numa_stat", _by_node(by_node, set(by_node)), _by_node(by_node, fast))
    if ("memory.stat", "anon") in names and ("memory.stat", "file") in names:
        whole = _totals(names)
        return ResidencyPlan("memory.stat", whole, whole if one else None)
    if by_node:
        whole = _by_node(by_node, set(by_node))
        return ResidencyPlan("memory.numa_stat", whole, whole if one else None)
    return None


def sum_residency(plan: ResidencyPlan, lines: Mapping[Name, Floats], length: int) -> KindBytes:
    """Bytes by kind over `length` buckets from the lines [b] of the plan's counters."""
    resident = np.column_stack([_sum(terms, lines, length) for terms in plan.everywhere])
    if plan.top is None:
        return KindBytes(resident, np.full(resident.shape, np.nan))
    return KindBytes(resident, np.column_stack([_sum(terms, lines, length) for terms in plan.top]))


def _sum(terms: Terms, lines: Mapping[Name, Floats], length: int) -> Floats:
    if not terms.plus:
        return np.full(length, np.nan)
    out = np.zeros(length)
    for name in terms.plus:
        out = out + lines.get(name, np.nan)
    for name in terms.minus:
        out = out - lines.get(name, np.nan)
    return np.maximum(out, 0.0)  # lines of one file, not read at one instant


def _bracketed(names: Collection[Name], source: str) -> dict[Name, tuple[str, str]]:
    """Kind and place of the names of a source that carry a place in brackets."""
    found = {}
    for name in sorted(names):
        match = _BRACKET.match(name[1]) if name[0] == source else None
        if match is not None:
            found[name] = (match[1], match[2])
    return found


def _placed(places: Mapping[Name, tuple[str, str]], wanted: set[Name]) -> tuple[Terms, Terms, Terms]:
    def of(kind: str) -> Terms:
        return Terms(tuple(name for name, place in places.items() if place[0] == kind and name in wanted))

    return of("anon"), of("file"), of("tmpfs")


def _by_node(places: Mapping[Name, tuple[str, str]], wanted: set[Name]) -> tuple[Terms, Terms, Terms]:
    def of(kind: str) -> tuple[Name, ...]:
        return tuple(name for name, place in places.items() if place[0] == kind and name in wanted)

    return Terms(of("anon")), Terms(of("file"), of("shmem")), Terms(of("shmem"))


def _totals(names: Collection[Name]) -> tuple[Terms, Terms, Terms]:
    source = "memory.stat"
    shared: tuple[Name, ...] = ((source, "shmem"),) if (source, "shmem") in names else ()
    return Terms(((source, "anon"),)), Terms(((source, "file"),), shared), Terms(shared)


def _node(text: str) -> int | None:
    return int(text[1:]) if text[:1] == "N" and text[1:].isdigit() else None
