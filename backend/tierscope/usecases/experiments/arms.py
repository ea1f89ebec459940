"""Which hosts of a service can be compared: like for like, in service, in no other experiment; arms at random."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.host_facts import find_state
from tierscope.domain.fleet.peer_hosts import LikeKey, like_key
from tierscope.storage.experiments.rows import busy_hosts
from tierscope.storage.fleet.hosts import HostFilter, HostRow, list_hosts, read_inventories
from tierscope.usecases.experiments.views import Excluded

RACK = "rack"
"""The label by which hosts of one rack are known."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Hosts that can be drawn, by name, and those that cannot."""

    hosts: tuple[HostRow, ...]
    excluded: tuple[Excluded, ...]


def like_keys(session: ReadSession, rows: Sequence[HostRow]) -> dict[int, LikeKey]:
    """The peer-group key of each host."""
    inventories = read_inventories(session, [row.id for row in rows])
    return {
        row.id: like_key(row.labels, inventories[row.id][1] if row.id in inventories else None, row.agent_version)
        for row in rows
    }


def find_candidates(
    session: ReadSession,
    service_id: str,
    *,
    now: datetime,
    span: tuple[datetime, datetime],
    with_data: Collection[int] | None = None,
    only: Collection[str] | None = None,
    like: HostRow | None = None,
) -> Candidates:
    """The largest group of peer hosts of a service, or the group of the host `like`.

    `with_data`: hosts that have the metric before the change. `only`: hosts to choose from, by public id. None: all.
    """
    rows = list_hosts(session, wanted=HostFilter(service=service_id), after=None, limit=None)
    rows = [row for row in rows if only is None or row.public_id in only]
    busy = busy_hosts(session, *span)
    excluded: dict[int, str] = {}
    for row in rows:
        state = find_state(now, row.last_seen_at, row.retired_at, row.held_seconds)
        if state in ("retired", "silent") and row.origin != "import":
            excluded[row.id] = f"the host is {state}"
        elif row.id in busy:
            excluded[row.id] = f"it is in the experiment {busy[row.id]!r} at that time"
        elif with_data is not None and row.id not in with_data:
            excluded[row.id] = "it has no values of the metric before the change"
    free = [row for row in rows if row.id not in excluded]
    keys = like_keys(session, free)
    if free:
        common = max(Counter(keys.values()).items(), key=lambda pair: (pair[1], pair[0]))[0]
        common = common if like is None else like_keys(session, [like])[like.id]
        excluded |= {
            row.id: f"it is unlike the largest group: {keys[row.id].difference(common)}"
            for row in free
            if keys[row.id] != common
        }
    return Candidates(
        tuple(row for row in rows if row.id not in excluded),
        tuple(Excluded(row.public_id, row.name, excluded[row.id]) for row in rows if row.id in excluded),
    )


def draw_canary(hosts: Sequence[HostRow], canary_n: int, seed: int) -> tuple[list[int], list[int]]:
    """Ids of the canary hosts, drawn at random and evenly over racks, and of all others as controls."""
    random = np.random.default_rng(seed)
    by_rack = sorted(random.permutation(len(hosts)).tolist(), key=lambda place: hosts[place].labels.get(RACK, ""))
    offset = float(random.random())
    chosen = {hosts[by_rack[int((number + offset) * len(hosts) / canary_n)]].id for number in range(canary_n)}
    return [host.id for host in hosts if host.id in chosen], [host.id for host in hosts if host.id not in chosen]


def describe_unlike(keys: Mapping[int, LikeKey], canary: Collection[int]) -> str | None:
    """A note where hosts of the arms are not alike; None where they are."""
    common = Counter(key for host, key in keys.items() if host in canary).most_common(1)
    if not common:
        return None
    unlike = [key.difference(common[0][0]) for key in keys.values() if key != common[0][0]]
    if not unlike:
        return None
    return f"{len(unlike)} hosts are unlike the others, for example {unlike[0]}: compare like with like."
