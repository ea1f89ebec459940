"""Swap as a tier below DRAM: whether it pays for a service, what binds, and which services of a host to keep out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, Origin, Window, absent, doubt_figures
from tierscope.domain.base.words import age_words
from tierscope.domain.capacity.swap import SwapDevice
from tierscope.domain.knobs.machine import read_swap_drives
from tierscope.domain.knobs.swap_tier import (
    CXL_DEVICE_GB,
    CXL_EXTRA_S,
    CXL_LINES,
    ZRAM_RATIO,
    BesideCxl,
    Binding,
    ColdMemory,
    SwapAge,
    SwapTerms,
    SwapTier,
    Verdict,
    fault_of,
    judge_swap_tier,
    weigh_cxl,
)
from tierscope.domain.ledger.doubt import list_doubts
from tierscope.domain.tco.published import PRESET_CURRENCY, PriceItem
from tierscope.domain.tco.scenario import Finance, Range
from tierscope.storage.base.subjects import hosts_of_service, newest_inventories
from tierscope.storage.fleet.services import list_services
from tierscope.storage.tco.prices import prices_in_force
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.money import YearlyMoney
from tierscope.usecases.base.subjects import require_service, require_subject_host
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.capacity.swap import SwapOfService
from tierscope.usecases.counters.service_metrics import ServiceMetricReads
from tierscope.usecases.curve.reaccess import RevisitCurve, RevisitReads
from tierscope.usecases.heat.services import read_heat_now, service_figures
from tierscope.usecases.knobs.swap_hosts import Inventories, SwappingHost, read_swapping_hosts, warn_of_hosts
from tierscope.usecases.ratio.service_class import latency_of
from tierscope.usecases.tco.prices import Price, follow_dram, preset_views, view_in_force
from tierscope.usecases.tco.scenario_documents import FinanceDocument

IDLE_INTERVALS = 2
"""Cold: not accessed for two intervals, as everywhere."""
MIN_LAGS = 3
LATENCY_POINTS = 500
MOST_SERVICES = 50
UNKNOWN_FACTOR = 2.0
"""Re-access without a band (one host, pages not counted) is taken to be wrong by so much either way [A]."""
NO_WEAR = "Memory that is compressed in DRAM wears nothing."
_DOUBTED = "A file that this stands on had a problem, so that it is not sure:"
_GROUNDING = "A steady state; S amplification of swap devices, docs/method/swap-devices.md"
_SENTENCES: dict[Verdict, str] = {
    "pays": "Swap pays below DRAM for memory that was cold for {age}: it frees {gib} GiB.",
    "may_pay": "Swap may pay for memory that was cold for {age}: the interval of what it saves holds zero.",
    "does_not_pay": "Swap does not pay: {why}.",
    "keep_out": "Keep this service out of swap (`memory.swap.max` 0): {why}.",
}
_WHY: dict[Binding, str] = {
    "loss": "memory comes back so soon that no age keeps the loss target",
    "latency": "its p99 latency is shorter than ten swap-ins, so that single ones show",
    "endurance": "the drive wears out before the host",
    "price": "the device costs more than the DRAM that it frees",
    "uncertainty": "",
    "none": "",
}


@dataclass(frozen=True, slots=True)
class SwapAgeView:
    """What happens where memory goes to swap once it was cold for so long."""

    age_seconds: float
    out_bytes: Annotated[Figure, Described("Memory on swap, of all hosts of the service.")]
    pool_bytes: Annotated[Figure, Described("DRAM that it takes where it is compressed there; zero on a drive.")]
    back_bytes_per_s: Annotated[Figure, Described("Memory that comes back, and was written before.")]
    wait_ratio: Annotated[
        Figure, Described("Seconds that threads of the service wait for swap-ins in a second, all together.")
    ]
    loss_ratio: Annotated[Figure, Described("Time that swap-ins take, over the time of the busy processors.")]
    drive_life_years: Annotated[
        Figure, Described("At most 100: beyond that writes do not wear it. Compressed memory does not wear.")
    ]
    cost_per_year: Annotated[
        YearlyMoney, Described("Of the drive, or of the DRAM of the pool, for the value of `out_bytes`.")
    ]
    saving_per_year: YearlyMoney


@dataclass(frozen=True, slots=True)
class CxlBeside:
    """The memory of the best age (where none is kept, of the least harmful one) on CXL instead of on swap."""

    media: Annotated[
        PriceItem, Described("What lies behind the controllers: at the price in force, else at that of DRAM.")
    ]
    cost_per_year: YearlyMoney
    swap_cost_per_year: Annotated[YearlyMoney, Described("Of the swap device for the same memory.")]
    saving_per_year: Annotated[YearlyMoney, Described("Of CXL, against the DRAM that it frees.")]
    loss_ratio: Annotated[Figure, Described("Time that lines of CXL memory take longer, until pages are promoted.")]
    cheaper: Annotated[
        Literal["swap", "cxl"] | None,
        Described("Of those that keep the loss target; null: neither does, or the costs cannot be told apart."),
    ]
    sentence: str


@dataclass(frozen=True, slots=True)
class SwapTierAssumption:
    """What was not measured, and why the value was taken."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class ServiceSwapTier:
    """Whether swap pays as a tier below DRAM for a service; null with the reason where heat says too little."""

    service_id: str
    name: str
    origin: Origin
    window: Window
    device: Annotated[SwapDevice, Described("What memory is swapped to here.")]
    verdict: Annotated[Verdict | None, Described("Null: not known; `reason` says why.")]
    binding: Annotated[Binding | None, Described("What keeps swap from paying, or from paying more.")]
    sentence: str
    reason: str | None
    best: Annotated[
        SwapAgeView | None, Described("At the age that saves most within the loss target; null where it is kept out.")
    ]
    ages: tuple[SwapAgeView, ...]
    cxl: Annotated[CxlBeside | None, Described("Null where the answer is not known.")]
    hosts: Annotated[tuple[SwappingHost, ...], Described("What hosts swap to and how much they do; the first by name.")]
    warnings: tuple[str, ...]
    loss_target: float
    prices: tuple[Price, ...]
    assumptions: tuple[SwapTierAssumption, ...]


@dataclass(frozen=True, slots=True)
class HostSwapTier:
    """Services of a host by their verdict; those to keep out of its swap first."""

    host_id: str
    keep_out: Annotated[tuple[str, ...], Described("Names of services to keep out of swap.")]
    services: tuple[ServiceSwapTier, ...]


class SwapTierReads(ContextUseCase):
    """Advice on swap below DRAM."""

    def service(
        self,
        service_id: str,
        *,
        loss_target: float,
        cores: float | None,
        from_: str | None,
        to: str | None,
        device: SwapDevice | None = None,
    ) -> ServiceSwapTier:
        """The advice with what it rests on. Without a device it is for the drives that the hosts swap to.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        revisit = RevisitReads(self._context).service(
            service_id,
            clock="turned_cold",
            idle_intervals=IDLE_INTERVALS,
            host=None,
            method=None,
            from_=from_,
            to=to,
            by_kind=False,
        )
        latency = latency_of(
            ServiceMetricReads(self._context).read(
                service_id, from_=window.start.isoformat(), to=window.end.isoformat(), max_points=LATENCY_POINTS
            )
        )
        with self._context.database.read() as session:
            service = require_service(session, service_id)
            subjects = hosts_of_service(session, service.id)
            hosts = [host.id for host in subjects]
            bodies = newest_inventories(session, hosts, window.end)
            swapping = read_swapping_hosts(session, subjects, bodies, window)
            heat = read_heat_now(session, now=now, service_id=service.id).get(service.id)
            cold = service_figures(heat, None, now=now).cold_in_dram_bytes
            prices = [_price(session, item) for item in ("dram", "ssd")]
            behind = [_media_price(session, prices[0]), _price(session, "cxl_controller")]
            device, why_device = (device, "as asked for") if device else _drive(bodies)
        missing = None if revisit.missing is None else revisit.missing.reason
        memory, reason = _cold_memory(cold, next(iter(revisit.curves), None), revisit.interval_seconds, missing)
        busy = float(max(len(hosts), 1)) if cores is None else cores
        prices += behind
        assumptions = _assumptions(device, why_device, cores, busy, prices)
        terms = _terms(prices, device, busy, loss_target, latency)
        unknown = ServiceSwapTier(
            service_id=service_id,
            name=f"{service.namespace}/{service.name}",
            origin=service.origin,
            window=window,
            device=device,
            verdict=None,
            binding=None,
            sentence="Whether swap pays is not known.",
            reason=reason,
            best=None,
            ages=(),
            cxl=None,
            hosts=swapping,
            warnings=warn_of_hosts(swapping),
            loss_target=loss_target,
            prices=tuple(prices),
            assumptions=assumptions,
        )
        if memory is None:
            return unknown
        found = judge_swap_tier(memory, terms)
        beside = weigh_cxl(found, terms, _range(behind[0]), _range(behind[1]))
        cxl = _view_cxl(beside, behind[0].item, found, cold, prices[0].currency)
        return _as_sure_as_files(replace(_judged(unknown, found, cold), cxl=cxl), list_doubts(bodies.values()))

    def advise(self, service_id: str, *, device: SwapDevice | None, loss_target: float) -> SwapOfService:
        """The advice as plans of hosts hold it: the best age of `service` with its own figures.

        Raises:
            NotFound: no such service.
        """
        found = self.service(service_id, loss_target=loss_target, cores=None, from_=None, to=None, device=device)
        best = found.best
        return SwapOfService(
            service=found.name,
            service_id=service_id,
            held=best is not None and found.verdict in ("pays", "may_pay"),
            device=found.device,
            verdict=found.verdict,
            why=found.sentence if found.reason is None else found.reason,
            age_seconds=None if best is None else best.age_seconds,
            swap_bytes=None if best is None else best.out_bytes,
            pool_bytes=None if best is None else best.pool_bytes,
            wait_ratio=None if best is None else best.wait_ratio,
            loss_ratio=None if best is None else best.loss_ratio,
            drive_life_years=None if best is None else best.drive_life_years,
            cost_per_year=None if best is None else best.cost_per_year,
            saving_per_year=None if best is None else best.saving_per_year,
        )

    def host(self, host_id: str, *, loss_target: float, from_: str | None, to: str | None) -> HostSwapTier:
        """The services that a host runs or ran, each judged over all its hosts.

        Raises:
            NotFound: no such host.
            BadRequest: the window cannot be read.
        """
        with self._context.database.read() as session:
            require_subject_host(session, host_id)
            rows = list_services(session, origin=None, host=host_id, after=None, limit=MOST_SERVICES)
        found = [self.service(row.public_id, loss_target=loss_target, cores=None, from_=from_, to=to) for row in rows]
        found.sort(key=lambda one: (one.verdict != "keep_out", one.verdict is None, one.name))
        return HostSwapTier(host_id, tuple(one.name for one in found if one.verdict == "keep_out"), tuple(found))


def _as_sure_as_files(view: ServiceSwapTier, doubts: Sequence[str]) -> ServiceSwapTier:
    """Swap may pay at most where a file of the hosts had a problem."""
    if not doubts:
        return view
    warnings = (*view.warnings, f"{_DOUBTED} {doubts[0]}")
    found = replace(doubt_figures(view, doubts), warnings=warnings)
    if view.verdict != "pays":
        return found
    return replace(found, verdict="may_pay", binding="uncertainty", sentence=f"{view.sentence} {_DOUBTED} {doubts[0]}")


def _judged(unknown: ServiceSwapTier, found: SwapTier, cold: Figure) -> ServiceSwapTier:
    views = {age.age_seconds: _view(age, cold, unknown.prices[0].currency) for age in found.ages}
    return replace(
        unknown,
        verdict=found.verdict,
        binding=found.binding,
        sentence=_sentence(found.verdict, found.binding, found.best),
        best=None if found.verdict == "keep_out" else views[found.best.age_seconds],
        ages=tuple(views.values()),
    )


def _view_cxl(beside: BesideCxl, media: PriceItem, found: SwapTier, cold: Figure, currency: str) -> CxlBeside:
    gib = f"{found.best.out_bytes.value / 2**30:,.1f} GiB"
    cost, swap = beside.cost_per_year, beside.swap_cost_per_year
    said = f"{gib} on CXL cost {cost.value:,.0f} {currency} a year, on swap {swap.value:,.0f}"
    sentence = {
        "swap": f"Swap is cheaper than CXL for this memory: {said}.",
        "cxl": f"CXL is what to take for this memory: {said}.",
        None: f"Swap and CXL cannot be told apart by cost, or neither keeps the loss target: {said}.",
    }[beside.cheaper]
    return CxlBeside(
        media=media,
        cost_per_year=_money(cost, currency),
        swap_cost_per_year=_money(swap, currency),
        saving_per_year=_money(beside.saving_per_year, currency),
        loss_ratio=_figure(cold, "cxl_loss_ratio", "ratio", beside.loss),
        cheaper=beside.cheaper,
        sentence=sentence,
    )


def _cold_memory(
    cold: Figure, curve: RevisitCurve | None, interval_s: float | None, missing: str | None
) -> tuple[ColdMemory | None, str | None]:
    """What heat says; else the reason why it says too little."""
    if curve is None or interval_s is None:
        return None, missing or "How soon cold memory is accessed again was not measured."
    if cold.value is None:
        return None, cold.reason
    known = curve.last_known_lag
    share, lo, hi = (np.array(one[:known], np.float64) for one in (curve.share, curve.lo, curve.hi))
    if known < MIN_LAGS or not np.isfinite(share).all() or cold.value <= 0.0:
        return None, (
            f"Cold memory was watched for {known} intervals; {MIN_LAGS} are needed. Choose a longer window."
            if cold.value > 0.0
            else "No cold memory lies in DRAM: there is nothing to put on swap."
        )
    ends = (cold.value, cold.value) if cold.interval is None else (cold.interval.lo, cold.interval.hi)
    lo = np.where(np.isfinite(lo), np.minimum(lo, share), share / UNKNOWN_FACTOR)
    hi = np.where(np.isfinite(hi), np.maximum(hi, share), np.minimum(share * UNKNOWN_FACTOR, 1.0))
    return ColdMemory(Range(cold.value, *ends), interval_s, share, lo, hi), None


def _price(session: ReadSession, item: PriceItem) -> Price:
    """The price in force, else the newest published one."""
    row = prices_in_force(session, PRESET_CURRENCY).get(item)
    return max(preset_views(item), key=lambda price: price.date) if row is None else view_in_force(row)


def _terms(prices: Sequence[Price], device: SwapDevice, cores: float, loss_target: float, latency: Figure) -> SwapTerms:
    """What is asked and assumed; the first two prices are those of DRAM and SSD."""
    finance = FinanceDocument()
    return SwapTerms(
        dram=_range(prices[0]),
        ssd=_range(prices[1]),
        finance=Finance(finance.life_years, finance.discount_rate, finance.method),
        device=device,
        cores=cores,
        loss_target=loss_target,
        latency_p99_s=None if latency.value is None else latency.value / 1e9,
    )


def _media_price(session: ReadSession, dram: Price) -> Price:
    """What memory behind CXL costs: the price in force, else that of DRAM, as a what-if of cost has it."""
    row = prices_in_force(session, PRESET_CURRENCY).get("cxl_media")
    return follow_dram(dram) if row is None else view_in_force(row)


def _range(price: Price) -> Range:
    return Range(price.value, price.low, price.high)


def _drive(bodies: Inventories) -> tuple[SwapDevice, str]:
    """What the hosts swap to, and how that is known."""
    drives = [drive for body in bodies.values() for drive in read_swap_drives(body) if drive.kind != "zram"]
    if drives and all(drive.is_zoned for drive in drives):
        return "zns", "the hosts swap to zoned devices"
    if any(drive.is_block_flash for drive in drives):
        return "block", "hosts swap to a solid-state drive without zones"
    return "block", "no host reports a solid-state swap device: a block SSD stands for the one to buy"


def _assumptions(
    device: SwapDevice, why_device: str, cores: float | None, busy: float, prices: Sequence[Price]
) -> tuple[SwapTierAssumption, ...]:
    fault = fault_of(device)
    found = [
        SwapTierAssumption("drive", device, why_device),
        SwapTierAssumption(
            "swap_in",
            f"{fault.value * 1e6:.0f} us",
            f"{'one page with lz4' if device == 'zram' else 'one read of flash'};"
            f" ends {fault.low * 1e6:.0f} and {fault.high * 1e6:.0f} us",
        ),
        *_device_assumptions(device),
        SwapTierAssumption("reaccess_band", "half to twice", "where a single host gives no band"),
        SwapTierAssumption(
            "cxl_device",
            f"{CXL_DEVICE_GB.value:.0f} GB",
            f"behind one controller; ends {CXL_DEVICE_GB.low:.0f} and {CXL_DEVICE_GB.high:.0f}",
        ),
        SwapTierAssumption(
            "cxl_access",
            f"{CXL_LINES.value:.0f} lines of {CXL_EXTRA_S.value * 1e9:.0f} ns more",
            f"of a page that comes back; ends {CXL_LINES.low:.0f} and {CXL_LINES.high:.0f} lines",
        ),
    ]
    if cores is None:
        why = "one for each host: with more the loss is as many times smaller"
        found.append(SwapTierAssumption("busy_cores", f"{busy:g}", why))
    found += [
        SwapTierAssumption(f"price_{price.item}", f"{price.value:g} {price.currency} {price.unit}", "published")
        for price in prices
        if price.preset and not price.in_force
    ]
    return tuple(found)


def _device_assumptions(device: SwapDevice) -> tuple[SwapTierAssumption, ...]:
    if device == "zram":
        ratio = ZRAM_RATIO
        why = f"pages in one page of DRAM; ends {ratio.low:.0f} and {ratio.high:.0f}"
        return (SwapTierAssumption("compression_ratio", f"{ratio.value:.0f}", why),)
    return (
        SwapTierAssumption("device_use", "50 %", "above half Linux writes pages again that come back unchanged"),
        SwapTierAssumption("rating", "1 drive size a day for 5 years", "read-intensive class"),
    )


def _figure(cold: Figure, name: str, unit: str, found: Range) -> Figure:
    return Figure(
        f"swap_tier.{name}/1",
        "ok",
        found.value,
        unit,
        method=cold.method,
        window=cold.window,
        n_hosts=cold.n_hosts,
        n_intervals=cold.n_intervals,
        coverage=cold.coverage,
        interval=Interval(found.low, found.high, None, "range"),
        grade="early",
        grounding=_GROUNDING,
    )


def _view(age: SwapAge, cold: Figure, currency: str) -> SwapAgeView:
    life = age.drive_life_years
    return SwapAgeView(
        age_seconds=age.age_seconds,
        out_bytes=_figure(cold, "out_bytes", "bytes", age.out_bytes),
        pool_bytes=_figure(cold, "pool_bytes", "bytes", age.pool_bytes),
        back_bytes_per_s=_figure(cold, "back_bytes_per_s", "bytes_per_s", age.back_bytes_per_s),
        wait_ratio=_figure(cold, "wait_ratio", "ratio", age.wait_ratio),
        loss_ratio=_figure(cold, "loss_ratio", "ratio", age.loss),
        drive_life_years=absent("swap_tier.drive_life_years/1", "years", "not_supported", NO_WEAR, window=cold.window)
        if life is None
        else _figure(cold, "drive_life_years", "years", life),
        cost_per_year=_money(age.cost_per_year, currency),
        saving_per_year=_money(age.saving_per_year, currency),
    )


def _money(found: Range, currency: str) -> YearlyMoney:
    return YearlyMoney(found.value, Interval(found.low, found.high, None, "range"), currency)


def _sentence(verdict: Verdict, binding: Binding, best: SwapAge) -> str:
    age = age_words(best.age_seconds)
    freed = best.out_bytes.value - best.pool_bytes.value
    return _SENTENCES[verdict].format(age=age, gib=f"{freed / 2**30:,.1f}", why=_WHY[binding])
