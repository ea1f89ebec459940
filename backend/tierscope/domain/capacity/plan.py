"""Packing services on hosts: first fit, largest demand first, over DRAM, all memory and processors at once.

A demand is `units` equal parts, one per host that the service runs on. A part fits a host when the sum of what must
be in DRAM fits its DRAM, the sum of all memory fits DRAM and CXL together, and processors suffice: what need not be in
DRAM may lie in either. Without tiering all memory must be in DRAM. Memory on swap needs neither, except the pool of
compressed memory, which lies in DRAM. Ties go by name, so the same input gives the same
plan. First fit is not optimal; the lower bounds hold for every packing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tierscope.domain.capacity.skus import Sku

Floats = npt.NDArray[np.float64]
_SLACK = 1e-9
_NOTHING = 1e-6
_MANY = 1 << 30


@dataclass(frozen=True, slots=True)
class Demand:
    """A service: bytes and cores of all its units together; `dram_bytes` of them must be in DRAM.

    `swap_bytes` of the memory are on swap, and take `pool_bytes` of DRAM where they are compressed there.
    """

    name: str
    units: int
    memory_bytes: float
    dram_bytes: float
    cores: float = 0.0
    swap_bytes: float = 0.0
    pool_bytes: float = 0.0

    def unit(self) -> Floats:
        """DRAM, all memory and cores of one unit [3]."""
        held = self.memory_bytes - self.swap_bytes
        dram = min(self.dram_bytes, held) + self.pool_bytes
        return np.array([dram, held + self.pool_bytes, self.cores], np.float64) / self.units

    def without_tiering(self) -> "Demand":
        """The same with all its memory in DRAM."""
        return replace(self.without_swap(), dram_bytes=self.memory_bytes)

    def without_swap(self) -> "Demand":
        """The same with all its memory in DRAM and on CXL."""
        return replace(self, swap_bytes=0.0, pool_bytes=0.0)


@dataclass(frozen=True, slots=True)
class PackedHost:
    """A host with the memory that was chosen for it and (demand, units) on it; `dram_placed` of each demand's bytes."""

    sku: Sku
    dram_bytes: int
    cxl_devices: int
    units: tuple[tuple[str, int], ...]

    @property
    def cxl_bytes(self) -> int:
        """Bytes of its CXL devices."""
        return self.cxl_devices * self.sku.cxl_device_bytes


@dataclass(frozen=True, slots=True)
class Packed:
    """All hosts, what no SKU holds (demand, units, why), and how few hosts any packing needs at least."""

    hosts: tuple[PackedHost, ...]
    unplaced: tuple[tuple[str, int, str], ...]
    lower_bound: int

    @property
    def price(self) -> float | None:
        """Of all hosts; None where a SKU has none."""
        prices = [host.sku.price for host in self.hosts]
        return None if any(price is None for price in prices) else float(sum(price or 0.0 for price in prices))


@dataclass(frozen=True, slots=True)
class PackedFleet:
    """The fleet without tiering, with it, and with memory on swap too; the last is None where no demand has any."""

    without: Packed
    tiered: Packed
    swapped: Packed | None

    @property
    def swap_fails(self) -> bool:
        """Whether memory on swap needs more hosts, so that the packing without it stands."""
        return self.swapped is not None and self.swapped.hosts is self.tiered.hosts


def plan_fleet(demands: Sequence[Demand], skus: Sequence[Sku]) -> PackedFleet:
    """The fleet in three ways. None takes more hosts than the one before it: that packing still holds."""
    without = pack([demand.without_tiering() for demand in demands], [_without_cxl(sku) for sku in skus])
    tiered = _no_worse(pack([demand.without_swap() for demand in demands], skus), without)
    if not any(demand.swap_bytes for demand in demands):
        return PackedFleet(without, tiered, None)
    return PackedFleet(without, tiered, _no_worse(pack(demands, skus), tiered))


def _no_worse(packed: Packed, before: Packed) -> Packed:
    return Packed(before.hosts, before.unplaced, packed.lower_bound) if _better(before, packed) else packed


def pack(demands: Sequence[Demand], skus: Sequence[Sku]) -> Packed:
    """The best of packing on each SKU alone, as far as one holds all that any does, and on all of them mixed."""
    fitting = {demand.name: [sku for sku in skus if _fits(demand, sku)] for demand in demands}
    unplaced = tuple((demand.name, demand.units, _why(demand, skus)) for demand in demands if not fitting[demand.name])
    placed = [demand for demand in demands if fitting[demand.name] and demand.units > 0]
    bound = lower_bound(placed, skus)
    everywhere = [sku for sku in skus if all(sku in fitting[demand.name] for demand in placed)]
    options = [_first_fit(placed, {demand.name: [sku] for demand in placed}) for sku in everywhere]
    options.append(_first_fit(placed, fitting))
    return min((Packed(_trim(hosts, placed, skus), unplaced, bound) for hosts in options), key=_cost)


def lower_bound(demands: Sequence[Demand], skus: Sequence[Sku]) -> int:
    """Hosts that any packing needs: each resource's sum over the most that a host of any SKU has of it."""
    if not demands:
        return 0
    total = np.sum([demand.unit() * demand.units for demand in demands], axis=0)
    most = np.max([_room(sku) for sku in skus], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        needed = np.where(np.isfinite(most) & (most > 0), total / most, 0.0)
    return max(math.ceil(float(needed.max()) * (1.0 - _SLACK)), 1)


def _cost(packed: Packed) -> tuple[float, int]:
    """By price where all SKUs have one, else by hosts."""
    price = packed.price
    return (price if price is not None else float(len(packed.hosts)), len(packed.hosts))


def _better(one: Packed, other: Packed) -> bool:
    """Whether `one` leaves less unplaced, or as much on fewer hosts or for less money."""
    left = (len(one.unplaced), len(other.unplaced))
    if left[0] != left[1]:
        return left[0] < left[1]
    return len(one.hosts) < len(other.hosts)


def _first_fit(demands: Sequence[Demand], allowed: dict[str, list[Sku]]) -> list[tuple[Sku, dict[str, int]]]:
    """Hosts with units by demand. The largest unit, by its share of the roomiest host, comes first."""
    order = sorted(demands, key=lambda demand: (-_weight(demand, allowed[demand.name]), demand.name))
    hosts: list[tuple[Sku, dict[str, int]]] = []
    room = np.zeros((0, 3))
    for demand in order:
        unit, left = demand.unit(), demand.units
        skus = allowed[demand.name]
        for place, count in _counts(room, unit, hosts, skus):
            taken = min(count, left)
            hosts[place][1][demand.name] = hosts[place][1].get(demand.name, 0) + taken
            room[place] -= taken * unit
            left -= taken
            if left == 0:
                break
        if left == 0:
            continue
        sku = max(skus, key=lambda found: (_whole(_room(found), unit), -skus.index(found)))
        each = _whole(_room(sku), unit)
        fresh = []
        while left > 0:
            taken = min(each, left)
            hosts.append((sku, {demand.name: taken}))
            fresh.append(_room(sku) - taken * unit)
            left -= taken
        room = np.vstack([room, np.array(fresh)])
    return hosts


def _counts(
    room: Floats, unit: Floats, hosts: Sequence[tuple[Sku, dict[str, int]]], skus: Sequence[Sku]
) -> list[tuple[int, int]]:
    """(host, units that still fit) of open hosts with room, in the order in which they were opened."""
    if not len(room):
        return []
    needed = unit > _NOTHING
    if not needed.any():
        most = np.full(len(room), _MANY)
    else:
        most = np.floor(((room[:, needed] * (1.0 + _SLACK)) / unit[needed]).min(axis=1)).clip(0, _MANY).astype(np.int64)
    names = {sku.name for sku in skus}
    return [(place, int(most[place])) for place in np.flatnonzero(most > 0).tolist() if hosts[place][0].name in names]


def _whole(room: Floats, unit: Floats) -> int:
    """Units that a whole host holds."""
    needed = unit > _NOTHING
    if not needed.any():
        return _MANY
    return int(np.floor((room[needed] * (1.0 + _SLACK)) / unit[needed]).min().clip(0, _MANY))


def _trim(
    hosts: Sequence[tuple[Sku, dict[str, int]]], demands: Sequence[Demand], skus: Sequence[Sku]
) -> tuple[PackedHost, ...]:
    """Each host as the cheapest SKU that holds what is on it (the smallest, without prices), with the least memory."""
    units = {demand.name: demand.unit() for demand in demands}
    known: dict[tuple[tuple[str, int], ...], PackedHost] = {}
    out = []
    for sku, content in hosts:
        key = tuple(sorted(content.items()))
        if key not in known:
            load = np.sum([units[name] * count for name, count in key], axis=0)
            known[key] = _smallest(load, sku, skus, key)
        out.append(known[key])
    return tuple(out)


def _smallest(load: Floats, opened: Sku, skus: Sequence[Sku], content: tuple[tuple[str, int], ...]) -> PackedHost:
    options = []
    for place, sku in enumerate(skus):
        fit = sku.fit_memory(float(load[0]) * (1 - _SLACK), float(load[1]) * (1 - _SLACK))
        enough = sku.cores is None or load[2] <= sku.cores * (1.0 + _SLACK)
        if fit is not None and enough:
            price = sku.price if sku.price is not None else float(fit[0] + fit[1] * sku.cxl_device_bytes)
            options.append((price, sku is not opened, place, sku, fit))
    *_, sku, memory = min(options, key=lambda one: one[:3])
    return PackedHost(sku, memory[0], memory[1], content)


def _room(sku: Sku) -> Floats:
    """DRAM, all memory and cores of a host with all that fits in it; cores without a limit where none is stated."""
    cores = math.inf if sku.cores is None else sku.cores
    return np.array([sku.dram_most, sku.dram_most + sku.cxl_most, cores], np.float64)


def _fits(demand: Demand, sku: Sku) -> bool:
    return bool((demand.unit() <= _room(sku) * (1.0 + _SLACK)).all())


def _weight(demand: Demand, skus: Sequence[Sku]) -> float:
    room = np.max([_room(sku) for sku in skus], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.where(np.isfinite(room) & (room > 0), demand.unit() / room, 0.0).max())


def _why(demand: Demand, skus: Sequence[Sku]) -> str:
    """Which resource of one unit no SKU has enough of."""
    names = ("DRAM", "memory", "processors")
    rooms = np.max([_room(sku) for sku in skus], axis=0)
    short = [name for name, part, most in zip(names, demand.unit(), rooms, strict=True) if part > most]
    return f"one unit needs more {short[0]} than any host has" if short else "no single kind of host has enough of all"


def _without_cxl(sku: Sku) -> Sku:
    return Sku(sku.name, sku.dram_slots, sku.dimm_bytes, sku.dimms_min, sku.dimm_step, 0, 0, sku.cores, sku.price)
