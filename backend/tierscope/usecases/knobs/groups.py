"""How the hosts of a peer group are set: the value that most of them have, and who differs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.knobs.machine import read_knobs
from tierscope.storage.base.subjects import SubjectHost, like_hosts, newest_inventories
from tierscope.usecases.fleet.known_inventories import KnownInventories

MOST_KNOWN = 50_000
"""Inventories; settings of a hundred names take 10 kB, and most hosts have the same ones."""
GROUP_MAX = 200
GROUP_MIN = 3
"""Fewer other hosts are no norm."""
MAJORITY = 0.5


@dataclass(frozen=True, slots=True)
class HostSettings:
    """What a host's inventory says of its settings; `values` as pairs of path and value."""

    kernel_release: str | None
    values: tuple[tuple[str, str | None], ...]


class KnownSettings(KnownInventories[HostSettings]):
    """Settings of hosts."""

    def __init__(self) -> None:
        super().__init__(("kernel_release", "knobs"), _read_settings, most=MOST_KNOWN)


def _read_settings(body: Mapping[str, Any]) -> HostSettings:
    return HostSettings(body.get("kernel_release"), tuple(read_knobs(body).items()))


@dataclass(frozen=True, slots=True)
class KnobState:
    """One setting: its value here, and the one that more than half of the group with this host has, else None."""

    path: str
    current: str | None
    group_norm: Annotated[str | None, Described("What more than half of the group has, this host included.")]
    group_hosts: int
    differs: bool | None


def read_knob_states(
    session: ReadSession,
    host: SubjectHost,
    inventory: Mapping[str, Any] | None,
    *,
    now: datetime,
    settings: KnownSettings,
) -> tuple[KnobState, ...]:
    """The settings of a host beside those of up to 200 others that run one of its services on the same kernel."""
    own = read_knobs(inventory)
    if not own:
        return ()
    others = like_hosts(session, host.id, limit=GROUP_MAX)
    [known] = settings.at(session, now, host_ids=others)
    # Of hosts that were silent until then the first inventory counts.
    later = newest_inventories(session, [other for other in others if other not in known], now)
    release = (inventory or {}).get("kernel_release")
    found = [*known.values(), *map(_read_settings, later.values())]
    return compare(own, [dict(other.values) for other in found if other.kernel_release == release])


def compare(own: Mapping[str, str | None], others: Sequence[Mapping[str, str | None]]) -> tuple[KnobState, ...]:
    """Each setting of one host beside those of the others that have it."""
    states = []
    for path, value in sorted(own.items()):
        values = [found for other in others if (found := other.get(path)) is not None]
        norm = find_norm(Counter(values if value is None else [*values, value]), peers=len(values))
        differs = None if norm is None or value is None else value != norm
        states.append(KnobState(path, value, norm, len(values), differs))
    return tuple(states)


def find_norm(values: Counter[str], *, peers: int) -> str | None:
    """The value that more than half of a host and its peers have; None where there is none, or too few peers.

    The host counts itself: else two halves of a group would each differ from the other.
    """
    if peers < GROUP_MIN:
        return None
    most, count = values.most_common(1)[0]
    return most if count > MAJORITY * values.total() else None
