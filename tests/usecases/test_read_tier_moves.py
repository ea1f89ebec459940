"""The ledger as read: totals from raw counters, resets, gaps, and services that have no counters of their own."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from factories import batches
from factories.installations import Enrolled, enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.storage.base.subjects import hosts_of_service
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ledger.answers import Ledger
from tierscope.usecases.ledger.reads import LedgerReads
from tierscope.usecases.rebuild.drain import DrainMarks

KEYS = (
    "host|vmstat|numa_hint_faults",
    "host|vmstat|pgdemote_direct",
    "host|vmstat|pgdemote_kswapd",
    "host|vmstat|pgpromote_success",
    "node:0|vmstat|nr_active_anon",
    "node:0|vmstat|nr_active_file",
    "node:0|vmstat|nr_inactive_anon",
    "node:0|vmstat|nr_inactive_file",
)
WHOLE_KEYS = tuple(
    sorted({*KEYS, "host|vmstat|nr_free_pages", "host|vmstat|pgfault", "host|vmstat|unevictable_pgs_stranded"})
)
"""With counters that every kernel prints: what is absent beside them is the kernel's."""
MINUTE = batches.MINUTE_NS
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def sample(i: int) -> list[int | None]:
    """Sample i: promotions grow by squares, so that every difference is another."""
    return [10 * i, i, 1000 + 50 * i, 7_000_000 + i * i, 100, 100, 100, 100]


def send(
    database: Database,
    host: Enrolled,
    rows: Sequence[Sequence[int | None]],
    ends: Sequence[int],
    boots: Sequence[str] = (),
    keys: Sequence[str] = KEYS,
) -> None:
    """Stores samples that end at `ends` and an inventory."""
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=max(ends))
    batches.add_counters(batch, rows, ends_ns=ends, keys=keys, boot_ids=boots)
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def reads(database: Database, end_ns: int) -> LedgerReads:
    """Reads whose clock stands at `end_ns`."""
    now = datetime.fromtimestamp(end_ns / 1e9, tz=UTC)
    return LedgerReads(ReadContext(database, lambda: now, Settings(_env_file=None)))


def total(view: Ledger, key: str) -> float | None:
    return next(column.total.value for column in view.columns if column.key == key)


def line(view: Ledger, key: str) -> tuple[float | None, ...]:
    return next(series.values for series in view.series if series.key == key)


def test_totals_are_last_minus_first_of_the_raw_counters(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    ends = [now - (20 - i) * MINUTE for i in range(21)]
    send(database, host, [sample(i) for i in range(21)], ends)
    view = reads(database, now).host(host.id, from_="-10m", to=None, max_points=500)
    assert total(view, "promoted_pages") == 20 * 20 - 10 * 10
    assert total(view, "demoted_kswapd_pages") == 500
    assert total(view, "demoted_pages") == 500 + 10
    assert view.axis.step_seconds == 60
    assert line(view, "promoted_pages") == tuple((2 * i - 1) / 60 for i in range(11, 21))
    assert view.resets == ()
    assert view.ping_pong.kind == "upper_bound"
    assert view.ping_pong.ratio.value == pytest.approx(300 / 300)
    churn = view.ping_pong.churn_pages_per_s
    assert churn.value == pytest.approx(300 / 600)
    assert churn.interval is not None
    assert churn.interval.kind == "bounds"


def test_fewer_points_keep_the_sum(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns() // (20 * MINUTE) * 20 * MINUTE
    ends = [now - (20 - i) * MINUTE for i in range(21)]
    send(database, host, [sample(i) for i in range(21)], ends)
    view = reads(database, now).host(host.id, from_="-20m", to=None, max_points=4)
    assert view.axis.step_seconds == 300
    values = line(view, "promoted_pages")
    assert len(values) == 4
    assert sum(value * 300 for value in values if value is not None) == pytest.approx(400)
    assert total(view, "promoted_pages") == 400


def test_a_reboot_is_left_out_and_named(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    ends = [now - (9 - i) * MINUTE for i in range(10)]
    rows = [sample(i + 50) for i in range(5)] + [sample(i) for i in range(5)]
    boots = [batches.BOOT] * 5 + ["99999999-2222-3333-4444-555555555555"] * 5
    send(database, host, rows, ends, boots)
    view = reads(database, now).host(host.id, from_="-1h", to=None, max_points=500)
    assert total(view, "demoted_kswapd_pages") == 200 + 200
    assert [reset.at for reset in view.resets] == [ends[5] / 1e9]
    assert "reboot" in view.resets[0].cause
    assert "promoted_pages" in view.resets[0].columns


def test_missing_minutes_are_gaps_and_not_zero(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    kept = [0, 1, 2, 3, 8, 9]
    ends = [now - (9 - i) * MINUTE for i in kept]
    send(database, host, [sample(i) for i in kept], ends)
    view = reads(database, now).host(host.id, from_="-9m", to=None, max_points=500)
    values = line(view, "demoted_kswapd_pages")
    assert values[3:7] == (None, None, None, None)
    assert values[7] == pytest.approx(250 / 300)
    assert total(view, "demoted_kswapd_pages") == 450


def test_what_schemes_of_damon_moved_stands_beside_the_pages_of_others(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    keys = ("host|damos|sz_applied[k0.c0.s0.migrate_cold.N1]", *KEYS)
    rows = [[65536 * i, *sample(i)] for i in range(6)]
    batches.add_counters(batch, rows, ends_ns=[now - (5 - i) * MINUTE for i in range(6)], keys=keys)
    batches.add_inventory(batch)
    batch.inventory.page_size_bytes = 65536
    assert store(database, host, [batch])
    view = reads(database, now).host(host.id, from_="-10m", to=None, max_points=500)
    assert view.page_bytes == 65536
    assert total(view, "damon_demoted_bytes") == 5 * 65536
    assert {value for value in line(view, "damon_demoted_bytes") if value} == {65536 / 60}
    absent = next(column for column in view.columns if column.key == "damon_promoted_bytes")
    assert (absent.total.value, absent.total.status) == (None, "not_supported")
    assert "No scheme of DAMON" in str(absent.total.reason)
    assert [state.moves for state in view.services] == [()]


def test_columns_that_the_kernel_lacks_are_not_supported(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    rows = [[dict(zip(KEYS, sample(i), strict=True)).get(key, i) for key in WHOLE_KEYS] for i in range(2)]
    send(database, host, rows, [now - MINUTE, now], keys=WHOLE_KEYS)
    view = reads(database, now).host(host.id, from_="-1h", to=None, max_points=500)
    column = next(column for column in view.columns if column.key == "swap_in_pages")
    assert column.trust == "not_supported"
    assert (column.total.status, column.total.value) == ("not_supported", None)
    assert "pswpin" in column.trust_note
    assert "swap_in_pages" not in {series.key for series in view.series}
    assert view.ping_pong.verdict == "not_known"


def test_a_service_without_counters_of_its_own_shows_its_hosts_and_says_so(database: Database) -> None:
    now = batches.now_ns()
    hosts = [enrol(database, name=name) for name in ("node-1", "node-2")]
    for host in hosts:
        send(database, host, [sample(i) for i in range(6)], [now - (5 - i) * MINUTE for i in range(6)])
    with database.read() as session:
        service_id = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
        assert len(hosts_of_service(session, 1)) == 2
    view = reads(database, now).service(service_id, from_="-1h", to=None, max_points=500)
    assert view.n_hosts == 2
    assert total(view, "promoted_pages") == 2 * 25
    column = next(column for column in view.columns if column.key == "promoted_pages")
    assert column.trust == "bound"
    assert column.total.warnings
    assert column.trust_note.startswith("Whole hosts")


def test_a_service_with_counters_of_its_own(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    own = ("service:demo/cache|memory.stat|pgdemote_kswapd", "service:demo/cache|memory.stat|pgpromote_success")
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    rows = [[*sample(i), 3 * i, 2 * i] for i in range(6)]
    batches.add_counters(batch, rows, ends_ns=[now - (5 - i) * MINUTE for i in range(6)], keys=(*KEYS, *own))
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    with database.read() as session:
        service_id = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    view = reads(database, now).service(service_id, from_="-1h", to=None, max_points=500)
    assert (total(view, "promoted_pages"), total(view, "demoted_kswapd_pages")) == (10, 15)
    column = next(column for column in view.columns if column.key == "promoted_pages")
    assert (column.trust, column.total.warnings) == ("exact", ())
    assert total(view, "migrate_fail_pages") is None
    of_host = reads(database, now).host(host.id, from_="-1h", to=None, max_points=500)
    (state,) = of_host.services
    moved = {series.key: {value for value in series.values if value} for series in state.moves}
    assert moved == {"promoted_pages": {2 / 60}, "demoted_pages": {3 / 60}}
    assert {len(series.values) for series in state.moves} == {len(of_host.axis.times)}


def test_rows_of_the_worker_and_newer_counters_make_one_ledger(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns() // (10 * MINUTE) * 10 * MINUTE
    send(database, host, [sample(i) for i in range(11)], [now - (10 - i) * MINUTE for i in range(11)])
    assert DrainMarks(database, lambda: datetime.fromtimestamp(now / 1e9, tz=UTC)).run().total
    with database.read() as session:
        assert session.connection.exec_driver_sql("SELECT count(*) FROM tier_moves WHERE service_id = 0").scalar_one()
    batch = batches.make_batch(host_id=host.id, seq=1, sealed_wall_ns=now + 3 * MINUTE)
    newer = [now + i * MINUTE for i in (1, 2, 3)]
    batches.add_counters(batch, [sample(10 + i) for i in (1, 2, 3)], ends_ns=newer, keys=KEYS)
    assert store(database, host, [batch])
    view = reads(database, now + 3 * MINUTE).host(host.id, from_="-13m", to=None, max_points=500)
    assert total(view, "promoted_pages") == 13 * 13
    assert len([value for value in line(view, "promoted_pages") if value is not None]) == 13


def test_no_samples_are_not_enough_data(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    send(database, host, [sample(0), sample(1)], [now - MINUTE, now])
    later = now + int(timedelta(days=1).total_seconds() * 1e9)
    view = reads(database, later).host(host.id, from_="-1h", to=None, max_points=500)
    column = next(column for column in view.columns if column.key == "promoted_pages")
    assert (column.total.status, column.total.value) == ("not_enough_data", None)
    assert set(line(view, "promoted_pages")) == {None}
    with pytest.raises(NotFound):
        reads(database, now).host("nobody", from_=None, to=None, max_points=10)
