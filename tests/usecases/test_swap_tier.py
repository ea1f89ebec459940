"""Swap below DRAM as read: verdicts from measured cold memory and re-access, and what is missing."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from factories import batches
from factories.derived import drain
from factories.installations import enrol, store
from factories.swapping import GIB, MINUTE, add_heat, read, reads_at, send
from tierscope.cli.main import app
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.base.buckets import day_of
from tierscope.domain.capacity.days import CapacityDay
from tierscope.domain.capacity.skus import Sku
from tierscope.domain.capacity.swap import SwapDevice
from tierscope.storage.capacity.rows import replace_day
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.capacity.export import export_plan
from tierscope.usecases.capacity.plan import Asked, CapacityPlans
from tierscope.usecases.capacity.swap import PlanDevice
from tierscope.usecases.capacity.views import CapacityPlan
from tierscope.usecases.knobs.swap_tier import SwapTierReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def test_memory_that_stays_cold_goes_to_swap_with_its_saving_and_assumptions(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, {4: 0.0001, 12: 0.0001}, {20: 0.5, 40: 0.5})
    view = read(database, now, cores=64.0)
    assert (view.name, view.verdict, view.reason) == ("demo/cache", "pays", None)
    assert view.sentence.startswith("Swap pays below DRAM")
    assert view.best is not None
    assert view.best.out_bytes.value == pytest.approx(64 * GIB, rel=0.02)
    assert view.best.out_bytes.n_hosts == 1
    assert view.best.loss_ratio.interval is not None
    assert view.best.loss_ratio.interval.hi <= 0.01
    assert view.best.saving_per_year.interval.lo > 0.0
    assert view.best.saving_per_year.currency == "USD"
    named = {one.name: one.value for one in view.assumptions}
    assert named["drive"] == "block"
    assert {"swap_in", "device_use", "rating", "price_dram", "price_ssd"} <= named.keys()
    assert "busy_cores" not in named
    assert (view.device, view.best.pool_bytes.value) == ("block", 0.0)
    assert view.best.wait_ratio.value == pytest.approx((view.best.loss_ratio.value or 0.0) * 64.0)
    assert {price.item for price in view.prices} == {"dram", "ssd", "cxl_media", "cxl_controller"}
    beside = view.cxl
    assert beside is not None
    assert beside.swap_cost_per_year == view.best.cost_per_year
    assert beside.media == "cxl_media"
    per_gb = {price.item: price.value for price in view.prices}
    assert per_gb["cxl_media"] == per_gb["dram"], "nobody said a price of CXL media: one price here and in a what-if"
    assert beside.cost_per_year.interval.lo <= beside.cost_per_year.value <= beside.cost_per_year.interval.hi
    assert (beside.loss_ratio.value or 1.0) < (view.best.loss_ratio.value or 0.0)
    assert f"{(view.best.out_bytes.value or 0.0) / GIB:,.1f} GiB on CXL" in beside.sentence


def test_what_hosts_swap_to_and_how_much_stands_beside_the_advice(database: Database) -> None:
    """Ten minutes in which a host swaps 100 pages a second in and all tasks wait for a twentieth of the time."""
    now = batches.now_ns() // (10 * MINUTE) * (10 * MINUTE)
    host = enrol(database)
    send(database, host, now, {4: 0.0001, 12: 0.0001}, {20: 0.5, 40: 0.5})
    batch = batches.make_batch(host_id=host.id, seq=1, sealed_wall_ns=now)
    keys = ("host|pressure.memory|full_total_us", "host|vmstat|pswpin", "host|vmstat|pswpout")
    rows = [[3_000_000 * at, 6000 * at, 0] for at in range(1, 22)]
    batches.add_counters(batch, rows, keys=keys)
    batches.add_inventory(batch)
    batch.inventory.swaps.add(
        name="/dev/sdb",
        kind="partition",
        size_bytes=8 * GIB,
        used_bytes=2 * GIB,
        zoned="none",
        rotational=False,
        discard=False,
    )
    assert store(database, host, [batch])
    drain(database)
    (seen,) = read(database, now).hosts
    assert [(area.name, area.zoned, area.discard, area.used_ratio) for area in seen.areas] == [
        ("/dev/sdb", "none", False, 0.25)
    ]
    assert (seen.swapped_in_pages_per_s, seen.swapped_out_pages_per_s) == (pytest.approx(100), 0.0)
    assert seen.memory_stall_ratio == pytest.approx(0.05)
    trim, waits = read(database, now).warnings
    assert "no TRIM" in trim
    assert "5.0%" in waits


@pytest.mark.usefixtures("asked")
def test_the_command_says_the_same_to_people_and_to_programs(database: Database) -> None:
    send(database, enrol(database), batches.now_ns(), {4: 0.0001, 12: 0.0001}, {20: 0.5, 40: 0.5})
    words = ["swap-tier", "demo/cache", "--cores", "64", "--from", "-1h"]
    text = CliRunner().invoke(app, words)
    assert text.exit_code == 0, text.output
    assert text.stdout.startswith("demo/cache: Swap pays below DRAM")
    assert "<- best" in text.stdout
    assert "drive: block (" in text.stdout
    assert "GiB on CXL cost" in text.stdout
    assert "node-1: no swap; in not counted" in text.stdout
    document = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert document["verdict"] == "pays"
    assert f"frees {document['best']['out_bytes']['value'] / GIB:,.1f} GiB" in text.stdout
    assert CliRunner().invoke(app, ["swap-tier", "demo/cache", "--from", "-9h", "--to", "-8h"]).exit_code == 3
    assert CliRunner().invoke(app, ["swap-tier", "demo/cache", "--loss-target", "5"]).exit_code == 2
    compressed = json.loads(CliRunner().invoke(app, [*words, "--device", "zram", "--json"]).stdout)
    assert (compressed["device"], compressed["best"]["drive_life_years"]["status"]) == ("zram", "not_supported")
    assert CliRunner().invoke(app, [*words, "--device", "tape"]).exit_code == 2


def test_memory_that_comes_back_is_kept_out_of_the_swap_of_its_host(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    send(database, host, now, {3: 0.3, 6: 0.3, 9: 0.2, 12: 0.1, 15: 0.06, 18: 0.03}, {18: 0.01})
    view = read(database, now)
    assert (view.verdict, view.binding, view.best) == ("keep_out", "loss", None)
    assert len(view.ages) > 1
    assert "`memory.swap.max` 0" in view.sentence
    assert {one.name for one in view.assumptions} >= {"busy_cores"}
    on_host = reads_at(database, now).host(host.id, loss_target=0.01, from_="-1h", to=None)
    assert on_host.keep_out == ("demo/cache",)
    assert [one.service_id for one in on_host.services] == [view.service_id]


def test_what_is_missing_is_said(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    add_heat(batch, now, hot=4.0 * GIB, cold=64.0 * GIB)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = read(database, now)
    assert (view.verdict, view.best, view.ages) == (None, None, ())
    assert view.reason is not None
    assert "reuse gaps" in view.reason
    with pytest.raises(NotFound):
        reads_at(database, now).host("nobody", loss_target=0.01, from_=None, to=None)


def plan_on_swap(database: Database, now: int, device: PlanDevice) -> CapacityPlan:
    """A plan on hosts without CXL for a service that holds 80 GiB and has 8 GiB of hot memory."""
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    held, hot = float(80 * GIB), float(8 * GIB)
    with database.write() as transaction:
        service = transaction.execute(text("SELECT public_id FROM services")).scalar_one()
        day = CapacityDay(1, 24, 1, None, None, None, None, None, held, hot, 64.0 * GIB, None, None)
        replace_day(transaction, day_of(at), {("service", service): day}, made_at=at)
    context = ReadContext(database, lambda: at, Settings(_env_file=None))
    sku = Sku("small", 4, (16 * GIB,))
    return CapacityPlans(context, SwapTierReads(context)).plan(Asked((sku,), 1, None, 0.0, None, device))


@pytest.mark.parametrize("device", ["block", "zram"])
def test_a_plan_holds_on_swap_what_the_advice_says(database: Database, device: SwapDevice) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, {4: 0.0001, 12: 0.0001}, {20: 0.5, 40: 0.5})
    plan = plan_on_swap(database, now, device)
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    advice = SwapTierReads(ReadContext(database, lambda: at, Settings(_env_file=None))).service(
        plan.demands[0].service_id, loss_target=0.01, cores=None, from_=None, to=None, device=device
    )
    assert plan.swap is not None
    assert advice.best is not None
    [one] = plan.swap.services
    best = advice.best
    assert (one.held, one.device, one.verdict, one.why) == (True, device, advice.verdict, advice.sentence)
    assert f"frees {((best.out_bytes.value or 0.0) - (best.pool_bytes.value or 0.0)) / GIB:,.1f} GiB" in one.why
    assert (one.swap_bytes, one.wait_ratio, one.loss_ratio) == (best.out_bytes, best.wait_ratio, best.loss_ratio)
    assert (one.drive_life_years, one.pool_bytes) == (best.drive_life_years, best.pool_bytes)
    assert (one.cost_per_year, one.saving_per_year) == (best.cost_per_year, best.saving_per_year)
    assert (plan.swap.cost_per_year, plan.swap.swap_bytes.value) == (best.cost_per_year, best.out_bytes.value)
    assert plan.swap.wait_ratio.interval == best.wait_ratio.interval
    assert plan.swap.drive_life_years.value == pytest.approx(best.drive_life_years.value)
    first = plan.quarters[0]
    assert (first.hosts_without_tiering, first.hosts_with_tiering, first.hosts_with_swap) == (None, None, 1)
    assert plan.packing.with_swap is not None
    [host] = plan.packing.with_swap
    swapped, pool = best.out_bytes.value or 0.0, best.pool_bytes.value or 0.0
    assert host.placed[0].swap_bytes == pytest.approx(swapped)
    assert host.placed[0].dram_bytes == pytest.approx(80 * GIB - swapped + pool)
    rows = list(csv.DictReader(io.StringIO(export_plan(plan, "csv").decode())))
    [placed] = [row for row in rows if row["part"] == "placed"]
    assert (placed["swap"], float(placed["swap_bytes"])) == ("true", pytest.approx(swapped))


def test_a_plan_keeps_a_service_out_of_swap_where_advice_does(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, {3: 0.3, 6: 0.3, 9: 0.2, 12: 0.1, 15: 0.06, 18: 0.03}, {18: 0.01})
    plan = plan_on_swap(database, now, "as_found")
    assert plan.swap is not None
    assert plan.swap.keep_out == ("demo/cache",)
    assert [(one.held, one.swap_bytes, one.device) for one in plan.swap.services] == [(False, None, "block")]
    assert (plan.swap.cost_per_year, plan.swap.swap_bytes.status) == (None, "not_enough_data")
    assert plan.packing.with_swap is None
    assert {quarter.hosts_with_swap for quarter in plan.quarters} == {None}


@pytest.mark.usefixtures("asked")
def test_the_command_plans_with_and_without_swap(database: Database, tmp_path: Path) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, {4: 0.0001, 12: 0.0001}, {20: 0.5, 40: 0.5})
    plan_on_swap(database, now, "block")
    types = tmp_path / "hosts.json"
    types.write_text(json.dumps([{"name": "small", "dram_slots": 4, "dimm_bytes": [16 * GIB]}]))
    words = ["capacity-plan", "--hosts", str(types), "--quarters", "1", "--headroom", "0"]
    bare = CliRunner().invoke(app, words)
    assert bare.exit_code == 0, bare.output
    assert "On swap" not in bare.stdout
    assert "does not fit" in bare.stdout
    found = CliRunner().invoke(app, [*words, "--swap", "zns"])
    assert "On swap (zns, loss target 1.0%)" in found.stdout
    assert "demo/cache: on swap. Swap pays below DRAM" in found.stdout
    document = json.loads(CliRunner().invoke(app, [*words, "--swap", "zns", "--json"]).stdout)
    assert set(document["packing"]) == {"without", "with", "with_swap"}
    assert document["swap"]["services"][0]["device"] == "zns"
    assert CliRunner().invoke(app, [*words, "--swap", "tape"]).exit_code == 2
    types.write_text("{}")
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "write a list" in refused.output) == (2, True)
