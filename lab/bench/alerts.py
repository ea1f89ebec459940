"""Alert rules: one live evaluation of 20 rules on 10,000 hosts, and a backtest of 30 days on 1,000 hosts.

Both read what the worker stores: rows of the newest minutes, and packed days. The store is a durable PostgreSQL on the
same two cores. The references are COPY of the same bytes.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from sqlalchemy import text

from bench.figures import Row, Section, median
from fixtures.servers import running_cluster
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.alerts.rules import Rule
from tierscope.domain.alerts.vocabulary import STORED
from tierscope.storage.alerts.rule_inputs import RULES as RULE_INPUTS
from tierscope.storage.alerts.rule_inputs import InputRows
from tierscope.storage.base.binary import copy_out
from tierscope.storage.base.layouts import ensure_layout
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.alerts.backtest import BacktestRequest, Backtests
from tierscope.usecases.alerts.evaluate import EvaluateRules
from tierscope.usecases.alerts.rules import Rules, shipped_rules

LIVE_HOSTS, RULES = 10_000, 20
BACKTEST_HOSTS, DAYS = 1000, 30
LIVE_MINUTES = 64
"""As far back as the rule on silent agents looks."""
TEMPLATES = 20
"""Host-days of which all others are copies; what is read is stored for each host-day."""
LIVE_SECONDS, BACKTEST_SECONDS = 10.0, 5.0
RUNS = 5
Taken = tuple[float, float]
"""Seconds that passed, and seconds of CPU of the process itself, without the database's."""
KINDS = {series.key: series.kind for series in STORED if "host" in series.scopes and series.kind != "age"}
NAMES = tuple(sorted(KINDS))
OWN = (
    Rule("moves-fast", "avg_over(tier_move_bytes, 10m) > 500MB/s", for_seconds=300, recovery_threshold="400MB/s"),
    Rule("refaults", "rate(refault_anon_pages, 5m) > 5000/s", n=3, m=5),
    Rule("residency-low", "quantile_over(10%, top_residency_ratio, 15m) < 20%", keep_firing_for_seconds=300),
)
TRIED = Rule(
    "tried",
    "ping_pong_state >= warn and avg_over(tier_move_bytes, 5m) > 1kB/s",
    for_seconds=180,
    keep_firing_for_seconds=600,
)


def measure(*, live_hosts: int = LIVE_HOSTS, backtest_hosts: int = BACKTEST_HOSTS, days: int = DAYS) -> Section:
    """Seed both stores and time both."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    with running_cluster("native", durable=True) as cluster:
        url = cluster.url()
        upgrade(url)
        database = Database(url, read_statement_seconds=60.0)
        seed_hosts(database, live_hosts)
        live = time_live(database, live_hosts, now)
        packed, copied, stored_bytes, cells = time_backtest(database, backtest_hosts, days, now)
        database.close()
    return describe(live_hosts, live, (backtest_hosts, days), packed, copied, stored_bytes, cells)


def seed_hosts(database: Database, n: int) -> None:
    statement = text(
        "INSERT INTO hosts (public_id, name, origin, credential_hash, enrolled_at, last_end_at)"
        " SELECT 'h' || i, 'host-' || i, 'live', decode(md5(i::text), 'hex'), now() - interval '60 days', now()"
        " FROM generate_series(1, :n) AS i"
    )
    with database.write() as transaction:
        transaction.execute(statement, {"n": n})
        transaction.execute(text("ANALYZE hosts"))


def day_of(rng: np.random.Generator, n: int, minutes: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Values of one host [minutes, names]: counts that vary, sizes that drift, words that hardly change."""
    values = rng.poisson(rng.gamma(1.0, 40_000.0, len(NAMES)), (minutes, len(NAMES))).astype(np.float64)
    for place, name in enumerate(NAMES):
        if name.endswith("_bytes"):
            values[:, place] = 2.0**36 + 4096.0 * np.cumsum(rng.integers(-200, 200, minutes))
        if name in ("ping_pong_state", "verdict", "agent_budget"):
            values[:, place] = 0.0
    if n % TEMPLATES == 0 and minutes > LIVE_MINUTES:
        values[300:400, NAMES.index("ping_pong_state")] = 2.0
    return values


def time_live(database: Database, hosts: int, now: datetime) -> list[Taken]:
    """Seconds and CPU of evaluations of one minute each, of all rules and hosts, with all that they read and store."""
    for rule in OWN[: RULES - len(shipped_rules())]:
        Rules(database).create(rule, actor="bench")
    start = now - timedelta(minutes=LIVE_MINUTES)
    with database.write() as transaction:
        ensure_partitions(transaction, start - timedelta(days=1), now + timedelta(days=1))
        seed_minutes(transaction, hosts, start, LIVE_MINUTES + RUNS)
        transaction.execute(text("ANALYZE rule_inputs"))
    EvaluateRules(database, lambda: now + timedelta(seconds=140)).run()
    taken = []
    for run in range(1, RUNS + 1):
        moment = now + timedelta(minutes=run, seconds=140)
        began, cpu = time.perf_counter(), time.process_time()
        done = EvaluateRules(database, lambda at=moment: at).run()  # type: ignore[misc]
        taken.append((time.perf_counter() - began, time.process_time() - cpu))
        assert done.minutes == 1
    with database.read() as session:
        found = session.execute(text("SELECT count(DISTINCT subject_id) FROM alerts")).scalar_one()
    assert found <= hosts / 50, f"{found} hosts of a quiet fleet have alerts: the data is not what it is meant to be"
    return taken


def seed_minutes(transaction: WriteTransaction, hosts: int, start: datetime, minutes: int) -> None:
    """Rows of all hosts, each minute, of values that differ by host and minute."""
    layout = ensure_layout(transaction, NAMES)
    base = np.array([_quiet(name) for name in NAMES])
    statement = text(
        "INSERT INTO rule_inputs (host_id, service_id, ts, layout_id, dt_seconds, lag_seconds, vals)"
        " SELECT h.id, 0, CAST(:start AS timestamptz) + m * interval '1 minute', :layout, 60, 30,"
        " (SELECT array_agg((v + (h.id * 7919 + m * 104729) % 100 * (v > 100)::int)"
        "   * CASE WHEN h.id % 100 = 0 AND v BETWEEN 100 AND 1e6 THEN 5000 ELSE 1 END ORDER BY o)"
        "  FROM unnest(CAST(:base AS float8[])) WITH ORDINALITY AS b (v, o))"
        " FROM hosts h, generate_series(1, :minutes) AS m WHERE h.id <= :hosts"
    )
    values = {"start": start, "layout": layout, "base": base.tolist(), "minutes": minutes, "hosts": hosts}
    transaction.execute(text("SET LOCAL statement_timeout = 0"))
    transaction.execute(statement, values)


def _quiet(name: str) -> float:
    """A value at which no rule fires; one host in a hundred has flows five thousand times as large."""
    if KINDS[name] == "gauge" and name.endswith("_bytes"):
        return 2.0**37 if "free" in name or "available" in name else 2.0**38
    if KINDS[name] == "words" or name in (
        "oom_kills",
        "candidates_demoted",
        "followed_round_trips",
        "agent_samples_lost",
    ):
        return 0.0
    return 10.0 if name == "slow_tier_samples" else 600.0


def time_backtest(
    database: Database, hosts: int, days: int, now: datetime
) -> tuple[list[Taken], list[float], int, int]:
    """Seconds and CPU of whole backtests and of COPY of the columns that they read; bytes stored, and host-minutes."""
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM hosts WHERE id > :n"), {"n": hosts})
        transaction.execute(text("TRUNCATE rule_inputs"))
        seed_days(transaction, days, now)
        transaction.execute(text("ANALYZE rule_days"))
    end = now.replace(hour=0, minute=0)
    asked = BacktestRequest(TRIED, (end - timedelta(days=days)).isoformat(), end.isoformat())
    taken, copied = [], []
    for _ in range(3):
        began, cpu = time.perf_counter(), time.process_time()
        view = Backtests(database, clock=lambda: now).run(asked)
        taken.append((time.perf_counter() - began, time.process_time() - cpu))
        assert view.n_subjects == hosts
        assert view.fired == hosts // TEMPLATES * days
    needed = [NAMES.index(name) + 4 for name in ("demoted_pages", "ping_pong_state", "promoted_pages")]
    cuts = ", ".join(
        f"substring(body FROM offsets[{i}] + 1 FOR offsets[{i + 1}] - offsets[{i}])" for i in [1, 2, 3, *needed]
    )
    with database.read() as session:
        for _ in range(3):
            began = time.perf_counter()
            assert sum(1 for _ in copy_out(session, f"SELECT {cuts} FROM rule_days")) == hosts * days
            copied.append(time.perf_counter() - began)
        stored = session.execute(text("SELECT sum(octet_length(body)) FROM rule_days")).scalar_one()
    return taken, copied, int(stored), hosts * days * 1440


def seed_days(transaction: WriteTransaction, days: int, now: datetime) -> None:
    """Packed days: templates by the worker's own code, and copies of them for all other hosts."""
    transaction.execute(text("SET LOCAL statement_timeout = 0"))
    rng = np.random.default_rng(11)
    midnight = now.replace(hour=0, minute=0)
    ensure_partitions(transaction, midnight - timedelta(days=days + 1), midnight)
    for day in range(1, days + 1):
        at = midnight - timedelta(days=day)
        ends = at.timestamp() + 60.0 * np.arange(1.0, 1441.0)
        for host in range(1, TEMPLATES + 1):
            ids, services = np.full(1440, host), np.full(1440, 0)
            rows = InputRows(
                ids, services, ends, np.full(1440, 60.0), np.full(1440, 35.0), NAMES, day_of(rng, host, 1440)
            )
            RULE_INPUTS.store(transaction, host, at, [rows])
    copies = text(
        "INSERT INTO rule_days SELECT h.id, 0, d.ts, d.layout_id, d.n, d.offsets, d.body FROM hosts h JOIN rule_days d"
        " ON d.host_id = (h.id - 1) % :templates + 1 WHERE h.id > :templates"
    )
    transaction.execute(copies, {"templates": TEMPLATES})


def describe(
    live_hosts: int,
    live: Sequence[Taken],
    backtest: tuple[int, int],
    packed: Sequence[Taken],
    copied: Sequence[float],
    stored_bytes: int,
    cells: int,
) -> Section:
    hosts, days = backtest
    one, whole = median([wall for wall, _ in live]), median([wall for wall, _ in packed])
    one_cpu, whole_cpu, by_copy = median([cpu for _, cpu in live]), median([cpu for _, cpu in packed]), median(copied)
    return Section(
        title=f"Alert rules: {live_hosts:,} hosts x {RULES} rules, and {hosts:,} hosts x {days} days",
        rows=[
            Row(
                f"one live evaluation, {live_hosts:,} hosts x {RULES} rules",
                f"{one:.2f} s ({one_cpu:.2f} s of CPU)",
                target=f"at most {LIVE_SECONDS:.0f} s",
                met=one <= LIVE_SECONDS,
            ),
            Row(
                f"backtest of one rule, {hosts:,} hosts x {days} days of minutes",
                f"{whole:.2f} s ({whole_cpu:.2f} s of CPU)",
                f"{by_copy:.2f} s",
                whole / by_copy,
                f"at most {BACKTEST_SECONDS:.0f} s",
                whole <= BACKTEST_SECONDS,
            ),
            Row("stored per host-day, packed", f"{stored_bytes / cells * 1440 / 1024:.0f} KiB"),
        ],
        notes=[
            f"Live: median of {RUNS} minutes, with reading an hour of rows and storing states and alerts.",
            "Backtest: three stored series, a mean over five minutes, `for` and `keep_firing_for`.",
            "The reference is COPY of the same columns, still packed.",
        ],
    )
