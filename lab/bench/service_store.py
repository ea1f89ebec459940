"""A store with a large service: a thousand hosts, a week of heat and tier moves, as ingest and the workers leave them.

Rows go in by COPY with the service's own packers; what the workers make of them is made by the workers' own code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from factories import batches
from factories.heat_rows import MINUTE_US, STRATA, draw_row
from factories.installations import enrol, store
from tierscope.core.database import Database
from tierscope.domain.base.jobs import SERVICE_HEAT_1H, SERVICE_MOVES_1H
from tierscope.domain.heat.beside import zeros_beside
from tierscope.domain.heat.classes import BUCKETS, COUNTS, Folded
from tierscope.domain.heat.rows import KINDS, HeatRow, HeatSeries, Method
from tierscope.domain.ledger import COLUMNS, Tiers, plan_host
from tierscope.domain.ledger.ledger import Ledger
from tierscope.storage.base import copy, dirty_buckets
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.base.subjects import newest_inventories
from tierscope.storage.heat.rows import replace_rollups
from tierscope.storage.ledger.rows import replace_ledger
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.usecases.rebuild.recent import rebuild_recent
from tierscope.wire._generated import batch_pb2, heat_pb2

Ints = npt.NDArray[np.int64]

METHOD = Method(int(heat_pb2.HEAT_BACKEND_ABIT_WALK), int(heat_pb2.GRANULARITY_PAGE), 60 * 10**9)
KEYS = tuple(
    sorted(
        {f"host|vmstat|{name}" for column in COLUMNS for name in (*column.host.names, *column.host.minus)}
        | {f"node:{node}|vmstat|nr_active_anon" for node in (0, 1)}
    )
)
LIVE_MINUTES = 10
GIB_PAGES = 1 << 18


@dataclass(frozen=True, slots=True)
class Seeded:
    """What was stored: the public id of the service, ids of the service and of its hosts, and the newest hour's end."""

    public_id: str
    service_id: int
    host_ids: tuple[int, ...]
    end: datetime


def seed_hosts(database: Database, n_hosts: int, *, now: datetime) -> Seeded:
    """Enrol hosts, each with an inventory, ten minutes of heat and an hour of counters, all by ingest."""
    rng = np.random.default_rng(1)
    now_ns = int(now.timestamp()) // 60 * 60 * 10**9
    for number in range(n_hosts):
        host = enrol(database, name=f"host-{number:05d}", origin="simulated")
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now_ns, origin=batch_pb2.ORIGIN_SIMULATED)
        batches.add_inventory(batch, hostname=f"host-{number:05d}")
        counted = np.cumsum(rng.integers(0, 5000, (LIVE_MINUTES, len(KEYS))), axis=0).tolist()
        batches.add_counters(batch, counted, keys=KEYS)
        for minute in range(LIVE_MINUTES):
            add_interval(batch, draw_row(rng, now_ns // 1000 - minute * MINUTE_US))
        assert store(database, host, [batch])
    with database.read() as session:
        service = session.execute(text("SELECT id, public_id FROM services ORDER BY id LIMIT 1")).one()
        hosts = session.execute(text("SELECT id FROM hosts ORDER BY id")).scalars().all()
    end = now.replace(minute=0, second=0, microsecond=0)
    return Seeded(service.public_id, service.id, tuple(hosts), end)


def add_interval(batch: batch_pb2.Batch, row: HeatRow) -> None:
    """Add a row of heat of the service `demo/cache` to a batch."""
    wide = ("age_bytes", "never_bytes", "active_count_bytes", "active_lo_bytes", "active_hi_bytes")
    n = len(row.kinds)
    batch.heat.add(
        backend=METHOD.backend,
        granularity=METHOD.granularity,
        interval_ns=METHOD.interval_ns,
        end_wall_ns=[row.end_us * 1000] * n,
        service_ref=[batches.intern(batch, "demo/cache")] * n,
        group_ref=[batches.intern(batch, "server")] * n,
        kind=row.kinds.tolist(),
        page_size_bytes=row.page_sizes.tolist(),
        tier_ref=[batches.intern(batch, tier) if tier else 0 for tier in row.tiers],
        validity=[(1 << 64) - 1] * n,
        resident_bytes=row.resident_bytes.tolist(),
        **{name: getattr(row, name).astype("<i8").tobytes() for name in wide},
    )


def seed_hours(database: Database, seeded: Seeded, *, days: int) -> None:
    """Hourly sums of heat of every host: each has a size and a temper of its own, which drifts."""
    hours = days * 24
    starts = [seeded.end - timedelta(hours=hours - at) for at in range(hours)]
    with database.write() as transaction:
        ensure_partitions(transaction, starts[0], seeded.end)
    rng = np.random.default_rng(2)
    for host_id in seeded.host_ids:
        series = draw_week(rng, host_id, starts)
        with database.write() as transaction:
            replace_rollups(transaction, "heat_1h", (host_id, seeded.service_id), starts, [series])


def draw_week(rng: np.random.Generator, host_id: int, starts: Sequence[datetime]) -> HeatSeries:
    """Hourly sums of one host over four groups: random, but each histogram adds up to what is resident."""
    t, g = len(starts), len(STRATA)
    pages = (rng.integers(GIB_PAGES, 8 * GIB_PAGES, g) * (1 + 0.1 * rng.standard_normal((t, g)))).astype(np.int64)
    resident = np.maximum(pages, 1000) * 4096 * 60
    shares = rng.dirichlet(np.full(BUCKETS + 2, 0.8), g) * (1 + 0.2 * rng.random((t, g, BUCKETS + 2)))
    shares /= shares.sum(axis=2, keepdims=True)
    parts = (shares * resident[..., None]).astype(np.int64)
    age = parts[..., :BUCKETS].copy()
    never = np.zeros_like(age)
    never[..., 5], never[..., 8] = parts[..., -2], parts[..., -1]
    age[..., 0] += resident - age.sum(axis=2) - never.sum(axis=2)
    count = np.zeros((t, g, COUNTS), np.int64)
    count[..., 0] = never.sum(axis=2)
    spread = (rng.dirichlet(np.ones(COUNTS - 1), g) * age.sum(axis=2)[..., None]).astype(np.int64)
    count[..., 1:] = spread
    active = np.cumsum(age, axis=2)[..., [0, 1, 3, 4]]
    return HeatSeries(
        host_id=host_id,
        method=METHOD,
        ends_us=np.array([int(start.timestamp() + 3600) * 10**6 for start in starts], np.int64),
        n_intervals=np.full(t, 60, np.int64),
        kinds=tuple(KINDS[kind] for kind, _, _ in STRATA),
        tiers=tuple(tier for _, _, tier in STRATA),
        sizes=tuple(size for _, size, _ in STRATA),
        folded=Folded(resident, age, never, count, active, active),
        beside=zeros_beside((t, g)),
        history=64,
    )


def seed_moves(database: Database, seeded: Seeded, *, days: int) -> None:
    """The ledger of every host, one row a minute, in the columns that its counters make."""
    start = seeded.end - timedelta(days=days)
    with database.write() as transaction:
        ensure_partitions(transaction, start, seeded.end)
    rng = np.random.default_rng(3)
    plan = plan_host(KEYS, Tiers(frozenset({0}), known=True), page_bytes=4096)
    kept = [column.column.key for column in plan.columns if column.plus]
    times_us = int(start.timestamp()) * 10**6 + np.arange(1, days * 1440 + 1) * MINUTE_US
    columns = ("host_id", "service_id", "ts", "dt_seconds", *kept, "trust_id")
    rows = np.zeros(len(times_us), row_of(len(columns)))
    rows["fields"], rows["length"] = len(columns), 8
    rows["cells"][:, 2] = times_us - EPOCH_2000_US
    rows["cells"][:, 3] = np.array([60.0], ">f8").view(">i8")[0]
    first, *others = seeded.host_ids
    with database.write() as transaction:
        empty = Ledger(*(np.zeros(shape) for shape in (0, 0, (0, 0), (0, 0), 0)))  # type: ignore[arg-type]
        replace_ledger(transaction, first, 0, [], empty, plan)
        trust = transaction.execute(text("SELECT max(id) FROM ledger_trusts")).scalar_one()
    rows["cells"][:, -1] = trust
    for host_id in (first, *others):
        rows["cells"][:, 0] = host_id
        rows["cells"][:, 4:-1] = rng.integers(0, 2000, (len(rows), len(kept)))
        with database.write() as transaction:
            copy.copy_rows(transaction, "tier_moves", columns, [cells_of(rows)])


EPOCH_2000_US = 946_684_800_000_000


def row_of(n_cells: int) -> np.dtype[np.void]:
    """A row of 8-byte fields as COPY takes it; lengths and cells are put between each other by `_cells`."""
    return np.dtype([("fields", ">i2"), ("length", ">i4", (n_cells,)), ("cells", ">i8", (n_cells,))])


def cells_of(rows: npt.NDArray[np.void]) -> bytes:
    n, width = rows["cells"].shape
    out = np.zeros(n, [("fields", ">i2"), ("cells", [("length", ">i4"), ("value", ">i8")], (width,))])
    out["fields"], out["cells"]["length"], out["cells"]["value"] = rows["fields"], rows["length"], rows["cells"]
    return out.tobytes()


def make_rollups(database: Database, seeded: Seeded, *, days: int) -> None:
    """What the workers make of the seeded rows: hours of the service, and the newest hour of each host."""
    hours = [seeded.end - timedelta(hours=at) for at in range(days * 24, 0, -1)]
    with database.write() as transaction:
        # Ingest's own marks would rebuild what was seeded without its raw samples.
        transaction.execute(text("DELETE FROM marks"))
        for job in (SERVICE_HEAT_1H, SERVICE_MOVES_1H):
            dirty_buckets.append(transaction, job.kind, 0, seeded.service_id, hours)
    done = DrainMarks(database, lambda: datetime.now(UTC)).run(at_most=timedelta(hours=1))
    assert not done.failures
    with database.write() as transaction:
        inventories = newest_inventories(transaction, seeded.host_ids, seeded.end + timedelta(days=1))
        for host_id in seeded.host_ids:
            rebuild_recent(transaction, host_id, inventories.get(host_id))


def newest() -> datetime:
    """The moment up to which there is data: the whole minute that has just ended."""
    return datetime.now(UTC).replace(second=0, microsecond=0)
