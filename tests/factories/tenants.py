"""A host with two services on two tiers, minute by minute: batch grows, and cache is demoted to make room for it."""

from collections.abc import Callable

import numpy as np

from factories import batches
from factories.installations import enrol, store
from tierscope.core.database import Database
from tierscope.wire._generated import batch_pb2, heat_pb2

MIB, GIB, PAGE = 1 << 20, 1 << 30, 4096
MINUTES = 60
STEP = 16 * MIB
NAMES = ("demo/batch", "demo/cache")
SERVICES = {name: f"service:{name}" for name in NAMES}
CGROUPS = {"demo/batch": "cgroup:/batch", "demo/cache": "cgroup:/cache"}


Places = Callable[[int], dict[str, tuple[int, int]]]


def memory(minute: int) -> dict[str, tuple[int, int]]:
    """Bytes on the top tier and on the slow one: every third minute batch grows by a step and cache makes room."""
    grown = STEP * (minute // 3)
    return {"demo/batch": (GIB + grown, GIB), "demo/cache": (4 * GIB - grown, GIB + grown)}


def rows(
    scopes: dict[str, str], settings: dict[str, int | None], *, counted: bool = True, places: Places = memory
) -> dict[str, list[int | None]]:
    """Counters by key, a value for each minute; `settings` are those of cache, batch has none."""
    out: dict[str, list[int | None]] = {
        "host|vmstat|pgdemote_kswapd": [STEP // PAGE * (minute // 3) for minute in range(MINUTES)],
        "host|vmstat|pgpromote_success": [0] * MINUTES,
        "node:0|vmstat|nr_active_anon": [sum(top for top, _ in places(m).values()) // PAGE for m in range(MINUTES)],
    }
    for name, scope in scopes.items():
        out[f"{scope}|memory.numa_stat|anon[N0]"] = [places(minute)[name][0] for minute in range(MINUTES)]
        out[f"{scope}|memory.numa_stat|anon[N1]"] = [places(minute)[name][1] for minute in range(MINUTES)]
        for node in (0, 1):
            out[f"{scope}|memory.numa_stat|file[N{node}]"] = [0] * MINUTES
        if counted:
            moved = STEP // PAGE if name == "demo/cache" else 0
            out[f"{scope}|memory.stat|pgdemote_kswapd"] = [moved * (minute // 3) for minute in range(MINUTES)]
            out[f"{scope}|memory.stat|pgpromote_success"] = [0] * MINUTES
        for setting, value in settings.items():
            out[f"{scope}|memory.{setting}|{setting}"] = [value if name == "demo/cache" else None] * MINUTES
    return out


def add_heat(batch: batch_pb2.Batch, end_ns: int, hot_bytes: dict[str, int]) -> None:
    """A minute of heat of each service, all pages seen."""
    n = len(hot_bytes)

    def packed(width: int, place: int) -> bytes:
        cells = np.zeros((n, width), "<i8")
        cells[:, 0], cells[:, place] = list(hot_bytes.values()), [4 * GIB - hot for hot in hot_bytes.values()]
        return cells.tobytes()

    batch.heat.add(
        backend=heat_pb2.HEAT_BACKEND_ABIT_WALK,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=batches.MINUTE_NS,
        end_wall_ns=[end_ns] * n,
        service_ref=[batches.intern(batch, name) for name in hot_bytes],
        group_ref=[batches.intern(batch, "server")] * n,
        kind=[heat_pb2.PAGE_KIND_ANON] * n,
        page_size_bytes=[PAGE] * n,
        tier_ref=[batches.intern(batch, "dram")] * n,
        validity=[(1 << 64) - 1] * n,
        resident_bytes=[4 * GIB] * n,
        age_bytes=packed(9, 8),
        never_bytes=np.zeros((n, 9), "<i8").tobytes(),
        active_count_bytes=packed(11, 10),
        active_lo_bytes=np.repeat(list(hot_bytes.values()), 4).astype("<i8").tobytes(),
        active_hi_bytes=np.repeat(list(hot_bytes.values()), 4).astype("<i8").tobytes(),
    )


def send(
    database: Database,
    counters: dict[str, list[int | None]],
    hot_bytes: dict[str, int] | None = None,
    add: Callable[[batch_pb2.Batch], None] | None = None,
) -> str:
    """Stores an hour of a host with 8 GiB of DRAM and 24 GiB of slow memory, and what `add` adds to it; its id."""
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id)
    keys = sorted(counters)
    batches.add_counters(batch, [[counters[key][m] for key in keys] for m in range(MINUTES)], keys=keys)
    batches.add_inventory(batch, services=("batch", "cache"))
    batch.inventory.nodes[0].memory_bytes = 8 * GIB
    batch.inventory.nodes[1].memory_bytes = 24 * GIB
    if hot_bytes:
        add_heat(batch, batch.sealed_wall_ns, hot_bytes)
    if add is not None:
        add(batch)
    assert not isinstance(store(database, host, [batch])[0], Exception)
    return host.id
