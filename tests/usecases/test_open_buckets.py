"""Open buckets are extended by new samples: row by row the same as if each had been rebuilt whole."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text

from factories import batches
from factories.derived import day_before, internal_id, to_ns
from factories.installations import Enrolled, enrol, store
from fixtures.elsewhere import long
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.base.jobs import COUNTERS, JOBS
from tierscope.storage.base.dirty_buckets import Waiting, barely_due, waiting_subjects
from tierscope.storage.counters.rows import read_packed
from tierscope.storage.ledger.rows import replace_ledger
from tierscope.usecases.rebuild import counters, open_buckets
from tierscope.usecases.rebuild import drain as drains
from tierscope.usecases.rebuild.counters import Buckets, rebuild_closed_counters_of_hosts, rebuild_counters
from tierscope.usecases.rebuild.drain import Drained, DrainMarks
from tierscope.usecases.rebuild.open_buckets import OpenBuckets

KEYS = tuple(
    sorted(
        [
            f"host|vmstat|{name}"
            for name in ("pgdemote_direct", "pgdemote_kswapd", "pgpromote_success", "pgalloc_normal")
        ]
        + [f"host|vmstat|{name}" for name in ("pgpromote_candidate", "numa_hint_faults", "numa_pte_updates")]
        + ["host|meminfo|MemTotal", "host|meminfo|MemAvailable", "node:0|meminfo|MemFree"]
        + [f"node:{node}|vmstat|{name}" for node in (0, 1) for name in ("nr_active_anon", "nr_inactive_anon")]
        + [f"service:demo/cache|memory.stat|{name}" for name in ("pgpromote_success", "pgdemote_kswapd", "pgfault")]
    )
)
TPP = tuple(sorted((*KEYS, "host|vmstat|pgpromote_candidate_demoted")))
LAST = 26
TABLES = {
    "tier_moves": "service_id, ts",
    "rule_inputs": "service_id, ts",
    "metrics_10m": "ts",
    "host_recent": "1",
}
native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def values(keys: tuple[str, ...], minute: int, *, hole: bool, back: bool) -> list[int | None]:
    """One sample: every counter grows by another amount; a value may be missing, or a counter begin anew."""
    found: list[int | None] = []
    for place, key in enumerate(keys):
        steady = "nr_" in key or "meminfo" in key
        grown = (
            5_000_000 + (minute % 7) * 999 if steady else (place + 3) * 40_000 * minute + (minute % 5) * 1009 * place
        )
        found.append(grown)
    if hole:
        found[2] = None
    if back:
        found[3] = 1
    return found


def send(database: Database, host: Enrolled, start: datetime, minute: int, *, keys: tuple[str, ...] = KEYS) -> None:
    """A minute's batch of a host, with a reboot, a hole, a counter that goes back and a gap on the way."""
    ends = to_ns(start + timedelta(minutes=minute))
    batch = batches.make_batch(host_id=host.id, seq=minute, sealed_wall_ns=ends)
    boot = "boot-2" if minute > 21 else "boot-1"
    row = values(keys, minute, hole=minute == 8, back=minute == 12)
    batches.add_counters(batch, [row], ends_ns=[ends], keys=keys, boot_ids=[boot])
    if minute == 1:
        batches.add_inventory(batch)
    assert store(database, host, [batch])


def rows_of(database: Database, host_id: int) -> dict[str, list[dict[str, str]]]:
    """All that is made of a host's counters, without who it is and when it was made."""
    found = {}
    with database.read() as session:
        for table, order in TABLES.items():
            rows = session.execute(
                text(f"SELECT * FROM {table} WHERE host_id = :host ORDER BY {order}"), {"host": host_id}
            )
            found[table] = [
                {name: str(value) for name, value in row.items() if name not in ("host_id", "built_at")}
                for row in rows.mappings()
            ]
    return found


def refuse(*_: object, **__: object) -> None:
    """What a worker that cannot extend does: each host is rebuilt by itself."""
    raise ValueError("not together")


class Workers:
    """One that extends the buckets of a host, and one that rebuilds those of another whole, minute by minute."""

    def __init__(self, database: Database, patched: pytest.MonkeyPatch, whole: int) -> None:
        self._database = database
        self._patched = patched
        self._whole = whole
        self.open = OpenBuckets()
        self.rebuilt: list[int] = []
        rebuild = rebuild_counters

        def noting(transaction: object, claimed: object) -> None:
            self.rebuilt.append(claimed.subject_id)  # type: ignore[attr-defined]
            rebuild(transaction, claimed)  # type: ignore[arg-type]

        patched.setattr(open_buckets, "rebuild_counters", noting)

    def drain(self, at: datetime) -> None:
        def others(*arguments: object, **options: object) -> list[Waiting]:
            found = waiting_subjects(*arguments, **options)  # type: ignore[arg-type]
            return [item for item in found if item.subject_id != self._whole]

        with self._patched.context() as patched:
            patched.setattr(drains, "waiting_subjects", others)
            assert DrainMarks(self._database, lambda: at, open_buckets=self.open).run().failures == {}
        with self._patched.context() as patched:
            patched.setattr(OpenBuckets, "extend", refuse)
            assert DrainMarks(self._database, lambda: at).run().failures == {}


@pytest.mark.parametrize("keys", [KEYS, pytest.param(TPP, marks=long)], ids=["mainline", "tpp"])
@native
def test_each_new_row_is_the_one_that_a_rebuild_of_its_bucket_makes(
    database: Database, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    extended, rebuilt = (enrol(database, name=name) for name in ("extended", "rebuilt"))
    ids = [internal_id(database, host) for host in (extended, rebuilt)]
    workers, start = Workers(database, monkeypatch, ids[1]), day_before()
    minutes = [minute for minute in range(1, LAST + 1) if not 15 <= minute <= 18]
    for minute in minutes:
        for host in (extended, rebuilt):
            send(database, host, start, minute, keys=keys)
        workers.drain(start + timedelta(minutes=minute, seconds=20))
        one, other = (rows_of(database, host_id) for host_id in ids)
        newest = f"minute {minute}"
        assert one["tier_moves"] == other["tier_moves"], newest
        assert one["rule_inputs"] == other["rule_inputs"], newest
        assert one["host_recent"] == other["host_recent"], newest
    assert len(rows_of(database, ids[0])["tier_moves"]) == 2 * (len(minutes) - 1)
    assert workers.rebuilt == []
    workers.drain(start + timedelta(minutes=LAST + 20))
    one, other = (rows_of(database, host_id) for host_id in ids)
    assert one == other
    assert len(one["metrics_10m"]) == 3


@native
def test_a_sample_that_comes_late_rebuilds_its_open_bucket(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    late, whole = (enrol(database, name=name) for name in ("late", "whole"))
    ids = [internal_id(database, host) for host in (late, whole)]
    workers, start = Workers(database, monkeypatch, ids[1]), day_before()
    for minute in (1, 2, 3, 5, 6, 4, 7):
        for host in (late, whole):
            send(database, host, start, minute)
        workers.drain(start + timedelta(minutes=8))
    one, other = (rows_of(database, host_id) for host_id in ids)
    assert one["tier_moves"] == other["tier_moves"]
    assert [row["dt_seconds"] for row in one["tier_moves"] if row["service_id"] == "0"] == ["60.0"] * 6
    assert workers.rebuilt == [ids[0]]


@native
def test_what_another_worker_made_is_read_again(database: Database) -> None:
    host, start = enrol(database), day_before()
    host_id = internal_id(database, host)
    first, second = OpenBuckets(), OpenBuckets()
    for minute in range(1, 9):
        send(database, host, start, minute)
        moment = start + timedelta(minutes=minute, seconds=5)
        DrainMarks(database, lambda at=moment: at, open_buckets=(first, second)[minute % 2]).run()  # type: ignore[misc]
    found = [row for row in rows_of(database, host_id)["tier_moves"] if row["service_id"] == "0"]
    assert len(found) == 7
    assert {row["dt_seconds"] for row in found} == {"60.0"}


@native
def test_a_bucket_that_closes_with_the_same_rows_is_not_written_again(database: Database) -> None:
    host, start = enrol(database), day_before()
    opened = OpenBuckets()
    for minute in range(1, 11):
        send(database, host, start, minute)
        moment = start + timedelta(minutes=minute, seconds=5)
        DrainMarks(database, lambda at=moment: at, open_buckets=opened).run()  # type: ignore[misc]
    with database.read() as session:
        before = session.execute(text("SELECT ts, xmin::text FROM tier_moves ORDER BY 1")).all()
    done = DrainMarks(database, lambda: start + timedelta(minutes=15), open_buckets=opened).run()
    assert done.buckets["counters_closed"] == 1
    with database.read() as session:
        assert session.execute(text("SELECT ts, xmin::text FROM tier_moves ORDER BY 1")).all() == before
        assert session.execute(text("SELECT count(*) FROM metrics_10m")).scalar_one() == 1


GAP = range(15, 19)
RECORDINGS = {
    "mainline": [(minute, KEYS) for minute in range(1, LAST + 1)],
    "mainline again": [(minute, KEYS) for minute in range(1, LAST + 1)],
    "no inventory": [(minute, KEYS) for minute in range(4, LAST + 1)],
    "tpp": [(minute, TPP) for minute in range(1, LAST + 1)],
    "other layout": [(minute, KEYS if minute < 7 else TPP) for minute in range(1, LAST + 1)],
    "late": [*((minute, KEYS) for minute in range(1, LAST + 1) if minute not in (9, 10)), (9, KEYS), (10, KEYS)],
    "stopped": [(minute, KEYS) for minute in range(1, 7)],
}
"""What hosts send, in order, by minute and layout: what is late comes with the last minutes."""


def send_recordings(database: Database, start: datetime, hosts: dict[str, Enrolled], minutes: Sequence[int]) -> None:
    """Store what hosts, which are named after their recordings, send in these minutes."""
    for name, host in hosts.items():
        sent = RECORDINGS[name.partition("/")[0]]
        for place, (minute, keys) in enumerate(sent):
            last = max(before for before, _ in sent[: place + 1])
            if minute not in GAP and last in minutes:
                send(database, host, start, minute, keys=keys)


def close(database: Database, at: datetime) -> Drained:
    """Close all buckets as if none had been extended: their rows are made now."""
    with database.write() as transaction:
        transaction.execute(text("UPDATE marks SET kind = 'counters_closed' WHERE kind = 'counters'"))
    return DrainMarks(database, lambda: at, jobs=[job for job in JOBS if job is not COUNTERS]).run()


def closed_rows(database: Database, host_id: int, start: datetime) -> dict[str, object]:
    """All that is made of a host's counters once their buckets have closed, and what is asked for next."""
    found: dict[str, object] = dict(rows_of(database, host_id))
    with database.read() as session:
        asked = text("SELECT kind, service_id, bucket FROM marks WHERE subject_id = :host ORDER BY 1, 2, 3")
        found["marks"] = session.execute(asked, {"host": host_id}).all()
        metrics = text("SELECT * FROM metrics_1h WHERE host_id = :host ORDER BY ts")
        hours = session.execute(metrics, {"host": host_id}).mappings()
        found["metrics_1h"] = [{name: str(value) for name, value in row.items() if name != "host_id"} for row in hours]
        found["packs"] = [
            (
                part.times_us.tolist(),
                np.unique(part.boots, return_inverse=True)[1].tolist(),
                part.keys,
                part.values.tolist(),
                part.present.tolist(),
            )
            for part in read_packed(session, host_id, start, start + timedelta(hours=2))
        ]
    return found


@native
def test_hosts_that_are_closed_together_get_what_each_gets_by_itself(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = day_before()
    hosts = {f"{name}/{way}": enrol(database, name=f"{name} {way}") for name in RECORDINGS for way in ("many", "one")}
    ids = {name: internal_id(database, host) for name, host in hosts.items()}
    alone = {host_id for name, host_id in ids.items() if name.endswith("/one")}
    together: list[list[int]] = []

    def due(*arguments: object, **options: object) -> dict[int, list[int]]:
        found = barely_due(*arguments, **options)  # type: ignore[arg-type]
        return {service: [host for host in some if host not in alone] for service, some in found.items()}

    def noted(transaction: WriteTransaction, claimed: Buckets, *, now: datetime) -> None:
        together.append(sorted(claimed))
        rebuild_closed_counters_of_hosts(transaction, claimed, now=now)

    monkeypatch.setattr(drains, "barely_due", due)
    monkeypatch.setattr(drains, "rebuild_closed_counters_of_hosts", noted)
    moments = {22: range(1, 21), 40: range(21, LAST + 1), 200: range(0)}
    for minute, sent in moments.items():
        if sent:
            send_recordings(database, start, hosts, sent)
        assert close(database, start + timedelta(minutes=minute)).failures == {}
        for name in RECORDINGS:
            one, other = (closed_rows(database, ids[f"{name}/{way}"], start) for way in ("many", "one"))
            assert one == other, (name, minute)
            assert one["tier_moves"]
            assert one["rule_inputs"]
    assert together[:2] == [
        sorted(set(ids.values()) - alone),
        sorted(host_id for name, host_id in ids.items() if host_id not in alone and not name.startswith("stopped")),
    ]
    assert len(closed_rows(database, ids["mainline/many"], start)["packs"]) == 1  # type: ignore[arg-type]


@native
def test_a_host_that_cannot_be_closed_does_not_hold_back_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = day_before()
    hosts = {f"mainline/{number}": enrol(database, name=f"node-{number}") for number in range(3)}
    send_recordings(database, start, hosts, range(1, 11))
    ids = [internal_id(database, host) for host in hosts.values()]

    def breaking(transaction: WriteTransaction, host_id: int, *rest: object) -> None:
        if host_id == ids[1]:
            raise ValueError("data that cannot be worked")
        replace_ledger(transaction, host_id, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(counters, "replace_ledger", breaking)
        assert close(database, start + timedelta(minutes=12)).failures == {"counters_closed": 1}
    rows = [closed_rows(database, host_id, start) for host_id in ids]
    assert rows[0] == rows[2]
    assert (len(rows[0]["tier_moves"]), rows[1]["tier_moves"]) == (18, [])  # type: ignore[arg-type]
    assert close(database, start + timedelta(minutes=12)).failures == {}
    assert closed_rows(database, ids[1], start) == rows[0]
