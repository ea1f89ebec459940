"""Packing: nothing over capacity, all demand placed or named, bounds that hold, tiering never on more hosts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierscope.domain.capacity.plan import Demand, Packed, lower_bound, pack, plan_fleet
from tierscope.domain.capacity.skus import Sku
from tierscope.domain.capacity.swap import shared_life_years

GIB = 1 << 30
BIG = Sku("big", 16, (32 * GIB, 64 * GIB), 8, 8, 4, 128 * GIB)


def demand(name: str, units: int, memory_gib: float, dram_gib: float | None = None, cores: float = 0.0) -> Demand:
    """By unit, in GiB."""
    dram = memory_gib if dram_gib is None else dram_gib
    return Demand(name, units, units * memory_gib * GIB, units * dram * GIB, units * cores)


@st.composite
def demands(draw: st.DrawFn) -> list[Demand]:
    found = []
    for i in range(draw(st.integers(0, 7))):
        memory = draw(st.floats(0.5, 900.0))
        dram = memory * draw(st.floats(0.0, 1.0))
        found.append(demand(f"d{i}", draw(st.integers(1, 30)), memory, dram, draw(st.floats(0.0, 40.0))))
    return found


@st.composite
def skus(draw: st.DrawFn) -> list[Sku]:
    priced = draw(st.booleans())
    found = []
    for i in range(draw(st.integers(1, 3))):
        slots = draw(st.integers(1, 16))
        size = draw(st.sampled_from([16, 32, 64])) * GIB
        least, step = draw(st.integers(1, slots)), draw(st.integers(1, 4))
        cores = draw(st.one_of(st.none(), st.floats(8.0, 128.0)))
        price = draw(st.floats(1.0, 1e5)) if priced else None
        devices = draw(st.integers(0, 4))
        found.append(Sku(f"s{i}", slots, (size, 2 * size), least, step, devices, 128 * GIB, cores, price))
    return found


def check(packed: Packed, asked: Sequence[Demand]) -> None:
    """Every host holds what is on it; units are placed or named; no fewer hosts than the bound."""
    by_name = {one.name: one for one in asked}
    counted = dict.fromkeys(by_name, 0)
    for host in packed.hosts:
        load = np.sum([by_name[name].unit() * units for name, units in host.units], axis=0)
        assert load[0] <= host.dram_bytes * (1 + 1e-6)
        assert load[1] <= (host.dram_bytes + host.cxl_bytes) * (1 + 1e-6)
        assert host.sku.cores is None or load[2] <= host.sku.cores * (1 + 1e-6)
        assert host.cxl_devices <= host.sku.cxl_devices_max
        sizes = {count * size for count in host.sku.dimm_counts() for size in host.sku.dimm_bytes}
        assert host.dram_bytes in sizes
        for name, units in host.units:
            counted[name] += units
    for name, units, why in packed.unplaced:
        assert why
        counted[name] += units
    assert counted == {one.name: one.units for one in asked}
    assert len(packed.hosts) >= packed.lower_bound


@settings(max_examples=150, deadline=None)
@given(demands(), skus())
def test_plans_hold_what_they_promise(asked: list[Demand], kinds: list[Sku]) -> None:
    fleet = plan_fleet(asked, kinds)
    without, tiered = fleet.without, fleet.tiered
    assert fleet.swapped is None
    check(without, [one.without_tiering() for one in asked])
    check(tiered, asked)
    assert all(host.cxl_devices == 0 for host in without.hosts)
    assert len(tiered.unplaced) <= len(without.unplaced)
    if len(tiered.unplaced) == len(without.unplaced):
        assert len(tiered.hosts) <= len(without.hosts)
    assert plan_fleet(list(reversed(asked)), kinds).without.unplaced == tuple(reversed(without.unplaced))


@settings(max_examples=50, deadline=None)
@given(demands(), skus())
def test_where_all_must_be_in_dram_tiering_changes_nothing(asked: list[Demand], kinds: list[Sku]) -> None:
    bare = [one.without_tiering() for one in asked]
    fleet = plan_fleet(bare, kinds)
    assert len(fleet.tiered.hosts) <= len(fleet.without.hosts)


@settings(max_examples=100, deadline=None)
@given(demands(), skus(), st.floats(0.01, 1.0), st.sampled_from([0.0, 1.0 / 3.0]))
def test_memory_on_swap_takes_no_more_hosts(asked: list[Demand], kinds: list[Sku], on_swap: float, pool: float) -> None:
    swapping = [
        replace(one, swap_bytes=one.memory_bytes * on_swap, pool_bytes=one.memory_bytes * on_swap * pool)
        for one in asked
    ]
    fleet = plan_fleet(swapping, kinds)
    bare = plan_fleet(asked, kinds)
    assert (fleet.without, fleet.tiered) == (bare.without, bare.tiered)
    if not asked:
        return
    assert fleet.swapped is not None
    check(fleet.swapped, asked if fleet.swap_fails else swapping)
    if len(fleet.swapped.unplaced) == len(fleet.tiered.unplaced):
        assert len(fleet.swapped.hosts) <= len(fleet.tiered.hosts)
    assert len(fleet.swapped.unplaced) <= len(fleet.tiered.unplaced)


def test_a_third_on_swap_halves_the_hosts_and_its_pool_takes_dram() -> None:
    plain = replace(BIG, cxl_devices_max=0)
    asked = demand("web", 8, 600.0, 200.0)
    on_drives = replace(asked, swap_bytes=8 * 100.0 * GIB)
    fleet = plan_fleet([on_drives], [plain])
    assert fleet.swapped is not None
    assert (len(fleet.tiered.hosts), len(fleet.swapped.hosts)) == (8, 4)
    compressed = plan_fleet([replace(on_drives, pool_bytes=8 * 33.0 * GIB)], [plain])
    assert compressed.swapped is not None
    assert len(compressed.swapped.hosts) == 8, "533 GiB a unit: two are more than the 1 TiB of a host"
    assert not compressed.swap_fails


def test_a_drive_of_several_services_wears_by_their_writes_and_sizes() -> None:
    assert shared_life_years([100.0, 100.0], [10.0, 10.0]) == pytest.approx(10.0)
    assert shared_life_years([300.0, 100.0], [100.0, 2.0]) == pytest.approx(400.0 / 53.0)
    for sizes, lives in (([], [1.0]), ([1.0], [0.0])):
        with pytest.raises(ValueError, match="holds some bytes"):
            shared_life_years(sizes, lives)


def test_cold_memory_goes_to_devices_and_saves_hosts() -> None:
    asked = [demand("web", 8, 900.0, 200.0)]
    fleet = plan_fleet(asked, [BIG])
    without, tiered = fleet.without, fleet.tiered
    assert (len(without.hosts), len(tiered.hosts)) == (8, 8)
    # 900 GiB need 1 TiB of modules without devices; with four of those half a TiB does.
    assert {host.dram_bytes for host in without.hosts} == {16 * 64 * GIB}
    assert {(host.dram_bytes, host.cxl_devices) for host in tiered.hosts} == {(16 * 32 * GIB, 4)}
    halves = plan_fleet([demand("web", 8, 600.0, 200.0)], [BIG])
    assert (len(halves.without.hosts), len(halves.tiered.hosts)) == (8, 4)


def test_what_no_kind_of_host_holds_is_named_with_the_cause() -> None:
    packed = pack([demand("huge", 2, 5000.0), demand("web", 1, 100.0)], [BIG])
    assert packed.unplaced == (("huge", 2, "one unit needs more DRAM than any host has"),)
    assert len(packed.hosts) == 1
    cores = Sku("few", 16, (64 * GIB,), cores=8.0)
    assert pack([demand("busy", 1, 10.0, cores=9.0)], [cores]).unplaced[0][2].startswith("one unit needs more proc")


def test_modules_come_in_steps_and_prices_choose_the_kind() -> None:
    assert BIG.fit_memory(100.0 * GIB, 100.0 * GIB) == (8 * 32 * GIB, 0)
    assert BIG.fit_memory(300.0 * GIB, 300.0 * GIB) == (8 * 64 * GIB, 0)
    assert BIG.fit_memory(100.0 * GIB, 300.0 * GIB) == (8 * 32 * GIB, 1)
    assert BIG.fit_memory(100.0 * GIB, 5000.0 * GIB) is None
    cheap = Sku("cheap", 8, (32 * GIB,), price=5_000.0)
    dear = Sku("dear", 16, (64 * GIB,), price=50_000.0)
    packed = pack([demand("web", 3, 200.0)], [cheap, dear])
    assert [host.sku.name for host in packed.hosts] == ["cheap"] * 3
    assert packed.price == 15_000.0
    assert pack([demand("web", 3, 200.0)], [BIG]).price is None


def test_the_lower_bound_is_the_scarcest_resource() -> None:
    assert lower_bound([demand("a", 10, 512.0)], [BIG]) == 5
    assert lower_bound([demand("a", 10, 512.0, 64.0)], [BIG]) == 4
    assert lower_bound([], [BIG]) == 0
