"""A scenario of cost as people and programs write it: in YAML files, in requests, in the store. One model for all.

Unknown names are refused, numbers are numbers (no texts that look like them), and whatever is left out is shown with
the value that stood in for it. `usecases/tco_sources.py` turns it into the values that are costed.
"""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tierscope.domain.tco.published import DISCOUNT_RATE, LIFE_YEARS
from tierscope.domain.tco.scenario import HIGHEST_LOSS

MAX_OPTIONS = 8
MAX_SKUS = 16
MAX_MODULES = 16
MAX_GB = 1e7
MAX_MONEY = 1e12

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Identifier = Annotated[str, Field(min_length=1, max_length=300)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217, such as USD.")]
Watts = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e6)]
Money = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=MAX_MONEY)]
Gigabytes = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=MAX_GB)]
LossRatio = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=HIGHEST_LOSS)]
Ratio = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]


class Document(BaseModel):
    """Base of all parts: unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _check_order(value: float, low: float | None, high: float | None) -> None:
    """Ends that are left out are the value itself."""
    low, high = (value if end is None else end for end in (low, high))
    if not low <= value <= high:
        raise ValueError(f"low <= value <= high does not hold: {low:g}, {value:g}, {high:g}")


class RangeDocument(Document):
    """A value and how far it may be off: low and high ends of a triangular distribution. Left out = certain."""

    value: Money
    low: Money | None = None
    high: Money | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_order(self.value, self.low, self.high)
        return self


class PriceDocument(RangeDocument):
    """A price with where it is from and the day it held on. Its currency, where given, must be the scenario's."""

    source: Name
    date: date
    currency: Currency | None = None


class ModuleDocument(PriceDocument):
    """DRAM modules of one size: their price per GB. Large ones cost more per GB than small ones."""

    gb: Annotated[float, Field(strict=True, gt=0, le=MAX_GB, description="Size of a module, GiB; a label says GB.")]


class PricesDocument(Document):
    """Prices. Left out: the confirmed one of the price book, else the published default; none for DRAM.

    Memory behind CXL without a price of its own costs what DRAM costs.
    """

    dram: PriceDocument | None = Field(default=None, description="Per GiB, which a module calls GB.")
    cxl_media: PriceDocument | None = Field(default=None, description="Memory behind CXL, per GiB.")
    ddr4_reused: PriceDocument | None = Field(default=None, description="What reused DDR4 would fetch, per GiB.")
    cxl_controller: PriceDocument | None = Field(default=None, description="Controller with board, per device.")
    ssd: PriceDocument | None = Field(default=None, description="Per GB (10^9 bytes).")
    electricity: PriceDocument | None = Field(default=None, description="Per kWh.")
    modules: list[ModuleDocument] = Field(
        default=[],
        max_length=MAX_MODULES,
        description="DRAM by size of module. A host takes the smallest that its sku's slots hold, or `dram_module_gb`.",
    )

    @model_validator(mode="after")
    def _one_price_each(self) -> Self:
        sizes = [module.gb for module in self.modules]
        if len(set(sizes)) != len(sizes):
            raise ValueError("modules: two prices for modules of one size")
        return self


class PowerDocument(Document):
    """Power. Left out: published defaults."""

    dram_w_per_gb: RangeDocument | None = None
    cxl_w_per_gb: RangeDocument | None = None
    ddr4_w_per_gb: RangeDocument | None = None
    controller_w: RangeDocument | None = None
    pue: RangeDocument | None = Field(default=None, description="Power of the building over that of its machines.")


class EnduranceDocument(Document):
    """How swap drives wear. Left out: published defaults."""

    drive_writes_per_day: RangeDocument | None = Field(default=None, description="Rated drive sizes a day (DWPD).")
    drive_years: RangeDocument | None = Field(default=None, description="Years that the rating holds for.")
    waf_ssd: RangeDocument | None = Field(default=None, description="Write amplification of a block SSD.")
    waf_zns: RangeDocument | None = Field(default=None, description="Write amplification of a zoned SSD.")
    waf_rated: RangeDocument | None = Field(default=None, description="Write amplification that the rating assumes.")


class FinanceDocument(Document):
    """How capital is spread over the years: in equal parts, or with the price of money (capital recovery factor)."""

    life_years: Annotated[float, Field(strict=True, ge=0.5, le=30)] = LIFE_YEARS
    discount_rate: Annotated[float, Field(strict=True, ge=0, le=1)] = DISCOUNT_RATE
    method: Literal["straight_line", "crf"] = "straight_line"


class FleetDocument(Document):
    """Hosts of the baseline today, growth of demand a year (0.2 = 20 %), and the years to look at."""

    hosts: Annotated[int, Field(strict=True, ge=1, le=10_000_000)] = 1
    growth_per_year: Annotated[float, Field(strict=True, ge=-0.5, le=5)] = 0.0
    years: Annotated[int, Field(strict=True, ge=1, le=20)] = 5


class SkuDocument(Document):
    """A machine without its memory: chassis, processors, network."""

    name: Name
    price: Money
    watts: Watts
    dimm_slots: Annotated[int, Field(strict=True, ge=1, le=256)] | None = Field(
        default=None, description="Slots for DRAM: with prices of modules they say which size a host needs."
    )


class ExpanderDocument(Document):
    """Memory behind CXL controllers."""

    gb: Gigabytes
    devices: Annotated[int, Field(strict=True, ge=1, le=64)] = 1


class SwapDocument(Document):
    """A drive to swap to. `paid`: `capex` where it is bought for this, `wear` where it is there anyway; never both."""

    kind: Literal["ssd", "zns"] = "ssd"
    gb: Annotated[float, Field(strict=True, gt=0, le=MAX_GB)]
    used_gb: Gigabytes = Field(description="Memory that lives on the drive.")
    swap_out_mb_per_s: RangeDocument = Field(description="Mean over the year, MB (10^6 bytes) per second.")
    paid: Literal["capex", "wear"]
    watts: Watts = 0.0


class ZswapDocument(Document):
    """A pool of compressed memory inside DRAM, and the share of CPU time that compressing takes."""

    pool_gb: Gigabytes
    compression_ratio: Annotated[float, Field(strict=True, ge=1, le=20)]
    cpu_ratio: Annotated[float, Field(strict=True, ge=0, lt=1)]


_OTHER_MEMORY = Field(
    default=None,
    max_length=60,
    description="Slow memory to judge, a kind of `GET /v1/slow-memory`; null: that of hosts.",
)


class NumberLoss(Document):
    """A share of throughput that somebody states, with its ends."""

    kind: Literal["number"] = "number"
    value: LossRatio
    low: LossRatio | None = None
    high: LossRatio | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_order(self.value, self.low, self.high)
        return self


class ServiceLoss(Document):
    """What ratio advice believes of a service at a DRAM share; without one at the share that this host has."""

    kind: Literal["service"]
    service: Identifier = Field(description="Service id, or namespace/name.")
    dram_ratio: Ratio | None = None
    device: str | None = _OTHER_MEMORY


class SweepLoss(Document):
    """What a finished run of a sweep lost. Simulated."""

    kind: Literal["sweep"]
    sweep_id: Identifier
    run_id: Identifier


class WorkloadLoss(Document):
    """What a synthetic workload loses under a placement policy at the DRAM share of this host. Simulated."""

    kind: Literal["workload"]
    workload: Identifier = Field(description="Name of a synthetic workload, such as ycsb-a.")
    policy: Identifier = "tpp"
    device: str | None = _OTHER_MEMORY


LossDocument = Annotated[NumberLoss | ServiceLoss | SweepLoss | WorkloadLoss, Field(discriminator="kind")]


class HostDocument(Document):
    """One host: a machine with its memory, and the share of throughput that slow memory costs."""

    name: Name
    sku: Name = Field(description="Name of one of `skus`.")
    dram_gb: Gigabytes
    dram_module_gb: Gigabytes | None = Field(default=None, description="One of `prices.modules`; null: by its slots.")
    cxl: ExpanderDocument | None = None
    ddr4_reused: ExpanderDocument | None = None
    swap: SwapDocument | None = None
    zswap: ZswapDocument | None = None
    loss: LossDocument = NumberLoss(value=0.0)
    other_capex: Money = Field(default=0.0, description="Anything else that is bought for a host of this kind.")


class OptionDocument(HostDocument):
    """A host as it could be. `capacity` says what more memory than the baseline's is worth: nothing, or more work."""

    loss: LossDocument
    capacity: Literal["same", "more"] = "same"


class NumberNeed(Document):
    """Memory that a host's work needs, as somebody states it."""

    kind: Literal["number"] = "number"
    required_gb: Gigabytes
    hot_gb: Gigabytes | None = None


class ServiceNeed(Document):
    """Memory that a service was measured to need on its median host."""

    kind: Literal["service"]
    service: Identifier = Field(description="Service id, or namespace/name.")


class ScenarioDocument(Document):
    """A what-if of cost: hosts of today, hosts as they could be, prices and how sure they are."""

    format: Literal["tierscope.scenario/1"] = "tierscope.scenario/1"
    name: Name
    description: str = Field(default="", max_length=4000)
    currency: Currency = "USD"
    skus: list[SkuDocument] = Field(min_length=1, max_length=MAX_SKUS)
    baseline: HostDocument
    options: list[OptionDocument] = Field(min_length=1, max_length=MAX_OPTIONS)
    prices: PricesDocument = PricesDocument()
    power: PowerDocument = PowerDocument()
    endurance: EnduranceDocument = EnduranceDocument()
    finance: FinanceDocument = FinanceDocument()
    fleet: FleetDocument = FleetDocument()
    memory: Annotated[NumberNeed | ServiceNeed, Field(discriminator="kind")] | None = Field(
        default=None, description="What the work needs: designs that hold less are pointed out."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [sku.name for sku in self.skus]
        if len(set(names)) != len(names):
            raise ValueError("two entries of skus have one name")
        hosts = [("baseline", self.baseline), *((f"options[{at}]", host) for at, host in enumerate(self.options))]
        for path, host in hosts:
            if host.sku not in names:
                raise ValueError(f"{path}.sku: there is no sku {host.sku!r}; skus are {', '.join(names)}")
        titles = [host.name for _, host in hosts]
        if len(set(titles)) != len(titles):
            raise ValueError("two hosts have one name: the baseline and the options need different ones")
        return self
