"""Which counters say how much of a service is resident on a host, the most telling ones first."""

import re
from collections.abc import Sequence
from typing import Literal

Name = tuple[str, str]
"""Source and name of a counter of the service's scope."""
Source = Literal["memory.stat", "memory.numa_stat", "placement", "memory.current", "smaps_rollup"]

_BY_NODE = re.compile(r"^(anon|file)\[[^\]]+\]$")
_BY_TIER = re.compile(r"^(anon|file|tmpfs)\[[^\]]+\]$")


def resident_terms(names: Sequence[Name]) -> tuple[Source, tuple[Name, ...]] | None:
    """The counters to add up: anonymous and file memory (which holds shared memory), else the whole charge.

    Whole charges hold kernel memory too, and `Rss` counts shared pages once per process: they come last.
    """
    there = set(names)
    if {("memory.stat", "anon"), ("memory.stat", "file")} <= there:
        return "memory.stat", (("memory.stat", "anon"), ("memory.stat", "file"))
    by_node = tuple(name for name in names if name[0] == "memory.numa_stat" and _BY_NODE.match(name[1]))
    if by_node:
        return "memory.numa_stat", by_node
    by_tier = tuple(name for name in names if name[0] == "placement" and _BY_TIER.match(name[1]))
    if by_tier:
        return "placement", by_tier
    if ("memory.current", "current") in there:
        return "memory.current", (("memory.current", "current"),)
    if ("smaps_rollup", "Rss") in there:
        return "smaps_rollup", (("smaps_rollup", "Rss"),)
    return None
