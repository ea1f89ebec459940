"""Open buckets are extended by new samples: row by row the same as if each had been rebuilt whole."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from factories import batches
from factories.derived import day_before, internal_id, to_ns
from factories.installations import Enrolled, enrol, store
from tierscope.core.database import Database
from tierscope.storage.base.dirty_buckets import Waiting, waiting_subjects
from tierscope.usecases.rebuild import drain as drains
from tierscope.usecases.rebuild import open_buckets
from tierscope.usecases.rebuild.counters import rebuild_counters
from tierscope.usecases.rebuild.drain import DrainMarks
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


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        yield opened


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
        """Work off all that is due."""

        def others(*arguments: object, **options: object) -> list[Waiting]:
            found = waiting_subjects(*arguments, **options)  # type: ignore[arg-type]
            return [item for item in found if item.subject_id != self._whole]

        with self._patched.context() as patched:
            patched.setattr(drains, "waiting_subjects", others)
            assert DrainMarks(self._database, lambda: at, open_buckets=self.open).run().failures == {}
        with self._patched.context() as patched:
            patched.setattr(OpenBuckets, "extend", refuse)
            assert DrainMarks(self._database, lambda: at).run().failures == {}


@pytest.mark.parametrize("keys", [KEYS, TPP], ids=["mainline", "tpp"])
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
