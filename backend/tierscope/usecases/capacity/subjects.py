"""Which host groups there are: hosts by machine, by rack, and by each label that few enough values tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.storage.capacity.rows import GroupRow
from tierscope.usecases.capacity.hours import KnownHost

RACK_LABELS = ("rack", "topology.kubernetes.io/rack")
MAX_VALUES = 200
MAX_LABELS = 20


@dataclass(frozen=True, slots=True)
class HostGroup:
    """A group with its hosts."""

    row: GroupRow
    hosts: tuple[KnownHost, ...]


def group_hosts(hosts: Sequence[KnownHost]) -> tuple[HostGroup, ...]:
    """All groups of hosts. Measured and simulated hosts are never in one group."""
    found: dict[tuple[str, str, str], list[KnownHost]] = {}
    for host in hosts:
        if host.key.sku:
            found.setdefault(("sku", host.key.sku, host.origin), []).append(host)
        rack = next((host.labels[label] for label in RACK_LABELS if host.labels.get(label)), None)
        if rack is not None:
            found.setdefault(("rack", rack, host.origin), []).append(host)
        for label, value in host.labels.items():
            found.setdefault((f"label:{label}", value, host.origin), []).append(host)
    values: dict[str, int] = {}
    for grouping, _, _ in found:
        values[grouping] = values.get(grouping, 0) + 1
    labels = [name for name in sorted(values) if name.startswith("label:") and values[name] <= MAX_VALUES]
    taken = {"sku", "rack", *labels[:MAX_LABELS]}
    return tuple(
        HostGroup(GroupRow(_subject(grouping, name, origin), grouping, name, origin), tuple(members))
        for (grouping, name, origin), members in sorted(found.items())
        if grouping in taken
    )


def _subject(grouping: str, name: str, origin: str) -> str:
    """The id of a group; what is not measured live says so."""
    return f"{grouping}={name}" if origin == "live" else f"{grouping}={name} ({origin})"
