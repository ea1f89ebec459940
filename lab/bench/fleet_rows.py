"""Rows of a large fleet over time, drawn at random and stored by COPY as the workers leave them.

What would take hours to send is drawn as derived rows. Sizes are those of real ones: as many hosts in a body, as many
columns in a ledger, as many counters in a roll-up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import psycopg

from bench.service_store import EPOCH_2000_US, METHOD, cells_of, row_of
from factories.heat_rows import MINUTE_US, STRATA
from tierscope.core.database import Database
from tierscope.domain.heat.columns import FULL, HeatColumns
from tierscope.domain.heat.rows import KINDS
from tierscope.domain.ledger import COLUMN_KEYS
from tierscope.domain.ledger.gathered import Gathered, add, nothing
from tierscope.domain.statistics import Quantiles
from tierscope.storage.base import copy
from tierscope.storage.heat.services import replace_service_heat
from tierscope.storage.ledger.services import MovesHour, replace_moves_hour
from tierscope.storage.statistics.rows import SketchRow, replace_sketches
from tierscope.usecases.statistics.hour import FLEET_METRICS

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_ROWS_AT_ONCE = 100_000
_MOST_DRAWN = 50_000
_HOURS_DRAWN = 24
"""Hours of which those of other days are copies: what is read is stored for each hour."""


@dataclass(frozen=True, slots=True)
class Ledgers:
    """How ledger rows are stored: the columns that hosts count, and the id of what describes them."""

    columns: tuple[str, ...]
    trust_id: int


def copy_ledger(
    database: Database, ledgers: Ledgers, host_ids: Sequence[int], span: tuple[datetime, datetime], *, seed: int
) -> None:
    """One row a minute of each host over a span, in the order in which they would have come: by ten minutes."""
    rng = np.random.default_rng(seed)
    names = ("host_id", "service_id", "ts", "dt_seconds", *ledgers.columns, "trust_id")
    start_us = int(span[0].timestamp()) * 10**6
    minutes = round((span[1] - span[0]).total_seconds() / 60)
    many = max(_ROWS_AT_ONCE // len(host_ids), 1)
    drawn = rng.integers(0, 2000, (_ROWS_AT_ONCE, len(ledgers.columns)))
    with database.write() as transaction:
        for first in range(0, minutes, many):
            times = np.arange(first + 1, min(first + many, minutes) + 1)
            rows = np.zeros(len(times) * len(host_ids), row_of(len(names)))
            rows["fields"], rows["length"] = len(names), 8
            rows["cells"][:, 0] = np.tile(np.asarray(host_ids), len(times))
            rows["cells"][:, 2] = np.repeat(start_us + times * MINUTE_US - EPOCH_2000_US, len(host_ids))
            rows["cells"][:, 3] = np.array([60.0], ">f8").view(">i8")[0]
            rows["cells"][:, 4:-1] = drawn[rng.permutation(len(rows))] if len(rows) <= len(drawn) else 0
            rows["cells"][:, -1] = ledgers.trust_id
            copy.copy_rows(transaction, "tier_moves", names, [cells_of(rows)])


def store_service_heat(database: Database, services: dict[int, Sequence[int]], start: datetime) -> None:
    """Heat of all hosts of each service by hour, of one day."""
    hours = [start + at * HOUR for at in range(_HOURS_DRAWN)]
    ends = np.array([int((hour + HOUR).timestamp()) * 10**6 for hour in hours])
    for service_id, hosts in services.items():
        drawn = replace(_draw_columns(np.random.default_rng(service_id), hosts, _HOURS_DRAWN), ends_us=ends)
        with database.write() as transaction:
            replace_service_heat(transaction, "service_heat_1h", service_id, hours, [drawn], built_at=hours[-1] + HOUR)


def repeat(
    connection: psycopg.Connection,
    table: str,
    width: timedelta,
    times: int,
    where: str = "true",
    values: Sequence[timedelta | datetime] = (),
) -> None:
    """Store the rows of a table so many times again, each time (`n` in `where`) later by `width`."""
    rows = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped", (table,)
    )
    names = [f'"{name}"' for (name,) in rows if name != "ts"]
    connection.execute(
        f"INSERT INTO {table} (ts, {', '.join(names)}) SELECT ts + n * %s::interval, {', '.join(names)} FROM {table},"
        f" generate_series(1, %s) AS n WHERE {where}",
        (width, times, *values),
    )


def _draw_columns(rng: np.random.Generator, hosts: Sequence[int], t: int) -> HeatColumns:
    g, h = len(STRATA), len(hosts)

    def shares(width: int) -> npt.NDArray[np.uint16]:
        # A hundred temperaments, not one for each host: so alike are hosts of one service, and so well they compress.
        kinds = np.sort(rng.integers(0, FULL, (t, width, g, 100)), axis=1).astype(np.uint16)
        return np.ascontiguousarray(kinds[..., rng.integers(0, 100, h)])

    below = shares(9)
    known = np.maximum(shares(9)[:, ::-1], below[:, -1:])
    known[:, 0] = FULL
    counts = shares(11)
    counts[:, -1] = FULL
    order = sorted((KINDS[kind], tier, size) for kind, size, tier in STRATA)
    return HeatColumns(
        method=METHOD,
        host_ids=np.sort(np.asarray(hosts, np.int64)),
        ends_us=np.zeros(t, np.int64),
        n_intervals=np.full((t, h), 60, np.uint16),
        groups=tuple(order),
        resident=rng.uniform(1 << 30, 8 << 30, (1, g, h)).astype(np.float32).repeat(t, axis=0),
        below=below,
        known=known,
        counts=counts,
        coarse=np.zeros((t, h), bool),
        high=None,
        beside=None,
    )


def store_service_moves(
    database: Database, services: dict[int, Sequence[int]], ledgers: Ledgers, start: datetime
) -> None:
    """The ledger of each service by hour, of one day."""
    kept = np.isin(COLUMN_KEYS, ledgers.columns)
    for service_id, hosts in services.items():
        rng = np.random.default_rng(service_id + 1000)
        h = len(hosts)
        counts = np.where(kept[:, None], np.full((1, h), 60), 0)
        one = Gathered(
            host_ids=np.sort(np.asarray(hosts, np.int64)),
            rows=np.full(h, 60),
            trusts=np.full(h, ledgers.trust_id),
            sums=rng.integers(0, 120_000, (len(kept), h)) * kept[:, None],
            counts=counts,
            newest=np.zeros((len(kept), h), np.int64),
            seconds=counts * 60.0,
        )
        with database.write() as transaction:
            state = nothing()
            for at in range(24):
                hour = start + at * HOUR
                state = add(state, one)
                made = MovesHour(hour, own=False, n_hosts=h, rates=one.rates(), resets=())
                replace_moves_hour(transaction, service_id, made, hour, state)


def store_sketches(database: Database, groups: dict[int, int], start: datetime) -> None:
    """Quantiles of peer hosts in one hour and one day: `groups` are their hosts by id.

    Of large groups some values are drawn: sketches of many more are hardly larger.
    """
    rng = np.random.default_rng(7)
    metrics = tuple(metric.key for metric in FLEET_METRICS)
    medians = tuple(rng.random(6 * len(metrics)).tolist())
    for width in (1, 24):
        rows = [
            SketchRow(
                group,
                start,
                width,
                n,
                metrics,
                tuple(Quantiles.of(rng.random(min(n * width, _MOST_DRAWN))).to_bytes() for _ in metrics),
                medians if width == 1 else (),
                {},
            )
            for group, n in groups.items()
        ]
        with database.write() as transaction:
            replace_sketches(transaction, start, width, rows)


def copy_live_counters(
    database: Database, host_ids: Sequence[int], layout: tuple[int, int], boot_ref: int, span: tuple[datetime, datetime]
) -> None:
    """Raw samples of a few hosts over a span: `layout` is its id and how many counters it has."""
    columns = ("host_id", "ts", "layout_id", "boot_ref", "boottime_ns", "flags", "vals")
    layout_id, width = layout
    minutes = round((span[1] - span[0]).total_seconds() / 60)
    values = np.cumsum(np.random.default_rng(3).integers(0, 5000, (minutes, width)), axis=0)
    start_ns = int(span[0].timestamp()) * 10**9

    def rows() -> Iterator[bytes]:
        tail = copy.int8(layout_id) + copy.int8(boot_ref) + copy.NULL + copy.int2(0)
        for minute in range(minutes):
            body = copy.instant(start_ns + (minute + 1) * 60 * 10**9) + tail + copy.int8_array(values[minute])
            for host_id in host_ids:
                yield len(columns).to_bytes(2, "big") + copy.int8(host_id) + body

    with database.write() as transaction:
        copy.copy_rows(transaction, "counters_live", columns, list(rows()))


def hour_of(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
