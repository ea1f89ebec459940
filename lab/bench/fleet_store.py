"""A store with a large fleet: ten thousand hosts and thirty services over a week, for measuring what pages ask.

A few hosts are enrolled and sent by ingest and rebuilt by the workers' own code; what else there is of hosts copies
theirs. Rows over time are drawn (fleet_rows.py). The same seed and moment make the same store. On several servers
(nodes.py) each has the hosts of the first one under numbers and names of its own, and the sums are of all of them.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import psycopg
from sqlalchemy import text

from bench.fleet_rows import (
    DAY,
    HOUR,
    Ledgers,
    copy_ledger,
    copy_live_counters,
    hour_of,
    repeat,
    store_service_heat,
    store_service_moves,
    store_sketches,
)
from bench.service_store import add_interval, draw_week
from factories import batches
from factories.heat_rows import MINUTE_US, draw_row
from factories.installations import enrol, store
from tierscope.core.database import FLEET_SCHEMA, Database, libpq_url
from tierscope.domain.ledger import Tiers, plan_host
from tierscope.domain.ledger.ledger import Ledger
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.heat.rows import replace_rollups
from tierscope.storage.ledger.fleet import TEN_MINUTES, replace_fleet_moves
from tierscope.storage.ledger.rows import replace_ledger
from tierscope.storage.tables import TIME_TABLES, capacity_days
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.wire._generated import batch_pb2

TEMPLATES = 4
SERVICES = 30
LIVE_HOSTS = 100
"""Hosts with raw samples of the last day and all roll-ups; others have their newest state and what pages sum up."""
RECENT_LEDGER = timedelta(hours=2)
CAPACITY_DAYS = 120
_VMSTAT = (
    "nr_free_pages",
    "pgpromote_success",
    "pgpromote_candidate",
    "pgdemote_kswapd",
    "pgdemote_direct",
    "pgdemote_khugepaged",
    "pgmigrate_success",
    "pgmigrate_fail",
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pages_migrated",
    "numa_pte_updates",
    "pswpin",
    "pswpout",
    "workingset_refault_anon",
    "workingset_refault_file",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
)
KEYS = tuple(
    sorted(
        [f"host|vmstat|{name}" for name in _VMSTAT]
        + ["host|pressure.memory|some_total_us", "host|pressure.memory|full_total_us"]
        + [
            f"node:{node}|vmstat|nr_{kind}"
            for node in (0, 1)
            for kind in ("active_anon", "inactive_anon", "free_pages")
        ]
        + [f"host|meminfo|{name}" for name in ("MemTotal", "MemFree", "MemAvailable", "Cached", "AnonPages")]
    )
)
_SENT_MINUTES = 70


@dataclass(frozen=True, slots=True)
class Fleet:
    """What was stored: public ids of a service on a thousand hosts, of one on half of them, and of a host with all."""

    service: str
    large_service: str
    host: str
    n_hosts: int
    end: datetime


@dataclass(frozen=True, slots=True)
class Span:
    """Which time is stored, and of how many hosts the ledgers and hours of all of it; the others' are of late."""

    days: int
    now: datetime
    whole_hosts: int | None = None
    """Hosts of the first service; None: all of them."""
    recent: timedelta = RECENT_LEDGER

    @property
    def end(self) -> datetime:
        """The last whole hour."""
        return hour_of(self.now)

    @property
    def start(self) -> datetime:
        """Midnight, so many days before."""
        return self.end.replace(hour=0) - timedelta(days=self.days)

    @property
    def hours(self) -> int:
        return int((self.end - self.start) / HOUR)


def seed_fleet(database: Database, n_hosts: int, days: int, *, now: datetime) -> Fleet:
    """Store everything; some minutes for ten thousand hosts and a week."""
    span = Span(days, now)
    ledgers = seed_hosts(database, n_hosts, span)
    return seed_sums(database, ledgers, span)


def seed_hosts(database: Database, n_hosts: int, span: Span) -> Ledgers:
    """Store what is of hosts by themselves, on the server that the database is on; how their ledgers are stored."""
    _send_templates(database, span.now)
    make_partitions(database, span)
    with psycopg.connect(libpq_url(database.url), autocommit=True) as connection:
        _copy_hosts(connection, n_hosts, span)
        members = _members(connection)
        ledgers = _describe_ledgers(database)
        connection.execute("DROP INDEX ix_tier_moves_host_id_service_id_ts")
        one, others = members[min(members)][: span.whole_hosts], range(1, n_hosts + 1)
        copy_ledger(database, ledgers, one, (span.start, span.now), seed=1)
        copy_ledger(database, ledgers, sorted({*others} - {*one}), (span.now - span.recent, span.now), seed=2)
        connection.execute("CREATE INDEX ix_tier_moves_host_id_service_id_ts ON tier_moves (host_id, service_id, ts)")
        _copy_heat(database, connection, one, span)
        _copy_counters(database, connection, span)
        connection.execute("VACUUM (ANALYZE, PROCESS_TOAST false)")
    return ledgers


def seed_sums(database: Database, ledgers: Ledgers, span: Span) -> Fleet:
    """Store what is of all hosts that the fleet shows: sums of services, quantiles, alerts, events, capacity."""
    with psycopg.connect(libpq_url(database.url), autocommit=True) as connection:
        connection.execute(f"SET search_path = {FLEET_SCHEMA}, public")
        services = _members(connection)
        with ThreadPoolExecutor(2) as pool:
            heat = pool.submit(_store_heat, database, services, span)
            moves = pool.submit(_store_moves, database, services, ledgers, span)
            heat.result()
            moves.result()
        store_sketches(database, _make_groups(connection), span.start)
        repeat(connection, "fleet_sketches", HOUR, span.hours - 1, "hours = 1")
        repeat(connection, "fleet_sketches", DAY, span.days - 1, "hours = 24")
        _sum_fleet_moves(database, span.start, span.now)
        _make_rest(connection, span.end)
        connection.execute("VACUUM (ANALYZE, PROCESS_TOAST false)")
        return _found(connection, span.end)


def make_partitions(database: Database, span: Span) -> None:
    of_capacity = [entry for entry in TIME_TABLES if entry.table is capacity_days]
    with database.write() as transaction:
        ensure_partitions(transaction, span.start, span.end + DAY)
        ensure_partitions(transaction, span.start - CAPACITY_DAYS * DAY, span.end + DAY, of_capacity)


def _store_heat(database: Database, services: dict[int, Sequence[int]], span: Span) -> None:
    store_service_heat(database, services, span.start)
    _repeat_days(database, "service_heat_1h", span)


def _store_moves(database: Database, services: dict[int, Sequence[int]], ledgers: Ledgers, span: Span) -> None:
    store_service_moves(database, services, ledgers, span.start)
    _repeat_days(database, "service_moves_1h", span)


def _repeat_days(database: Database, table: str, span: Span) -> None:
    with psycopg.connect(libpq_url(database.url), autocommit=True) as connection:
        repeat(connection, table, DAY, span.days, "ts + n * %s::interval < %s", (DAY, span.end))


def _send_templates(database: Database, now: datetime) -> None:
    """Hosts that are real: enrolled, sent, and rebuilt."""
    rng = np.random.default_rng(1)
    now_ns = int(now.timestamp()) // 60 * 60 * 10**9
    for number in range(TEMPLATES):
        name = f"host-{number + 1:06d}"
        host = enrol(database, name=name, origin="simulated")
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now_ns, origin=batch_pb2.ORIGIN_SIMULATED)
        batches.add_inventory(batch, hostname=name, services=("cache",))
        _describe_machine(batch)
        batches.add_self(batch)
        counted = np.cumsum(rng.integers(0, 5000, (_SENT_MINUTES, len(KEYS))), axis=0).tolist()
        batches.add_counters(batch, counted, keys=KEYS)
        for minute in range(10):
            add_interval(batch, draw_row(rng, now_ns // 1000 - minute * MINUTE_US))
        assert store(database, host, [batch])
    done = DrainMarks(database, lambda: now + timedelta(hours=3)).run(at_most=timedelta(minutes=5))
    assert not done.failures
    with database.write() as transaction:
        for table in ("marks", "service_heat_1h", "service_moves_1h", "tier_moves"):
            transaction.execute(text(f"DELETE FROM {table}"))


def _describe_machine(batch: batch_pb2.Batch) -> None:
    """What an inventory of a real host is as large as: 8 kB of text."""
    inventory = batch.inventory
    inventory.kernel_release, inventory.architecture = "6.12.9-fleet", "x86_64"
    inventory.cpu_model, inventory.cgroup_version = "Processor 9354", "v2"
    inventory.nodes[1].memory_bytes = 1 << 32
    for number in range(100):
        inventory.knobs.add(path=f"proc/sys/vm/setting_{number}", value=str(number))
    for number in range(6):
        inventory.benches.add(measured_wall_ns=batch.sealed_wall_ns, cpu_node=number % 2, memory_node=number // 3)
        for name in ("read_latency", "read_bandwidth", "write_bandwidth"):
            inventory.benches[-1].figures.add(name=name, unit="ns", threads=8, median=112.5, p10=109.0, p90=131.0)


_COPIED = {
    "host_recent": "built_at, started_at, ended_at, broken, promoted_total, promoted_seconds, promoted_intervals,"
    " demoted_total, demoted_seconds, demoted_intervals, psi_total, psi_seconds, psi_intervals, swap_in_total,"
    " swap_in_seconds, swap_in_intervals, swap_out_total, swap_out_seconds, swap_out_intervals, page_bytes, verdict,"
    " memory_bytes, top_bytes, one_tier, tiering_off, tier_classes, kernel, dialect",
    "host_layouts": "layout_id, first_seen_at",
    "boots": "boot_id, first_seen_at, last_seen_at, first_sealed_at, last_sealed_at",
    "findings": "finding_id, source, severity, cause, fix, confidence, since",
}
_TEMPLATE = f"1 + (h.id - 1) % {TEMPLATES}"


def _copy_hosts(connection: psycopg.Connection, n_hosts: int, span: Span) -> None:
    """All other hosts: what the first ones have, with values of their own; thirty services on them."""
    connection.execute("SELECT setseed(0.5)")
    connection.execute(
        "INSERT INTO hosts (id, public_id, name, origin, labels, credential_hash, enrolled_at, last_seen_at,"
        " last_end_at, boot_id, agent_version, layout_id) OVERRIDING SYSTEM VALUE"
        " SELECT n, 'h-seeded-' || n, 'host-' || lpad(n::text, 6, '0'), t.origin,"
        " jsonb_build_object('rack', 'r' || n / 40, 'sku', 'sku-' || n % 3), sha256(n::text::bytea), t.enrolled_at,"
        " t.last_seen_at - CASE WHEN n % 50 = 0 THEN interval '1 hour' ELSE interval '0' END, t.last_end_at,"
        f" t.boot_id, 'v1.' || n % 3, t.layout_id FROM generate_series({TEMPLATES + 1}, {n_hosts}) AS n"
        f" JOIN hosts t ON t.id = 1 + (n - 1) % {TEMPLATES}"
    )
    for table, columns in _COPIED.items():
        some = " AND h.id % 10 = 3" if table == "findings" else ""
        connection.execute(
            f"INSERT INTO {table} (host_id, {columns}) SELECT h.id, {columns} FROM (SELECT id FROM hosts) h"
            f" JOIN {table} t ON t.host_id = {_TEMPLATE} WHERE h.id > {TEMPLATES}{some}"
        )
    _vary_inventories(connection, span)
    connection.execute(
        "UPDATE host_recent SET promoted_total = floor(random() * 1e6), demoted_total = floor(random() * 1e6),"
        " promoted_seconds = 3600, demoted_seconds = 3600, promoted_intervals = 60, demoted_intervals = 60,"
        " psi_total = floor(random() * 1e8), psi_seconds = 3600, psi_intervals = 60, verdict = (ARRAY['healthy',"
        " 'healthy', 'harmless_demotion', 'spill', 'futile_ping_pong'])[1 + host_id % 5]"
    )
    connection.execute("DELETE FROM host_services")
    connection.execute(
        "INSERT INTO services (public_id, namespace, name, origin) SELECT 's-seeded-' || n, 'team-' || n % 7,"
        f" 'service-' || n, 'simulated' FROM generate_series(2, {SERVICES}) AS n"
    )
    third = "21 + least(9, floor(log(2, 1000.0 / (1 + h.id % 1000)))::int)"
    for chosen in ("1 + h.id % 10", "11 + h.id / 10 % 10", third):
        connection.execute(
            "INSERT INTO host_services (host_id, service_id, rule, processes, heat_measured)"
            f" SELECT h.id, s.id, 'exe', 2, true FROM hosts h JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n"
            f" FROM services) s ON s.n = {chosen} ON CONFLICT DO NOTHING"
        )
    connection.execute("ANALYZE")


def _vary_inventories(connection: psycopg.Connection, span: Span) -> None:
    """Each host tells of itself; one machine type has RDMA, and each tenth host told of another kernel before."""
    template = _TEMPLATE.replace("%", "%%")
    connection.execute(
        "INSERT INTO inventory (host_id, at, body) SELECT h.id, v.at, t.body || jsonb_build_object('hostname', h.name,"
        " 'cpus_online', 16 * (1 + h.id %% 8), 'kernel_release', '6.12.' || (h.id / 10 + v.older) %% 9 || '-fleet',"
        " 'rdma_devices', CASE h.id %% 3 WHEN 1 THEN to_jsonb(ARRAY['mlx5_0']) ELSE '[]' END)"
        f" FROM hosts h JOIN inventory t ON t.host_id = {template} CROSS JOIN LATERAL (SELECT t.at, 0 AS older UNION"
        " ALL SELECT %s::timestamptz + h.id * interval '1 second', 1 WHERE h.id %% 10 = 0) AS v WHERE h.id > %s",
        (span.start, TEMPLATES),
    )


def _members(connection: psycopg.Connection) -> dict[int, Sequence[int]]:
    rows = connection.execute(
        "SELECT service_id, array_agg(host_id ORDER BY host_id) FROM host_services GROUP BY 1 ORDER BY 1"
    )
    return {int(service): list(hosts) for service, hosts in rows}


def _sum_fleet_moves(database: Database, start: datetime, now: datetime) -> None:
    """What the workers make of all ledgers together, up to the ten minutes that are not over."""
    count = int((now - start) / TEN_MINUTES)
    for first in range(0, count, 144):
        with database.write() as transaction:
            replace_fleet_moves(transaction, [start + at * TEN_MINUTES for at in range(first, min(first + 144, count))])


def _describe_ledgers(database: Database) -> Ledgers:
    plan = plan_host(KEYS, Tiers(frozenset({0}), known=True), page_bytes=4096)
    empty = Ledger(*(np.zeros(shape) for shape in (0, 0, (0, 0), (0, 0), 0)))  # type: ignore[arg-type]
    with database.write() as transaction:
        replace_ledger(transaction, 1, 0, [], empty, plan)
        trust_id = transaction.execute(text("SELECT max(id) FROM ledger_trusts")).scalar_one()
    return Ledgers(tuple(column.column.key for column in plan.columns if column.plus), int(trust_id))


def _copy_heat(database: Database, connection: psycopg.Connection, hosts: Sequence[int], span: Span) -> None:
    """Hourly sums: of some hosts of a service over all days, of all others in the newest hours."""
    service_id = connection.execute("SELECT min(id) FROM services").fetchone()[0]  # type: ignore[index]
    starts = [span.start + at * HOUR for at in range(span.hours)]
    rng = np.random.default_rng(2)
    connection.execute("DELETE FROM heat_1h")
    drawn = hosts[:TEMPLATES]
    for host_id in drawn:
        with database.write() as transaction:
            replace_rollups(transaction, "heat_1h", (host_id, service_id), starts, [draw_week(rng, host_id, starts)])
    names = connection.execute(
        "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'heat_1h'::regclass"
        " AND attnum > 0 AND attname NOT IN ('host_id', 'service_id')"
    ).fetchone()[0]  # type: ignore[index]
    copied = f"INSERT INTO heat_1h (host_id, service_id, {names}) SELECT m.host_id, m.service_id, {names}"
    template = f"t.host_id = (%(drawn)s::bigint[])[1 + m.host_id / 10 %% {TEMPLATES}]"
    values = {"drawn": drawn, "service": service_id, "newest": starts[-3], "whole": list(hosts)}
    connection.execute(
        f"{copied} FROM host_services m JOIN heat_1h t ON {template} WHERE m.service_id = %(service)s"
        " AND m.host_id = ANY(%(whole)s) AND NOT m.host_id = ANY(%(drawn)s) ORDER BY t.ts",
        values,
    )
    connection.execute(
        f"{copied} FROM host_services m JOIN heat_1h t ON {template} AND t.service_id = %(service)s"
        " AND t.ts >= %(newest)s WHERE m.service_id <> %(service)s OR NOT m.host_id = ANY(%(whole)s)",
        values,
    )
    connection.execute("DELETE FROM heat_live")


def _copy_counters(database: Database, connection: psycopg.Connection, span: Span) -> None:
    """Roll-ups of a week and raw samples of a day, of a few hosts."""
    hosts = [
        host
        for (host,) in connection.execute("SELECT id FROM hosts WHERE id %% 10 = 0 ORDER BY id LIMIT %s", (LIVE_HOSTS,))
    ]
    values = "keys_layout_id, first, last, min, max, sum, n"
    connection.execute(f"CREATE TEMP TABLE one AS SELECT {values} FROM metrics_10m WHERE host_id = 1 LIMIT 1")
    for table, width in (("metrics_10m", "10 minutes"), ("metrics_1h", "1 hour"), ("metrics_1d", "1 day")):
        connection.execute(f"DELETE FROM {table}")
        connection.execute(
            f"INSERT INTO {table} (host_id, ts, {values}) SELECT h, at, {values} FROM one,"
            f" generate_series(%s::timestamptz, %s, '{width}') AS at, unnest(%s::bigint[]) AS h",
            (span.start, span.end - timedelta(seconds=1), hosts),
        )
    layout, boot = connection.execute(
        "SELECT layout_id, boot_ref FROM counters_live WHERE host_id = 1 LIMIT 1"
    ).fetchone()  # type: ignore[misc]
    connection.execute("DELETE FROM counters_live")
    copy_live_counters(database, hosts, (layout, len(KEYS)), boot, (span.now - DAY, span.now))
    columns = connection.execute(
        "SELECT string_agg(attname, ', ') FROM pg_attribute WHERE attrelid = 'self_reports'::regclass AND attnum > 0"
        " AND attname NOT IN ('host_id', 'ts')"
    ).fetchone()[0]  # type: ignore[index]
    connection.execute(
        f"INSERT INTO self_reports (host_id, ts, {columns}) SELECT h, ts, {columns} FROM self_reports,"
        " unnest(%s::bigint[]) AS h WHERE host_id = 1",
        (hosts,),
    )


def _make_groups(connection: psycopg.Connection) -> dict[int, int]:
    """Like hosts: three machine types of each service, and all of its hosts."""
    connection.execute(
        "INSERT INTO fleet_groups (service_id, sku, ratio, kernel, agent_version) SELECT id, NULL, NULL, NULL, NULL"
        " FROM services UNION ALL SELECT id, 'sku-' || n, '2:1', '6.12', 'v1.' || n FROM services,"
        " generate_series(0, 2) AS n"
    )
    rows = connection.execute(
        "SELECT g.id, count(*) / CASE WHEN g.sku IS NULL THEN 1 ELSE 3 END FROM fleet_groups g"
        " JOIN host_services m ON m.service_id = g.service_id GROUP BY g.id"
    )
    return {int(group): int(n) for group, n in rows}


def _make_rest(connection: psycopg.Connection, end: datetime) -> None:
    """Alerts, events, advice and daily points."""
    values = {"end": end}
    connection.execute(
        "INSERT INTO alerts (public_id, rule_name, fingerprint, severity, state, subject_kind, subject_id,"
        " subject_name, origin, value, unit, threshold, summary, started_at, fired_at, resolved_at, last_seen_at)"
        " SELECT 'a-' || n, 'rule ' || n %% 12, 'f-' || n, (ARRAY['info', 'warning', 'critical'])[1 + n %% 3],"
        " CASE WHEN n <= 300 THEN 'firing' ELSE 'resolved' END, 'host', h.public_id, h.name, h.origin, 0.5, 'ratio',"
        " 0.4, 'more than usual', %(end)s::timestamptz - n * interval '1 minute', %(end)s::timestamptz - n *"
        " interval '1 minute', CASE WHEN n > 300 THEN %(end)s::timestamptz - (n - 30) * interval '1 minute' END,"
        " %(end)s FROM generate_series(1, 6000) AS n JOIN (SELECT public_id, name, origin, row_number() OVER (ORDER BY"
        " id) AS k FROM hosts) h ON h.k = 1 + n * 7 %% (SELECT count(*) FROM hosts)",
        values,
    )
    connection.execute(
        "INSERT INTO alert_changes (alert_id, fingerprint, at, from_state, to_state, severity, summary)"
        " SELECT id, fingerprint, started_at, 'ok', 'firing', severity, summary FROM alerts"
        " UNION ALL SELECT id, fingerprint, resolved_at, 'firing', 'resolved', severity, summary FROM alerts"
        " WHERE resolved_at IS NOT NULL"
    )
    connection.execute(
        "INSERT INTO events (at, kind, text, service_id) SELECT %(end)s::timestamptz - n * interval '5 minutes',"
        " 'deploy', 'release ' || n, s.id FROM generate_series(1, 2000) AS n"
        " JOIN (SELECT id, row_number() OVER (ORDER BY id) AS k FROM services) s ON s.k = 1 + n %% 30",
        values,
    )
    connection.execute(
        "INSERT INTO capacity_days (kind, subject, ts, made_at, n_hosts, n_hours, heat_hosts, heat_method,"
        " resident_source, capacity_bytes, dram_bytes, used_bytes, resident_bytes, hot_bytes, cold_bytes,"
        " untouched_bytes, stranded_bytes, busy_cores) SELECT 'service', s.public_id, date_trunc('day',"
        " %(end)s::timestamptz) - n * interval '1 day', %(end)s, 1000, 24, 1000, 'abit_walk', 'heat', 1e15, 8e14, 5e14,"
        " 4e14 + n * 1e11, 1e14, 2e14, 1e13, 1e13, 2000 FROM services s, generate_series(1, %(days)s) AS n",
        values | {"days": CAPACITY_DAYS},
    )


def _found(connection: psycopg.Connection, end: datetime) -> Fleet:
    rows = connection.execute("SELECT public_id FROM services ORDER BY id").fetchall()
    host = connection.execute("SELECT public_id FROM hosts WHERE id = 10").fetchone()
    count = connection.execute("SELECT count(*) FROM hosts").fetchone()
    assert host is not None
    assert count is not None
    return Fleet(rows[0][0], rows[20][0], host[0], count[0], end)
