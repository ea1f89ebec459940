"""Service levels as read: promotions from gaps over the working set from heat, slow tiers from heat and samples."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from factories import batches
from factories.activity import add_gap_block, add_tiered_heat
from factories.installations import Enrolled, enrol, store
from factories.made_ledgers import QUIET, made
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.ledger import COLUMN_INDEX, Tiers, plan_host
from tierscope.storage.ledger.rows import append_ledgers
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.sensitivity.objectives import ObjectiveReads, Objectives
from tierscope.wire._generated import heat_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MINUTE = batches.MINUTE_NS
PEBS = heat_pb2.HEAT_BACKEND_PEBS


def send(database: Database, host: Enrolled, *, closed: Mapping[int, float], **heat: object) -> int:
    """An hour: a block of gaps every ten minutes and heat every minute. Returns its end."""
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    for block in range(6):
        add_gap_block(batch, now - block * 10 * MINUTE, closed)
    for minute in range(60):
        options: dict[str, Any] = {**heat}
        add_tiered_heat(batch, now - minute * MINUTE, **options)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    return now


def read(database: Database, now: int, *, from_: str = "-1h") -> Objectives:
    context = ReadContext(database, lambda: datetime.fromtimestamp(now / 1e9, tz=UTC), Settings(_env_file=None))
    with database.read() as session:
        service_id = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    return ObjectiveReads(context).service(service_id, from_=from_, to=None, max_points=100)


def test_promotions_are_gaps_over_two_minutes_per_minute_of_the_working_set(database: Database) -> None:
    # Of ten minutes: 3 MiB were idle for one interval or two, 1.8 MiB for longer; the working set is 100 MiB.
    now = send(database, enrol(database), closed={1: 2, 2: 1, 3: 1, 40: 0.8}, by_tier={"dram": (100, 300)})
    view = read(database, now)
    assert view.promotion_rate.value == pytest.approx(1.8 / 10 / 100)
    assert (view.meets_target, view.target_per_min) == (True, 0.002)
    assert (view.promotion_rate.unit, view.promotion_rate.interval) == ("per_min", None)
    rate = view.series[0]
    assert [round(value, 6) for value in rate.values if value is not None] == [0.0018] * 6
    assert view.slow_residency_ratio.value == 0.0
    assert view.slow_access_ratio.status == "not_collected"
    assert view.service_class.name is None
    assert view.service_class.why


def test_hosts_are_weighed_by_their_working_sets_and_give_an_interval(database: Database) -> None:
    for name, moved, hot in (("a", 10, 100), ("b", 2, 300), ("c", 3, 200)):
        now = send(database, enrol(database, name=name), closed={5: moved}, by_tier={"dram": (hot, 50), "cxl": (0, 50)})
    view = read(database, now)
    figure = view.promotion_rate
    assert figure.value == pytest.approx(15 / 10 / 600)
    assert figure.interval is not None
    assert figure.interval.lo < (figure.value or 0) < figure.interval.hi
    assert (view.meets_target, figure.n_hosts) == (None, 3)
    assert view.slow_residency_ratio.value == pytest.approx(150 / 900)


def test_slow_accesses_come_from_samples_by_tier(database: Database) -> None:
    now = send(
        database,
        enrol(database),
        closed={},
        by_tier={"dram": (10, 10), "cxl": (5, 15), "": (1, 1)},
        backend=PEBS,
        loads={"dram": 90, "cxl": 10, "": 50},
    )
    view = read(database, now)
    assert view.slow_access_ratio.value == pytest.approx(0.1)
    assert view.slow_access_ratio.n_samples == 6000
    assert view.slow_residency_ratio.value == pytest.approx(0.5)
    assert any("unknown" in warning for warning in view.slow_residency_ratio.warnings)
    assert view.promotion_rate.status == "not_enough_data", "no heat by the method of the gaps"


def test_slow_accesses_come_from_bytes_at_memory_where_samples_lack(database: Database) -> None:
    host = enrol(database)
    now = send(database, host, closed={5: 1}, by_tier={"dram": (10, 10), "cxl": (5, 15)})
    rows = made({**QUIET, "fast_traffic_bytes": 950, "slow_traffic_bytes": 50}, n=30)
    rows.present[:10, COLUMN_INDEX["slow_traffic_bytes"]] = False
    rows.values[:10, COLUMN_INDEX["slow_traffic_bytes"]] = 0
    rows = replace(rows, times_s=now / 1e9 - 60.0 * np.arange(30.0)[::-1])
    with database.write() as transaction:
        (row,) = transaction.execute(text("SELECT id FROM hosts")).all()
        plan = plan_host([], Tiers(frozenset({0}), known=True), page_bytes=4096)
        append_ledgers(transaction, [(row.id, 0, rows, plan)])
    view = read(database, now)
    assert view.slow_access_ratio.value == pytest.approx(0.05)
    assert (view.slow_access_ratio.grade, view.slow_access_ratio.n_intervals) == ("partial", 20)
    assert any("whole hosts" in warning for warning in view.slow_access_ratio.warnings)
    values = [value for value in view.series[1].values if value is not None]
    assert values == pytest.approx([0.05] * len(values))
    assert values


def test_published_points_stand_beside_what_was_measured(database: Database) -> None:
    now = send(database, enrol(database), closed={1: 10, 8: 20, 12: 10, 40: 10}, by_tier={"dram": (100, 0)})
    web, warehouse = read(database, now).comparisons
    assert (web.published, warehouse.published) == (0.80, 0.20)
    # Gaps longer than two: 8, 12 and 40 intervals, which are 6, 10 and 38 after turning cold.
    assert web.measured.value == pytest.approx(30 / 40)
    assert warehouse.measured.status == "not_enough_data"
    assert warehouse.measured.reason == "No gaps of file memory."


def test_nothing_measured_is_not_zero(database: Database) -> None:
    host, now = enrol(database), batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = read(database, now)
    figures = (view.promotion_rate, view.slow_access_ratio, view.slow_residency_ratio)
    assert {figure.status for figure in figures} == {"not_collected"}
    assert {value for series in view.series for value in series.values} == {None}
    assert (view.meets_target, {item.measured.status for item in view.comparisons}) == (None, {"not_collected"})
    with pytest.raises(NotFound):
        ObjectiveReads(ReadContext(database, utc_now, Settings(_env_file=None))).service(
            "s_none", from_=None, to=None, max_points=10
        )
