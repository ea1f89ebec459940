"""Capacity from hourly roll-ups to answers: daily points, forecasts, what is refused, plans, exports."""

import csv
import io
from datetime import timedelta

import numpy as np
import pytest
from pyarrow import parquet
from sqlalchemy import text

from factories.capacity import DRAM, GIB, IN_USE_RATIO, NOW, TODAY, TOTAL, CapacityFleet, add_heat, make_fleet
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, NotFound, Unprocessable
from tierscope.domain.base.jobs import CAPACITY_DAYS, METRICS_1D
from tierscope.domain.capacity.skus import Sku
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.capacity.rows import try_lock
from tierscope.usecases.capacity.export import export_forecast, export_plan
from tierscope.usecases.capacity.plan import Asked, CapacityPlans
from tierscope.usecases.capacity.reads import CapacityReads
from tierscope.usecases.capacity.update import UpdateCapacity
from tierscope.usecases.fleet.events import EventRequest, Events
from tierscope.usecases.knobs.swap_tier import SwapTierReads
from tierscope.usecases.rebuild.counters import rebuild_metrics_1d
from tierscope.usecases.rebuild.drain import DrainMarks

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SKU = Sku("2s", 16, (32 * GIB,), 8, 8, 4, 128 * GIB, None, None)


def update(fleet: CapacityFleet) -> None:
    """Go through all days, as the worker does run by run."""
    while UpdateCapacity(fleet.database, lambda: NOW).run().days:
        pass


def growing(days: int, seed: int = 1) -> list[float]:
    """About 1 % a day up to 200 GiB."""
    rng = np.random.default_rng(seed)
    line = 200.0 * GIB * 1.01 ** np.arange(1 - days, 1) * np.exp(0.01 * rng.standard_normal(days))
    return [float(value) for value in line]


def test_a_growing_service_is_forecast_with_intervals_and_days_to_exhaustion(database: Database) -> None:
    fleet = make_fleet(database, "prod/web", growing(60))
    update(fleet)
    reads = CapacityReads(fleet.context())
    [subject] = reads.list("service").subjects
    assert (subject.kind, subject.id, subject.name, subject.hosts, subject.days) == (
        "service",
        fleet.service_id,
        "prod/web",
        3,
        60,
    )
    assert subject.resident_bytes.value == pytest.approx(growing(60)[-1] * 3, rel=0.001)
    assert subject.in_use_bytes.value == pytest.approx(IN_USE_RATIO * growing(60)[-1] * 3, rel=0.001)
    assert subject.resident_bytes.warnings[0].startswith("95th percentile")
    assert subject.capacity_bytes.value == pytest.approx(3 * (TOTAL - 16 * GIB), rel=0.001)
    assert subject.refused is None
    end = subject.days_to_exhaustion
    # ln(0.9 * 496 / 150) / ln 1.01 = 109.6 days: beyond the 60 days that the history bears.
    assert end.horizon_days == 60
    assert (end.median.value, end.none_within_horizon) == (None, end.early.value is None)
    assert subject.growth_bytes_per_day.value == pytest.approx(IN_USE_RATIO * 3 * 2.7 * GIB, rel=0.3)
    view = reads.forecast("service", fleet.service_id, "resident", horizon_days=30)
    assert (len(view.history), len(view.forecast), view.refused) == (60, 30, None)
    assert view.history[-1].day == (TODAY - timedelta(days=1)).date()
    first = view.forecast[0]
    assert first.day == TODAY.date()
    assert first.lo95 < first.lo80 < first.median < first.hi80 < first.hi95_one_sided < first.hi95
    assert view.forecast[-1].median == pytest.approx(IN_USE_RATIO * 600 * GIB * 1.01**30, rel=0.05)
    assert (view.method, subject.method) == ("combined", "combined")
    assert {"line_log", "bend_log", "seasonal_naive"} <= {score.method for score in view.backtest}
    assert [score.mase for score in view.backtest] == sorted(score.mase for score in view.backtest)
    assert (view.changes, view.widened is not None) == ((), True)


def test_a_level_shift_is_found_beside_its_event_and_days_before_it_are_left_out(database: Database) -> None:
    rng = np.random.default_rng(4)
    level = np.where(np.arange(60) >= 25, 130.0, 100.0) * GIB * np.exp(0.01 * rng.standard_normal(60))
    fleet = make_fleet(database, "prod/cache", level.tolist())
    at = TODAY - timedelta(days=35) + timedelta(hours=3)
    Events(database, clock=lambda: NOW).create(
        EventRequest("deploy", "release 7", at, None, fleet.service_id), actor="test", idempotency_key=None
    )
    update(fleet)
    view = CapacityReads(fleet.context()).forecast("service", fleet.service_id, "resident", horizon_days=90)
    [change] = view.changes
    assert (change.kind, change.at, change.event) == ("change_point", TODAY - timedelta(days=35), "deploy: release 7")
    assert change.after == pytest.approx(1.3 * (change.before or 0), rel=0.05)
    assert [day.excluded for day in view.history] == ["change_point"] * 25 + [None] * 35
    assert len(view.forecast) == 35
    assert view.forecast[-1].median == pytest.approx(IN_USE_RATIO * 390 * GIB, rel=0.1)
    assert any("reaches 35 days" in note for note in view.notes)


def test_a_shift_of_days_ago_is_refused_with_what_is_missing(database: Database) -> None:
    rng = np.random.default_rng(4)
    level = np.where(np.arange(40) >= 32, 150.0, 100.0) * GIB * np.exp(0.01 * rng.standard_normal(40))
    fleet = make_fleet(database, "prod/cache", level.tolist())
    update(fleet)
    view = CapacityReads(fleet.context()).forecast("service", fleet.service_id, "resident", horizon_days=90)
    assert view.forecast == ()
    assert view.refused == (
        "The level moved on 2026-11-13; days before it are left out. 8 usable days: 14 are needed, 6 more days of data."
    )
    assert (view.exhaustion.median.status, view.growth_bytes_per_day.status) == ("not_enough_data", "not_enough_data")


def test_marked_days_of_capacity_are_left_out(database: Database) -> None:
    values = growing(40)
    values[20] *= 1.5
    fleet = make_fleet(database, "prod/web", values)
    at = TODAY - timedelta(days=20) + timedelta(hours=9)
    Events(database, clock=lambda: NOW).create(
        EventRequest("capacity", "4 modules more on each host", at, None, fleet.service_id),
        actor="test",
        idempotency_key=None,
    )
    update(fleet)
    view = CapacityReads(fleet.context()).forecast("service", fleet.service_id, "resident", horizon_days=30)
    assert [day.day for day in view.history if day.excluded == "capacity_edit"] == [at.date()]
    assert [(change.kind, change.event) for change in view.changes] == [
        ("capacity_edit", "4 modules more on each host")
    ]
    assert view.forecast


def test_a_day_of_data_shows_raw_figures_and_no_forecast(database: Database) -> None:
    fleet = make_fleet(database, "demo/web", [100.0 * GIB], origin="simulated")
    add_heat(fleet, 1)
    update(fleet)
    reads = CapacityReads(fleet.context())
    view = reads.list("service")
    [subject] = view.subjects
    assert subject.resident_bytes.value == pytest.approx(300 * GIB)
    assert subject.hot_bytes.status == "not_collected"  # today has no heat
    assert (subject.refused, subject.method) == ("1 usable day: 14 are needed, 13 more days of data.", None)
    assert subject.days_to_exhaustion.median.reason == subject.refused
    assert not subject.days_to_exhaustion.none_within_horizon
    assert any("simulated" in note for note in view.notes)
    yesterday = CapacityReads(fleet.context(at=TODAY + timedelta(minutes=1))).list("service")
    assert yesterday.subjects[0].resident_bytes.status == "ok"
    [demand] = plans_of(fleet).plan(asked()).demands
    assert (demand.growth_ratio_per_quarter, demand.grows_by) == (None, "no forecast: not grown")


def test_heat_makes_hot_cold_and_untouched_bytes_of_all_hosts(database: Database) -> None:
    fleet = make_fleet(database, "prod/web", [100.0 * GIB] * 3)
    add_heat(fleet, 3)
    update(fleet)
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM capacity_days WHERE ts = :ts"), {"ts": TODAY})
    [subject] = CapacityReads(fleet.context()).list("service").subjects
    resident = subject.resident_bytes.value or 0.0
    hot, cold, untouched = (
        figure.value or 0.0 for figure in (subject.hot_bytes, subject.cold_bytes, subject.untouched_bytes)
    )
    assert 0 < hot < resident
    assert 0 < untouched < cold < resident
    assert hot + cold < resident
    assert subject.dram_need_bytes.value == pytest.approx(1.1 * hot)
    [group] = CapacityReads(fleet.context()).list("sku").subjects
    parts = (group.hot_bytes.value, group.cold_bytes.value, group.untouched_bytes.value)
    assert parts == pytest.approx((hot, cold, untouched)), "of all that services hold, as of services"
    assert (subject.hot_bytes.method, subject.hot_bytes.n_hosts) == ("abit", 1)
    assert "heat is of 1 of 3 hosts, made up to all of them" in subject.hot_bytes.warnings
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO advice (public_id, kind, key, service_id, title, body, status, expires_at) VALUES"
                " ('a', 'ratio', 'ratio', :service, '', CAST(:body AS jsonb), 'open', :at)"
            ),
            {
                "service": fleet.service,
                "body": '{"answer": {"loss_target": 0.05, "range": {"safe_dram_ratio": 0.98}}}',
                "at": NOW + timedelta(days=1),
            },
        )
    [advised] = CapacityReads(fleet.context()).list("service").subjects
    assert advised.dram_need_bytes.value == pytest.approx(0.98 * resident)
    assert any("ratio advice" in note for note in advised.dram_need_bytes.warnings)
    with database.write() as transaction:
        none_proven = '{"answer": {"loss_target": 0.05, "range": {"safe": null, "safe_dram_ratio": 1.0}}}'
        transaction.execute(text("UPDATE advice SET body = CAST(:body AS jsonb)"), {"body": none_proven})
    [unproven] = CapacityReads(fleet.context()).list("service").subjects
    assert unproven.dram_need_bytes.value == pytest.approx(resident)
    assert any("proves no ratio" in note for note in unproven.dram_need_bytes.warnings)
    [demand] = plans_of(fleet).plan(asked()).demands
    assert demand.dram_bytes == demand.memory_bytes
    assert demand.dram_by.startswith("no ratio is proven")


def test_host_groups_have_stranded_memory_where_processors_are_taken(database: Database) -> None:
    fleet = make_fleet(database, "prod/web", growing(20), busy=0.97)
    update(fleet)
    reads = CapacityReads(fleet.context())
    groups = reads.list("sku")
    assert groups.groupings == ("service", "label:team", "rack", "sku"), "not the same hosts under two names"
    assert [subject.name for subject in reads.list("label:sku").subjects] == ["big"]
    [group] = groups.subjects
    assert (group.id, group.name, group.hosts) == ("sku=big", "big", 3)
    assert group.capacity_bytes.value == 3 * TOTAL
    assert group.stranded_bytes.value == pytest.approx(3 * 20 * GIB)
    assert group.method == "line"
    [service] = reads.list("service").subjects
    assert service.stranded_bytes.status == "not_supported"
    assert reads.forecast("host_group", "sku=big", "resident", horizon_days=10).forecast
    assert [subject.name for subject in reads.list("label:team").subjects] == ["=cmd()"]
    need = reads.forecast("host_group", "sku=big", "dram_need", horizon_days=10)
    assert (need.refused, need.exhaustion.threshold_bytes) == (
        "0 usable days: 14 are needed, 14 more days of data.",
        pytest.approx(0.9 * 3 * DRAM),
    )
    with pytest.raises(NotFound):
        reads.forecast("host_group", "sku=small", "resident", horizon_days=10)
    with pytest.raises(NotFound):
        reads.forecast("service", "none", "resident", horizon_days=10)
    with pytest.raises(BadRequest, match="no grouping"):
        reads.list("colour")


def test_going_through_days_again_changes_nothing_and_one_process_does_it(database: Database) -> None:
    fleet = make_fleet(database, "prod/web", growing(16))
    update(fleet)
    assert UpdateCapacity(database, lambda: NOW).run().days == 0
    later = UpdateCapacity(database, lambda: NOW + timedelta(minutes=31)).run()
    assert (later.days, later.forecasts) == (1, 0)  # today alone
    with database.write() as holder:
        assert try_lock(holder)
        assert UpdateCapacity(database, lambda: NOW + timedelta(hours=5)).run().days == 0
    days = text("SELECT count(*) FROM capacity_days WHERE kind = 'service'")
    with database.read() as session:
        assert session.execute(days).scalar_one() == 17


def asked(**changes: object) -> Asked:
    wanted: dict[str, object] = {
        "skus": (SKU,),
        "horizon_quarters": 2,
        "loss_target": None,
        "headroom_ratio": 0.1,
        "service_ids": None,
    }
    return Asked(**{**wanted, **changes})  # type: ignore[arg-type]


def plans_of(fleet: CapacityFleet) -> CapacityPlans:
    return CapacityPlans(fleet.context(), SwapTierReads(fleet.context()))


def test_a_plan_packs_the_fleet_now_and_by_quarter(database: Database) -> None:
    fleet = make_fleet(database, "prod/web", growing(60))
    add_heat(fleet, 3)
    update(fleet)
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM capacity_days WHERE ts = :ts"), {"ts": TODAY})
    plans = plans_of(fleet)
    plan = plans.plan(asked())
    assert [quarter.quarter for quarter in plan.quarters] == ["now", "2026 Q4", "2027 Q1"]
    assert [str(quarter.ends_at) for quarter in plan.quarters[1:]] == ["2026-12-31", "2027-03-31"]
    without = [quarter.hosts_without_tiering or 0 for quarter in plan.quarters]
    tiered = [quarter.hosts_with_tiering or 0 for quarter in plan.quarters]
    assert without == sorted(without)
    assert all(one <= other for one, other in zip(tiered, without, strict=True))
    assert without[-1] > without[0]
    placed = sum(host.count * part.dram_bytes for host in plan.packing.without for part in host.placed)
    assert placed == pytest.approx(growing(60)[-1] * 3 * 1.1, rel=0.001)
    assert all(part.cxl_bytes == 0 for host in plan.packing.without for part in host.placed)
    [demand] = plan.demands
    assert (demand.dram_by, demand.cores) == ("hot bytes", pytest.approx(12.0))
    with database.read() as session:
        newest = text("SELECT hot_bytes FROM capacity_days WHERE hot_bytes > 0 ORDER BY ts DESC LIMIT 1")
        hot = session.execute(newest).scalar_one()
    assert demand.dram_bytes == pytest.approx(hot * 1.1), "headroom is added once"
    assert (demand.growth_ratio_per_quarter or 0.0) > 0.5
    assert plans.plan(asked()) == plan
    small = plans.plan(asked(skus=(Sku("small", 1, (16 * GIB,)),)))
    assert small.quarters[0].hosts_without_tiering is None
    assert {one.service for one in small.unplaced} == {"prod/web"}
    assert "memory" in small.unplaced[0].why or "DRAM" in small.unplaced[0].why
    unit = demand.memory_bytes / 3
    tight = plans.plan(asked(skus=(Sku("tight", 1, (int(unit * 0.98),)),)))
    never = "a unit that is too large today does not shrink as its service grows"
    assert [quarter.hosts_without_tiering for quarter in tight.quarters] == [None] * 3, never
    with pytest.raises(Unprocessable, match="same name"):
        plans.plan(asked(skus=(SKU, SKU)))
    with pytest.raises(NotFound):
        plans.plan(asked(service_ids=("none",)))


def test_exports_hold_the_answers(database: Database) -> None:
    fleet = make_fleet(database, "prod/web", growing(30))
    update(fleet)
    reads = CapacityReads(fleet.context())
    forecast = reads.forecast("service", fleet.service_id, "resident", horizon_days=7)
    rows = list(csv.DictReader(io.StringIO(export_forecast(forecast, "csv").decode())))
    assert len(rows) == 30 + 7
    assert float(rows[-1]["median_bytes"]) == pytest.approx(forecast.forecast[-1].median)
    plan = plans_of(fleet).plan(asked())
    parts = [row["part"] for row in csv.DictReader(io.StringIO(export_plan(plan, "csv").decode()))]
    assert (parts.count("quarter"), parts.count("sku")) == (6, 6)
    assert "placed" in parts
    assert parquet.read_table(io.BytesIO(export_plan(plan, "parquet"))).num_rows == len(parts)


def test_points_of_a_day_whose_data_came_late_are_made_again(database: Database) -> None:
    fleet = make_fleet(database, "prod/web", growing(20))
    update(fleet)
    old, open_day = TODAY - timedelta(days=10), TODAY
    with database.write() as transaction:
        rebuild_metrics_1d(transaction, Claim(METRICS_1D.kind, 1, 0, (old, open_day), NOW))
    DrainMarks(database, lambda: NOW, jobs=(CAPACITY_DAYS,)).run()
    assert UpdateCapacity(database, lambda: NOW).run().days == 1
    assert UpdateCapacity(database, lambda: NOW).run().days == 0
