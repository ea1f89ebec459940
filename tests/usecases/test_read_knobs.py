"""Knob advice as read from the store: the same as on the recording, with heat, files, and the settings of the group."""

from datetime import UTC, datetime

import numpy as np
import pytest

from factories import batches, kernel_lab
from factories.installations import Enrolled, enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.knobs.facts import DEMOTION, NUMA_BALANCING, RATE_LIMIT, SWAPPINESS, ZONE_RECLAIM
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.knobs.answers import first_of
from tierscope.usecases.knobs.groups import compare
from tierscope.usecases.knobs.reads import HostKnobAdvice, KnobReads
from tierscope.wire._generated import batch_pb2, heat_pb2

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MIB = 1 << 20
KNOBS = {NUMA_BALANCING: "2", DEMOTION: "true", RATE_LIMIT: "65536", SWAPPINESS: "60", ZONE_RECLAIM: "0"}


def send(database: Database, name: str, host: Enrolled, **changed: str) -> int:
    """Stores a recording as the newest minutes of a host, a snapshot a minute; returns its end."""
    _, keys, values, present = kernel_lab.load(name)
    picked = [i for i, key in enumerate(keys) if key.startswith(("host|vmstat|", "node:"))]
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    rows = [
        [int(value) if there else None for value, there in zip(row[picked], mask[picked], strict=True)]
        for row, mask in zip(values, present, strict=True)
    ]
    batches.add_counters(batch, rows, keys=sorted(keys[i] for i in picked))
    inventory = batch.inventory
    inventory.hostname, inventory.kernel_release, inventory.page_size_bytes = "node-1", "6.12", 4096
    inventory.nodes.add(id=0, memory_bytes=680_000_000, cpulist="0-1", tier_class="dram")
    inventory.nodes.add(id=1, memory_bytes=3 << 30, cpulist="", tier_class="cxl")
    inventory.tiers.add(rank=0, kernel_number=4, nodes=[0])
    inventory.tiers.add(rank=1, kernel_number=54, nodes=[1])
    inventory.unmovable.add(node=0, mlocked_bytes=4096, pinned_pages=2)
    chosen = {RATE_LIMIT: changed.get("limit", "65536"), NUMA_BALANCING: changed.get("balancing", "2")}
    chosen[DEMOTION] = changed.get("demotion", "true")
    for path, value in {**KNOBS, **chosen}.items():
        inventory.knobs.add(path=path, value=value)
    for finding in ("cpuset-bars-slow-tier", "damon-in-use"):
        if finding in changed:
            inventory.findings.add(
                id=finding, severity="info", cause=changed[finding], fix="Nothing.", confidence="certain"
            )
    inventory.services.add(namespace="demo", name="cache", rule="exe", processes=1, heat_measured=False)
    assert store(database, host, [batch])
    return now


def add_heat(batch: batch_pb2.Batch, end_ns: int, tiers: dict[str, list[int]]) -> None:
    """Adds one interval of anon memory: MiB by age bucket on each tier."""
    rows, n = list(tiers.values()), len(tiers)

    def packed(cells: list[list[int]]) -> bytes:
        return (np.array(cells, "<i8") * MIB).tobytes()

    active = packed([[sum(age[:count]) for count in (1, 2, 4, 5)] for age in rows])
    batch.heat.add(
        backend=heat_pb2.HEAT_BACKEND_ABIT_WALK,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=batches.MINUTE_NS,
        end_wall_ns=[end_ns] * n,
        service_ref=[batches.intern(batch, "demo/cache")] * n,
        group_ref=[batches.intern(batch, "server")] * n,
        kind=[heat_pb2.PAGE_KIND_ANON] * n,
        page_size_bytes=[4096] * n,
        tier_ref=[batches.intern(batch, tier) for tier in tiers],
        validity=[(1 << 64) - 1] * n,
        resident_bytes=[sum(age) * MIB for age in rows],
        age_bytes=packed(rows),
        never_bytes=packed([[0] * batches.AGE] * n),
        active_count_bytes=packed([[0, *age, 0] for age in rows]),
        active_lo_bytes=active,
        active_hi_bytes=active,
    )


def read(database: Database, host_id: str, now: int, **window: str) -> HostKnobAdvice:
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    reads = KnobReads(ReadContext(database, lambda: at, Settings(_env_file=None)))
    return reads.host(host_id, from_=window.get("from_"), to=None)


@native
def test_a_stored_recording_gets_the_advice_of_the_recording(database: Database) -> None:
    host = enrol(database)
    now = send(database, "04-pingpong", host)
    view = read(database, host.id, now)
    assert view.verdict == "futile_ping_pong"
    first = first_of(view.advice)
    assert first is not None
    # A snapshot a minute, where there was one every few seconds: moves are too slow for the smallest limit.
    assert (first.rule, first.changes, first.files.sysctl) == ("F4", (), None)
    assert "a limit of 1" in (first.note or "")
    figures = [row.figure for row in first.evidence if row.figure is not None]
    assert figures
    assert {(figure.window, figure.n_hosts) for figure in figures} == {(view.window, 1)}
    assert view.leading.hot_outside_dram_bytes.status == "not_collected"
    assert {row.what: row.bytes for row in view.subtracted} == {
        "hugetlb": None,
        "mlock": 4096,
        "pinned": 8192,
        "memory policies and cpusets": None,
    }


@native
def test_what_the_agent_found_of_cpusets_and_damon_bears_on_advice(database: Database) -> None:
    off = {"balancing": "0", "demotion": "false"}
    barred = enrol(database, name="barred")
    bars = "cpusets keep services away from the slower node 1: demo/cache"
    now = send(database, "02-default-spill", barred, **off, **{"cpuset-bars-slow-tier": bars})
    (piece,) = read(database, barred.id, now).advice
    assert piece.rules == ("F2", "F1")
    assert [change.path for change in piece.changes] == [DEMOTION, NUMA_BALANCING]
    assert bars in piece.risk
    tiered = enrol(database, name="tiered")
    uses = "DAMON is in use: kdamond 0 (paddr, migrate_hot, migrate_cold). Its kernel threads clear accessed bits"
    now = send(database, "02-default-spill", tiered, **off, **{"damon-in-use": uses})
    view = read(database, tiered.id, now)
    assert view.advice == ()
    assert "F1" in {withheld.rule for withheld in view.withheld}


@native
def test_a_healthy_host_gets_none_and_hears_why(database: Database) -> None:
    host = enrol(database)
    now = send(database, "03-tiering-steady", host)
    view = read(database, host.id, now)
    assert view.advice == ()
    assert first_of(view.advice) is None
    assert view.nothing_to_do is not None
    assert view.nothing_to_do.rule == "F12"


@native
def test_without_counters_nothing_is_claimed(database: Database) -> None:
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = read(database, host.id, batch.sealed_wall_ns)
    assert (view.verdict, view.advice, view.nothing_to_do) == ("not_known", (), None)
    with pytest.raises(NotFound):
        read(database, "nobody", batch.sealed_wall_ns)


@native
def test_a_setting_unlike_those_of_the_group_is_named(database: Database) -> None:
    odd = enrol(database)
    now = send(database, "12-kernel-6.1", odd, limit="500")
    for _ in range(3):
        send(database, "12-kernel-6.1", enrol(database))
    states = {row.path: row for row in read(database, odd.id, now).knobs}
    assert (states[RATE_LIMIT].current, states[RATE_LIMIT].group_norm) == ("500", "65536")
    assert (states[RATE_LIMIT].differs, states[RATE_LIMIT].group_hosts) == (True, 3)
    assert states[SWAPPINESS].differs is False


@native
def test_heat_leads_and_says_how_far_promotion_can_get(database: Database) -> None:
    host = enrol(database)
    now = send(database, "02-default-spill", host, balancing="0")
    heat = batches.make_batch(host_id=host.id, sealed_wall_ns=now, seq=1)
    hot, cold = [60, 40, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 50, 50, 0, 0]
    for i in range(70):
        add_heat(heat, now - (69 - i) * batches.MINUTE_NS, {"cxl": hot, "dram": cold})
    assert store(database, host, [heat])
    view = read(database, host.id, now, from_="-70m")
    assert view.leading.hot_outside_dram_bytes.value == pytest.approx(100 * MIB)
    cold_in_dram = view.leading.cold_in_dram_bytes
    assert cold_in_dram.value == pytest.approx(100 * MIB - 4096 - 2 * 4096)
    assert cold_in_dram.interval is not None
    assert cold_in_dram.interval.hi == pytest.approx(100 * MIB)
    first = first_of(view.advice)
    assert first is not None
    assert (first.rule, [change.proposed for change in first.changes]) == ("F1", ["2"])
    effect = first.effect_figure
    assert effect is not None
    assert effect.interval is not None
    assert (effect.value, effect.interval.lo, effect.interval.hi) == (0.5, 0.0, 1.0)
    short = first_of(read(database, host.id, now, from_="-20m").advice)
    assert short is None or short.effect_figure is None, "twenty minutes of heat are too few to stand on"


def test_a_split_or_a_small_group_has_no_norm() -> None:
    own: dict[str, str | None] = {"a": "1", "b": None}
    assert compare(own, [{"a": "2"}, {"a": "2"}])[0].group_norm is None
    split = compare(own, [{"a": "1"}, {"a": "2"}, {"a": "2"}])
    assert (split[0].group_norm, split[0].differs) == (None, None)
    assert compare({"a": "2"}, [{"a": "1"}, {"a": "1"}, {"a": "2"}])[0].differs is None, "seen from the other half, too"
    assert compare(own, [{"a": "2"}] * 3)[0].differs
    assert compare(own, [{"b": "3"}] * 3)[1].differs is None
    assert np.array([row.group_hosts for row in split]).tolist() == [3, 0]
