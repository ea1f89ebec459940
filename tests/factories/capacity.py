"""A fleet with months of hourly memory: what capacity is made from, stored as the worker would have stored it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from factories.heat_rows import draw_hours
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.counters.rollups import OBSERVED_KEY, Rollup
from tierscope.domain.heat.columns import make_columns
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.counters.rollups import replace_metrics
from tierscope.storage.heat.services import replace_service_heat
from tierscope.storage.tables import TIME_TABLES
from tierscope.usecases.base.context import ReadContext

GIB = 1 << 30
TOTAL, DRAM = 512 * GIB, 384 * GIB
IN_USE_RATIO = 0.75
"""Of what a service holds; the rest is page cache."""
NOW = datetime(2026, 11, 21, 13, 0, tzinfo=UTC)
TODAY = NOW.replace(hour=0)
_FILLED = [entry for entry in TIME_TABLES if entry.table.name in {"metrics_1h", "metrics_1d", "service_heat_1h"}]
_HOUR_US = 3_600_000_000
_CPU = ("cpu_user", "cpu_system", "cpu_steal", "cpu_idle", "cpu_iowait")
_NODES = [
    {"id": 0, "tier_class": "dram", "memory_bytes": DRAM},
    {"id": 1, "tier_class": "cxl", "memory_bytes": TOTAL - DRAM},
]


@dataclass(frozen=True, slots=True)
class CapacityFleet:
    """Hosts that all run one service, and the service's ids."""

    database: Database
    hosts: tuple[int, ...]
    service: int
    service_id: str
    name: str

    def context(self, *, at: datetime = NOW, settings: Settings | None = None) -> ReadContext:
        return ReadContext(self.database, lambda: at, settings or Settings())


def make_fleet(
    database: Database,
    name: str,
    resident: Sequence[float],
    *,
    hosts: int = 3,
    busy: float = 0.5,
    origin: str = "live",
    now: datetime = NOW,
) -> CapacityFleet:
    """`resident[i]` bytes on each host on day i, the last of them yesterday; up to an hour ago as on the last day."""
    service_id = f"s-{name.replace('/', '-')}"
    namespace, _, short = name.rpartition("/")
    with database.write() as transaction:
        service = transaction.execute(
            text(
                "INSERT INTO services (public_id, namespace, name, origin) VALUES (:id, :space, :name, :origin)"
                " RETURNING id"
            ),
            {"id": service_id, "space": namespace, "name": short, "origin": origin},
        ).scalar_one()
        ids = [_make_host(transaction, f"{short}-{i}", service, origin, now) for i in range(hosts)]
        start = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=len(resident))
        ensure_partitions(transaction, start, now, _FILLED)
        hours = _hours(name, resident, start, int((now - start).total_seconds()) // 3600, busy)
        for host in ids:
            replace_metrics(transaction, "metrics_1h", {host: hours})
    return CapacityFleet(database, tuple(ids), int(service), service_id, name)


def add_heat(fleet: CapacityFleet, days: int) -> None:
    """Heat of the first host in the newest hours of so many days before today."""
    with fleet.database.write() as transaction:
        for day in range(1, days + 1):
            start = TODAY - timedelta(days=day)
            base = int(start.timestamp() * 1e6)
            series = draw_hours(np.random.default_rng(day), fleet.hosts[0], range(1, 121), start_us=base)
            starts = [start, start + timedelta(hours=1)]
            columns = [make_columns([series])]
            replace_service_heat(transaction, "service_heat_1h", fleet.service, starts, columns, built_at=NOW)


def _make_host(transaction, name: str, service: int, origin: str, now: datetime) -> int:  # type: ignore[no-untyped-def]  # noqa: ANN001
    host = transaction.execute(
        text(
            "INSERT INTO hosts (public_id, name, origin, labels, credential_hash, last_seen_at)"
            " VALUES (:id, :name, :origin, CAST(:labels AS jsonb), :hash, :at) RETURNING id"
        ),
        {
            "id": f"h-{name}",
            "name": name,
            "origin": origin,
            "labels": '{"sku": "big", "rack": "r1", "team": "=cmd()"}',
            "hash": name.encode(),
            "at": now,
        },
    ).scalar_one()
    transaction.execute(
        text("INSERT INTO host_services (host_id, service_id, rule) VALUES (:host, :service, 'test')"),
        {"host": host, "service": service},
    )
    transaction.execute(
        text("INSERT INTO inventory (host_id, at, body) VALUES (:host, :at, CAST(:body AS jsonb))"),
        {"host": host, "at": now - timedelta(days=100), "body": _inventory()},
    )
    return int(host)


def _inventory() -> str:
    return json.dumps({"nodes": _NODES, "cpu_model": "Test"})


def _hours(name: str, resident: Sequence[float], start: datetime, last: int, busy: float) -> Rollup:
    """Every hour holds the day's value, a quarter of it page cache; the rest of the host holds 16 GiB."""
    held = np.array([resident[min(hour // 24, len(resident) - 1)] for hour in range(last)], np.float64)
    free = np.full(last, 20.0 * GIB)
    columns: dict[str, npt.NDArray[np.float64]] = {
        "host|meminfo|MemTotal": np.full(last, float(TOTAL)),
        "host|meminfo|MemAvailable": TOTAL - 16.0 * GIB - IN_USE_RATIO * held,
        "host|meminfo|MemFree": free,
        "node:0|meminfo|MemFree": free,
        "node:1|meminfo|MemFree": free,
        f"service:{name}|memory.stat|anon": held * IN_USE_RATIO,
        f"service:{name}|memory.stat|file": held * (1.0 - IN_USE_RATIO),
        f"service:{name}|cpu.stat|usage_usec": np.full(last, 4 * 3.6e9),
        OBSERVED_KEY: np.full(last, 3600.0),
    }
    for key, share in zip(_CPU, (busy * 0.8, busy * 0.2, 0.0, 1.0 - busy, 0.0), strict=True):
        columns[f"host|stat|{key}"] = np.full(last, share * 360_000.0)
    keys = tuple(sorted(columns))
    values = np.column_stack([columns[key] for key in keys])
    starts = int(start.timestamp() * 1e6) + _HOUR_US * np.arange(last)
    ones = np.ones(values.shape, np.int64)
    return Rollup(starts, keys, values, values, values, values, values, ones)
