"""Counters of control groups as what they say of pods: memory by tier and kind, and tier moves by container.

The same as the agent's own page for Prometheus says, from the same counters (collector-agent/crates/agent/src/metrics).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tierscope.domain.counters.monotonic import parse_key

MEMORY, MOVES = "tierscope_pod_memory_bytes", "tierscope_pod_tier_moves_bytes_total"

_PART = re.compile(r"(?:^|-)pod([^/]+?)(?:\.slice)?$")
_ON_NODE = re.compile(r"(anon|file|shmem|swapcached)\[N(\d{1,4})\]")
# The kernel counts shared memory and the swap cache among the page cache; here they are apart.
_KINDS: dict[str, tuple[tuple[str, int], ...]] = {
    "anon": (("anon", 1),),
    "file": (("file", 1),),
    "shmem": (("file", -1), ("tmpfs", 1)),
    "swapcached": (("file", -1),),
}
_MOVES = {
    "pgpromote_success": ("promoted", "numa_balancing"),
    "pgdemote_kswapd": ("demoted", "kswapd"),
    "pgdemote_direct": ("demoted", "direct"),
    "pgdemote_khugepaged": ("demoted", "khugepaged"),
    "pgdemote_proactive": ("demoted", "proactive"),
}


@dataclass(frozen=True, slots=True)
class PodTerm:
    """`factor` times a counter is part of a pod's metric with these labels."""

    metric: str
    uid: str
    labels: tuple[tuple[str, str], ...]
    key: str
    factor: float


def pod_and_container(scope: str) -> tuple[str, str] | None:
    """The uid of the pod in the path of the kubelet's control group, and the path below it; None where there is none.

    >>> pod_and_container("cgroup:/kubepods.slice/kubepods-burstable-podaa_1.slice/cri-1.scope")
    ('aa-1', 'cri-1.scope')
    """
    if "kubepods" not in scope:
        return None
    parts = scope.removeprefix("cgroup:").split("/")
    for place, part in enumerate(parts):
        found = _PART.search(part)
        if found is not None:
            return found[1].replace("_", "-"), "/".join(parts[place + 1 :])
    return None


def pod_terms(keys: Iterable[str], classes: Mapping[int, str], *, page_bytes: int | None) -> Iterator[PodTerm]:
    """What counters say of pods. `classes` are those of the memory of nodes; one that is missing is `unknown`."""
    for key in keys:
        if not key.startswith("cgroup:/"):
            continue
        parsed = parse_key(key)
        # Few lines of a control group are told, and a path is read last.
        placed = _ON_NODE.fullmatch(parsed.name) if parsed.source == "memory.numa_stat" else None
        moved = _MOVES.get(parsed.name) if parsed.source == "memory.stat" else None
        found = None if placed is None and moved is None else pod_and_container(parsed.scope)
        if found is None:
            continue
        uid, container = found
        if placed is not None:
            tier = classes.get(int(placed[2]), "unknown")
            for kind, sign in _KINDS[placed[1]]:
                yield PodTerm(MEMORY, uid, (("tier", tier), ("kind", kind)), key, float(sign))
        elif moved is not None and page_bytes is not None:
            direction, by = moved
            labels = (("container_cgroup", container), ("direction", direction), ("by", by))
            yield PodTerm(MOVES, uid, labels, key, float(page_bytes))
