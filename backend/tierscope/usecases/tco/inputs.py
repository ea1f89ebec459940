"""From a scenario document to the values that are costed: prices by their order of precedence, defaults, hosts.

A price is what the scenario states, else what the price book has confirmed in the scenario's currency, else a published
default. DRAM has no default. Currencies are never mixed and never converted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from tierscope.core.errors import Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.simulate.swap_amplification import Drive, amplification_at
from tierscope.domain.tco.published import (
    ASSUMED_ON,
    DEFAULTS,
    PRESET_CURRENCY,
    PRICE_ITEMS,
    PRICE_LABELS,
    PRICE_UNITS,
    Default,
    PriceItem,
    default_price,
)
from tierscope.domain.tco.scenario import (
    Design,
    Expander,
    Finance,
    Fleet,
    Loss,
    Range,
    Scenario,
    ScenarioError,
    SharedName,
    Sku,
    Swap,
    Zswap,
)
from tierscope.usecases.tco.answers import MissingInput, TcoInput
from tierscope.usecases.tco.prices import FOLLOWS_DRAM, Price, preset_views
from tierscope.usecases.tco.scenario_documents import (
    ExpanderDocument,
    HostDocument,
    ModuleDocument,
    OptionDocument,
    PriceDocument,
    RangeDocument,
    ScenarioDocument,
)

_ENDURANCE = ("drive_writes_per_day", "drive_years", "waf_ssd", "waf_zns", "waf_rated")
_FREE = Range.exactly(0.0)
MODELLED: Mapping[SharedName, tuple[Literal["ssd", "zns"], Drive]] = {
    "waf_ssd": ("ssd", "block"),
    "waf_zns": ("zns", "zns"),
}
"""Inputs that the model of swap devices gives by the use of drives of a kind, unless a scenario states them."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The shared inputs, how they are shown, and what is missing."""

    ranges: Mapping[SharedName, Range]
    views: tuple[TcoInput, ...]
    missing: tuple[MissingInput, ...]
    linked: bool

    @property
    def dram_date(self) -> date | None:
        """The day that the price of DRAM held on."""
        return next((view.date for view in self.views if view.name == "dram"), None)


def gather_inputs(document: ScenarioDocument, confirmed: Mapping[str, Price]) -> Inputs:
    """All shared inputs of a scenario. Those that no host needs are taken as zero and not shown.

    Raises:
        Unprocessable: a price is in another currency than the scenario.
    """
    ranges: dict[SharedName, Range] = {}
    views: list[TcoInput] = []
    missing: list[MissingInput] = []
    linked = False
    needed = needed_inputs(document)
    for item in PRICE_ITEMS:
        if item not in needed:
            ranges[item] = _FREE
            continue
        view = _price(document, item, confirmed)
        if view is None and item == "cxl_media":
            linked = True
            ranges[item] = ranges.get("dram", _FREE)
            dram = next((known for known in views if known.name == "dram"), None)
            views += [_following(dram)] if dram else []
        elif view is None:
            missing.append(_missing(document, item))
        else:
            ranges[item] = Range(view.value, view.low, view.high)
            views.append(view)
    for name, shown in _defaults(document):
        ranges[name] = Range(shown.value, shown.low, shown.high)
        views += [shown] if name in needed else []
    return Inputs(ranges, tuple(views), tuple(missing), linked)


def needed_inputs(document: ScenarioDocument) -> frozenset[str]:
    """The shared inputs that any host of a scenario depends on."""
    hosts: Sequence[HostDocument] = (document.baseline, *document.options)
    needed = {"dram", "electricity", "dram_w_per_gb", "pue"}
    for host in hosts:
        needed |= {"cxl_media", "cxl_w_per_gb", "cxl_controller", "controller_w"} if host.cxl else set()
        needed |= {"ddr4_reused", "ddr4_w_per_gb", "cxl_controller", "controller_w"} if host.ddr4_reused else set()
        if host.swap:
            amplified = "waf_zns" if host.swap.kind == "zns" else "waf_ssd"
            needed |= {"ssd", "drive_writes_per_day", "drive_years", "waf_rated", amplified}
    return frozenset(needed)


def build_scenario(document: ScenarioDocument, inputs: Inputs, losses: Sequence[Loss]) -> Scenario:
    """The values that are costed; `losses` are those of the baseline and of each option.

    Raises:
        Unprocessable: a host contradicts itself; names the path.
    """
    skus = {sku.name: Sku(sku.name, sku.price, sku.watts) for sku in document.skus}
    hosts: list[tuple[str, HostDocument]] = [("baseline", document.baseline)]
    hosts += [(f"options[{at}]", option) for at, option in enumerate(document.options)]
    designs = [
        _with_modules(_design(path, host, skus[host.sku], loss), module_of(path, host, document), inputs)
        for (path, host), loss in zip(hosts, losses, strict=True)
    ]
    finance, fleet = document.finance, document.fleet
    try:
        return Scenario(
            name=document.name,
            currency=document.currency,
            baseline=designs[0],
            options=tuple(designs[1:]),
            inputs=inputs.ranges,
            finance=Finance(finance.life_years, finance.discount_rate, finance.method),
            fleet=Fleet(fleet.hosts, fleet.growth_per_year, fleet.years),
            linked=inputs.linked,
        )
    except ScenarioError as error:
        raise Unprocessable(str(error)) from error


def _price(document: ScenarioDocument, item: PriceItem, confirmed: Mapping[str, Price]) -> TcoInput | None:
    stated: PriceDocument | None = dram_price(document) if item == "dram" else getattr(document.prices, item)
    unit = f"{document.currency} {PRICE_UNITS[item]}"
    if stated is not None:
        if stated.currency not in (None, document.currency):
            raise Unprocessable(
                f"prices.{item}: the price is in {stated.currency}, the scenario in {document.currency}",
                next_step="Convert it at a rate that you stand for, and say so in its source.",
            )
        low, high = _ends(stated)
        return TcoInput(
            item, PRICE_LABELS[item], stated.value, low, high, unit, "scenario", stated.source, stated.date, "owner"
        )
    booked = confirmed.get(item)
    if booked is not None:
        source = f"{booked.source} (price book, confirmed by {booked.confirmed_by})"
        return TcoInput(
            item,
            PRICE_LABELS[item],
            booked.value,
            booked.low,
            booked.high,
            unit,
            "price_book",
            source,
            booked.date,
            booked.grounding,
        )
    preset = default_price(item) if document.currency == PRESET_CURRENCY else None
    if preset is None:
        return None
    price = preset.price
    return TcoInput(
        item,
        PRICE_LABELS[item],
        price.value,
        price.low,
        price.high,
        unit,
        "default",
        preset.source,
        preset.date,
        preset.grounding,
    )


def _following(dram: TcoInput) -> TcoInput:
    return TcoInput(
        "cxl_media",
        PRICE_LABELS["cxl_media"],
        dram.value,
        dram.low,
        dram.high,
        dram.unit,
        "follows_dram",
        FOLLOWS_DRAM,
        dram.date,
        "A",
    )


def _missing(document: ScenarioDocument, item: PriceItem) -> MissingInput:
    label = PRICE_LABELS[item]
    presets = preset_views(item) if document.currency == PRESET_CURRENCY else ()
    if item == "dram":
        why = "the price of DRAM moved fivefold within a year: there is no default for it"
        step = "State your contract price under prices.dram, or confirm one of the presets in the price book."
    else:
        why = f"published prices are in {PRESET_CURRENCY}, and currencies are never converted"
        step = f"State it in {document.currency} under prices.{item}, or confirm one in the price book."
    name = "dram price" if item == "dram" else f"{label} price"
    return MissingInput(name, f"prices.{item}", why, step, presets)


def _defaults(document: ScenarioDocument) -> list[tuple[SharedName, TcoInput]]:
    found: list[tuple[SharedName, TcoInput]] = []
    for default in DEFAULTS:
        part = document.endurance if default.name in _ENDURANCE else document.power
        stated: RangeDocument | None = getattr(part, default.name)
        modelled = _modelled(document, default) if stated is None else None
        if modelled is not None:
            found.append((default.name, modelled))
            continue
        item = default.item if stated is None else Range(stated.value, *_ends(stated))
        view = TcoInput(
            default.name,
            default.label,
            item.value,
            item.low,
            item.high,
            default.unit,
            "default" if stated is None else "scenario",
            default.source if stated is None else "stated in the scenario",
            default.date if stated is None else None,
            default.grounding if stated is None else "owner",
        )
        found.append((default.name, view))
    return found


def _modelled(document: ScenarioDocument, default: Default) -> TcoInput | None:
    """Write amplification of a kind of drive, simulated at the use of the fullest one; None of what is not modelled."""
    if default.name not in MODELLED:
        return None
    kind, drive = MODELLED[default.name]
    hosts: Sequence[HostDocument] = (document.baseline, *document.options)
    uses = [min(host.swap.used_gb / host.swap.gb, 1.0) for host in hosts if host.swap and host.swap.kind == kind]
    if not uses:
        return None
    at = amplification_at(drive, max(uses))
    source = f"simulated with {at.utilisation:.0%} of the drive in use; ends over read-mostly to write-heavy loads"
    return TcoInput(
        default.name, default.label, at.value, at.low, at.high, default.unit, "simulated", source, ASSUMED_ON, "A"
    )


def _ends(stated: RangeDocument) -> tuple[float, float]:
    return (
        stated.value if stated.low is None else stated.low,
        stated.value if stated.high is None else stated.high,
    )


def _design(path: str, host: HostDocument, sku: Sku, loss: Loss) -> Design:
    swap = None
    if host.swap:
        rate = host.swap.swap_out_mb_per_s
        swap = copied(Swap, host.swap, zoned=host.swap.kind == "zns", swap_out_mb_per_s=Range(rate.value, *_ends(rate)))
    zswap = None
    if host.zswap:
        zswap = Zswap(host.zswap.pool_gb, host.zswap.compression_ratio, host.zswap.cpu_ratio)
    try:
        return Design(
            name=host.name,
            sku=sku,
            dram_gb=host.dram_gb,
            cxl=_expander(host.cxl),
            ddr4_reused=_expander(host.ddr4_reused),
            swap=swap,
            zswap=zswap,
            loss=loss,
            other_capex=host.other_capex,
            credit=host.capacity if isinstance(host, OptionDocument) else "same",
        )
    except ScenarioError as error:
        raise Unprocessable(f"{path}.{error}") from error


def _with_modules(design: Design, module: ModuleDocument | None, inputs: Inputs) -> Design:
    """The design with the price of its modules: it moves with that of DRAM, so that one is drawn for both."""
    if module is None:
        return design
    return replace(design, dram_price_ratio=module.value / inputs.ranges["dram"].value, dram_module_gb=module.gb)


def _expander(document: ExpanderDocument | None) -> Expander | None:
    return None if document is None else Expander(document.gb, document.devices)


def module_of(path: str, host: HostDocument, document: ScenarioDocument) -> ModuleDocument | None:
    """The modules of a host: those that it names, else the smallest that its slots hold; None where none are priced.

    Raises:
        Unprocessable: no module that is priced has this size, or the slots hold less than the host's DRAM.
    """
    modules = sorted(document.prices.modules, key=lambda module: module.gb)
    for module in modules:
        if module.currency not in (None, document.currency):
            raise Unprocessable(
                f"prices.modules: the price is in {module.currency}, the scenario in {document.currency}",
                next_step="Convert it at a rate that you stand for, and say so in its source.",
            )
    wanted = host.dram_module_gb
    if wanted is not None:
        named = next((module for module in modules if module.gb == wanted), None)
        if named is None:
            sizes = ", ".join(f"{module.gb:g}" for module in modules) or "none"
            raise Unprocessable(
                f"{path}.dram_module_gb: no module of {wanted:g} GB is priced; prices.modules has {sizes}",
                next_step="Add its price per GB under prices.modules.",
            )
        return named
    slots = next(sku.dimm_slots for sku in document.skus if sku.name == host.sku)
    if not modules or slots is None:
        return None
    fitting = next((module for module in modules if module.gb * slots >= host.dram_gb), None)
    if fitting is None:
        raise Unprocessable(
            f"{path}.dram_gb: {host.dram_gb:g} GiB do not fit into {slots} slots of {modules[-1].gb:g} GB modules",
            next_step="Add the price of larger modules under prices.modules, or another sku.",
        )
    return fitting


def dram_price(document: ScenarioDocument) -> PriceDocument | None:
    """The stated price of DRAM; where modules alone are priced, that of the baseline's modules."""
    return document.prices.dram or module_of("baseline", document.baseline, document)
