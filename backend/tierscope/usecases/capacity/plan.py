"""The plan: what services ask for, how it grows by quarter, and how many hosts of the chosen kinds that takes.

Cold memory may lie on swap; advice on each service says how much of it, at what cost.
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta

from tierscope.core.errors import NotFound, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.capacity.need import Advised, dram_need
from tierscope.domain.capacity.plan import Demand, Packed, PackedFleet, PackedHost, plan_fleet
from tierscope.domain.capacity.skus import Sku
from tierscope.storage.capacity.rows import StoredDay, days_lacking, newest_days, read_advised
from tierscope.storage.fleet.services import ServiceRow, list_services
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.capacity.forecasts import Outlook
from tierscope.usecases.capacity.reads import FRESH, note_away, note_lacking, read_outlooks
from tierscope.usecases.capacity.swap import (
    LOSS_TARGET,
    MOST_JUDGED,
    PlanDevice,
    PlanSwap,
    SwapAdvice,
    SwapOfService,
    sum_swap,
)
from tierscope.usecases.capacity.views import (
    CapacityPlan,
    Packing,
    PlacedService,
    PlanDemand,
    PlannedHost,
    PlanQuarter,
    SkuHosts,
    Unplaced,
)

NOW = "now"
MONTHS = 3
DAYS_PER_QUARTER = 365.25 / 4
MAX_UNITS = 50_000
NO_CORES = "Processors are not part of the plan where a kind of host states none, or a service's are not counted."
GROWTH = "Growth continues at the forecast's median bytes per day; a service without a forecast does not grow."
SWAP = (
    "Memory on swap is what advice on swap says of each service today; it grows as the service does. Costs and waits of"
    " swap are those of today."
)
MORE = "With swap more hosts are needed than with tiering alone: the packing without swap stands."
SPREAD = "Parts of one service may share a host; a rule that keeps them apart needs more hosts."


@dataclass(frozen=True, slots=True)
class Asked:
    """What to plan for."""

    skus: tuple[Sku, ...]
    horizon_quarters: int
    loss_target: float | None
    headroom_ratio: float
    service_ids: tuple[str, ...] | None
    swap: PlanDevice | None = None
    """What cold memory may be swapped to; None: no swap."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A service's demand now, its growth a day as a share of it (None: no forecast), and where both are from."""

    service: ServiceRow
    day: StoredDay
    memory: float
    dram: float
    growth_ratio_per_day: float | None
    grows_by: str
    dram_by: str

    @property
    def name(self) -> str:
        return f"{self.service.namespace}/{self.service.name}"


class CapacityPlans:
    """Plans of hosts."""

    def __init__(self, context: ReadContext, advice: SwapAdvice) -> None:
        self._context = context
        self._advice = advice

    def plan(self, asked: Asked) -> CapacityPlan:
        """Pack the fleet as it is now and at the end of each quarter, without and with tiering, and with swap too.

        Raises:
            NotFound: there is no such service.
            Unprocessable: the kinds of hosts contradict themselves, or nothing is known of any service.
        """
        _check(asked.skus)
        now = self._context.clock()
        with self._context.database.read() as session:
            rows = list_services(session, origin=None, host=None, after=None, limit=None)
            services = _choose(rows, asked.service_ids)
            newest = {row.subject: row for row in newest_days(session, "service", now - FRESH)}
            outlooks = {subject: outlook for subject, (_, outlook) in read_outlooks(session, "service").items()}
            advised = read_advised(session)
            away = note_away(read_hosts_away(session)) + note_lacking(newest.values(), days_lacking(session))
        known = [
            _know(service, newest[service.public_id], outlooks.get(service.public_id), advised, asked)
            for service in services
            if service.public_id in newest and newest[service.public_id].day.resident_bytes
        ]
        if not known:
            raise Unprocessable(
                "no service has a daily point of its memory in the last eight days",
                next_step="Wait for the first hours of data; GET /v1/capacity shows what is known.",
            )
        swap = None if asked.swap is None else self._judge_swap(known, asked.swap, asked.loss_target or LOSS_TARGET)
        on_swap = {} if swap is None else {one.service_id: one for one in swap.services if one.held}
        today = now.astimezone(UTC).date()
        quarters, unplaced, stages = [], [], []
        too_large = set[str]()
        for label, end in [(NOW, today), *_quarter_ends(today, asked.horizon_quarters)]:
            demands = [_demand(one, (end - today).days, asked.headroom_ratio, on_swap, too_large) for one in known]
            packed = plan_fleet(demands, asked.skus)
            stages.append((demands, packed))
            too_large |= {service for service, _, _ in packed.without.unplaced}
            quarters.append(_quarter(label, end, packed, asked.skus))
            unplaced += _unplaced(label, demands, known, packed)
        demands, packed = stages[0]
        names = {one.service.public_id: one.name for one in known}
        return CapacityPlan(
            quarters=tuple(quarters),
            packing=_packing(packed, demands, names),
            demands=tuple(_view(one, demand) for one, demand in zip(known, demands, strict=True)),
            unplaced=tuple(unplaced),
            swap=swap,
            loss_target=asked.loss_target,
            headroom_ratio=asked.headroom_ratio,
            notes=(*away, *_notes(known, services, asked, packed)),
        )

    def _judge_swap(self, known: Sequence[_Known], device: PlanDevice, loss_target: float) -> PlanSwap:
        largest = sorted(known, key=lambda one: -one.memory)[:MOST_JUDGED]
        given = None if device == "as_found" else device
        services = [
            self._advice.advise(one.service.public_id, device=given, loss_target=loss_target) for one in largest
        ]
        return sum_swap(device, loss_target, services, len(known) - len(largest))


def _packing(packed: PackedFleet, demands: Sequence[Demand], names: Mapping[str, str]) -> Packing:
    """Where swap takes more hosts the packing with tiering stands for both, without memory on swap."""
    tiered = [demand.without_swap() for demand in demands]
    swapped = None
    if packed.swapped is not None:
        held = tiered if packed.swap_fails else demands
        swapped = _hosts(packed.swapped, held, names)
    return Packing(
        _hosts(packed.without, [demand.without_tiering() for demand in demands], names),
        _hosts(packed.tiered, tiered, names),
        swapped,
    )


def _choose(rows: Sequence[ServiceRow], wanted: tuple[str, ...] | None) -> list[ServiceRow]:
    """The services named, else the live ones, else all: measured and simulated demand are not mixed by default."""
    if wanted is None:
        live = [row for row in rows if row.origin == "live"]
        return live or list(rows)
    by_id = {row.public_id: row for row in rows}
    missing = [service for service in wanted if service not in by_id]
    if missing:
        raise NotFound(f"there is no service {missing[0][:80]!r}")
    return [by_id[service] for service in dict.fromkeys(wanted)]


def _know(
    service: ServiceRow, stored: StoredDay, outlook: Outlook | None, advised: Mapping[str, Advised], asked: Asked
) -> _Known:
    resident = stored.day.resident_bytes or 0.0
    advice = advised.get(service.public_id)
    if advice is not None and asked.loss_target is not None and advice.loss_target > asked.loss_target:
        advice = None
    # The plan adds the headroom that it is asked for, to DRAM as to all memory.
    need = dram_need(resident, stored.day.hot_bytes, advice, headroom=0.0)
    if need is None:
        need, dram_by = resident, "neither heat nor advice: all in DRAM"
    elif advice is not None and advice.dram_ratio >= 1:
        dram_by = f"no ratio is proven at a loss of {advice.loss_target:.0%}: all in DRAM"
    elif advice is not None:
        dram_by = f"ratio advice at a loss of {advice.loss_target:.0%}, at least the hot bytes"
    else:
        dram_by = "hot bytes"
    growth = None if outlook is None else outlook.growth
    grows_by = (outlook.method or "") if outlook is not None and growth is not None else "no forecast: not grown"
    rate = None if growth is None or resident <= 0 else growth / resident
    return _Known(service, stored, resident, min(need, resident), rate, grows_by, dram_by)


def _demand(
    known: _Known, days: int, headroom: float, on_swap: Mapping[str, SwapOfService], too_large: Container[str]
) -> Demand:
    """The demand after so many days. Units keep their size: a service that grows runs on more hosts.

    Those of a service that were too large grow with it: whole units more would make each smaller, and seem to fit.
    Swap holds what advice says and has no headroom: what a service may need more of is memory.
    """
    grown = max(1.0 + (known.growth_ratio_per_day or 0.0) * days, 0.0)
    times = 1.0 if known.service.public_id in too_large else grown
    units = min(max(math.ceil(known.day.day.n_hosts * times - 1e-9), 1), MAX_UNITS)
    factor = grown * (1.0 + headroom)
    cores = (known.day.day.busy_cores or 0.0) * grown
    memory = known.memory * factor
    demand = Demand(known.service.public_id, units, memory, known.dram * factor, cores)
    held = on_swap.get(known.service.public_id)
    if held is None or held.swap_bytes is None or held.pool_bytes is None:
        return demand
    swapped, pool = (figure.value or 0.0 for figure in (held.swap_bytes, held.pool_bytes))
    return replace(demand, swap_bytes=min(swapped * grown, memory), pool_bytes=pool * grown)


def _quarter_ends(today: date, count: int) -> list[tuple[str, date]]:
    """Labels and last days of this quarter and those that follow."""
    found = []
    year, quarter = today.year, (today.month - 1) // MONTHS
    for _ in range(count):
        month = (quarter + 1) * MONTHS
        first_after = date(year + month // 12, month % 12 + 1, 1)
        found.append((f"{year} Q{quarter + 1}", first_after - timedelta(days=1)))
        year, quarter = (year + 1, 0) if quarter == MONTHS else (year, quarter + 1)
    return found


def _quarter(label: str, end: date, packed: PackedFleet, skus: Sequence[Sku]) -> PlanQuarter:
    def count(fleet: Packed, sku: Sku) -> int:
        return sum(host.sku.name == sku.name for host in fleet.hosts)

    def whole(fleet: Packed | None) -> tuple[int | None, int | None, float | None]:
        """Hosts, the fewest that any packing needs, and their price; nothing where some demand fits no SKU."""
        if fleet is None or fleet.unplaced:
            return None, None, None
        return len(fleet.hosts), fleet.lower_bound, fleet.price

    without, tiered, swapped = (whole(fleet) for fleet in (packed.without, packed.tiered, packed.swapped))
    return PlanQuarter(
        quarter=label,
        ends_at=end,
        hosts_without_tiering=without[0],
        hosts_with_tiering=tiered[0],
        hosts_with_swap=swapped[0],
        lower_bound_without=without[1],
        lower_bound_with=tiered[1],
        lower_bound_with_swap=swapped[1],
        price_without=without[2],
        price_with=tiered[2],
        price_with_swap=swapped[2],
        by_sku=tuple(
            SkuHosts(
                sku.name,
                count(packed.without, sku),
                count(packed.tiered, sku),
                None if packed.swapped is None else count(packed.swapped, sku),
            )
            for sku in skus
        ),
    )


def _unplaced(label: str, demands: Sequence[Demand], known: Sequence[_Known], fleet: PackedFleet) -> list[Unplaced]:
    by_id = {demand.name: demand for demand in demands}
    names = {one.service.public_id: one.name for one in known}
    found = []
    for packed, tiering in ((fleet.without, False), (fleet.tiered, True)):
        for service, _, why in packed.unplaced:
            demand = by_id[service] if tiering else by_id[service].without_tiering()
            rest = demand.memory_bytes - demand.dram_bytes
            found.append(Unplaced(label, names[service], service, tiering, demand.dram_bytes, rest, why))
    return found


def _hosts(packed: Packed, demands: Sequence[Demand], names: Mapping[str, str]) -> tuple[PlannedHost, ...]:
    """Hosts of one content once, with how many there are of it."""
    by_id = {demand.name: demand for demand in demands}
    counts: dict[PackedHost, int] = {}
    for host in packed.hosts:
        counts[host] = counts.get(host, 0) + 1
    return tuple(
        copied(
            PlannedHost, host, sku=host.sku.name, count=count, cores=host.sku.cores, placed=_placed(host, by_id, names)
        )
        for host, count in counts.items()
    )


def _placed(host: PackedHost, by_id: Mapping[str, Demand], names: Mapping[str, str]) -> tuple[PlacedService, ...]:
    """DRAM that is left over once every service has what it needs goes to all alike."""
    parts = [(service, by_id[service].unit() * units) for service, units in host.units]
    need = sum(float(part[0]) for _, part in parts)
    rest = sum(float(part[1] - part[0]) for _, part in parts)
    spare = min(max(host.dram_bytes - need, 0.0), rest)
    share = spare / rest if rest > 0 else 0.0
    placed = []
    for service, part in parts:
        dram = float(part[0]) + share * float(part[1] - part[0])
        swapped = by_id[service].swap_bytes / by_id[service].units * dict(host.units)[service]
        placed.append(PlacedService(names[service], service, dram, max(float(part[1]) - dram, 0.0), swapped))
    return tuple(placed)


def _view(known: _Known, demand: Demand) -> PlanDemand:
    growth = known.growth_ratio_per_day
    return PlanDemand(
        service=known.name,
        service_id=known.service.public_id,
        hosts=known.day.day.n_hosts,
        memory_bytes=demand.memory_bytes,
        dram_bytes=demand.dram_bytes,
        cores=known.day.day.busy_cores,
        growth_ratio_per_quarter=None if growth is None else growth * DAYS_PER_QUARTER,
        grows_by=known.grows_by,
        dram_by=known.dram_by,
    )


def _notes(
    known: Sequence[_Known], services: Sequence[ServiceRow], asked: Asked, packed: PackedFleet
) -> tuple[str, ...]:
    notes = [GROWTH, SPREAD]
    if asked.swap is not None:
        notes.append(SWAP)
    if packed.swap_fails:
        notes.append(MORE)
    if any(sku.cores is None for sku in asked.skus) or any(one.day.day.busy_cores is None for one in known):
        notes.append(NO_CORES)
    planned = {one.service.public_id for one in known}
    missing = [f"{row.namespace}/{row.name}" for row in services if row.public_id not in planned]
    if missing:
        named = ", ".join(missing[:5]) + (" and others" if len(missing) > 5 else "")  # noqa: PLR2004 - a readable few
        notes.append(f"Not planned, because nothing is known of their memory in the last eight days: {named}.")
    if any(one.service.origin != "live" for one in known):
        notes.append("The demand is simulated or imported: the plan says nothing of a real fleet.")
    return tuple(notes)


def _check(skus: Sequence[Sku]) -> None:
    names = [sku.name for sku in skus]
    if len(set(names)) < len(names):
        raise Unprocessable("two kinds of hosts have the same name")
    for sku in skus:
        if sku.dimms_min > sku.dram_slots:
            raise Unprocessable(f"{sku.name}: {sku.dimms_min} modules at least, and {sku.dram_slots} slots")
        if any(size <= 0 for size in sku.dimm_bytes):
            raise Unprocessable(f"{sku.name}: a module has at least one byte")
        if sku.cxl_devices_max and not sku.cxl_device_bytes:
            raise Unprocessable(f"{sku.name}: say how large its CXL devices are (cxl_device_bytes)")
    if len({sku.price is None for sku in skus}) > 1:
        raise Unprocessable("some kinds of hosts have a price and some have none", next_step="Price all or none.")
