"""Values to start from and to compare with: price presets, default ranges, published savings; with source and date.

Prices move: every one has the date that it held on. There is no default for DRAM, because its price moved fivefold
within a year; a preset counts once somebody confirms it.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from tierscope.domain.simulate.endurance import RATED_AMPLIFICATION, RATED_WRITES_PER_DAY, RATED_YEARS
from tierscope.domain.tco.scenario import Range, SharedName

PriceItem = Literal["dram", "cxl_media", "ddr4_reused", "cxl_controller", "ssd", "electricity"]
PRICE_ITEMS: tuple[PriceItem, ...] = ("dram", "cxl_media", "ddr4_reused", "cxl_controller", "ssd", "electricity")
PRICE_UNITS: dict[PriceItem, str] = {
    "dram": "per GiB",
    "cxl_media": "per GiB",
    "ddr4_reused": "per GiB",
    "cxl_controller": "per device",
    "ssd": "per GB",
    "electricity": "per kWh",
}
PRESET_CURRENCY = "USD"
ASSUMED_ON = date(2026, 11, 1)
"""The day that assumptions of this release were last looked at."""
NOTABLE_SAVING = 0.15
"""From which on a saving is set beside published ones [A]."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A price from a source. `grounding`: L checked literature, A assumption."""

    id: str
    item: PriceItem
    label: str
    price: Range
    source: str
    date: date
    grounding: str


@dataclass(frozen=True, slots=True)
class Default:
    """A range that holds where a scenario says nothing else."""

    name: SharedName
    label: str
    unit: str
    item: Range
    source: str
    date: date
    grounding: str


@dataclass(frozen=True, slots=True)
class PublishedSaving:
    """A saving that somebody published, and in which year: prices were those of then."""

    source: str
    what: str
    low_ratio: float
    high_ratio: float
    year: int

    @property
    def span(self) -> str:
        """The saving in words."""
        low, high = (f"{100.0 * ratio:g}" for ratio in (self.low_ratio, self.high_ratio))
        return f"{low} %" if low == high else f"{low} to {high} %"


PRESETS: tuple[Preset, ...] = (
    Preset(
        "preset-dram-2025-mid",
        "dram",
        "DDR5 RDIMM, mid-2025",
        Range(7.0, 6.0, 9.0),
        "derived from 2026 spot prices and their reported rise of 300-400 % since then; range assumed",
        date(2025, 7, 1),
        "L",
    ),
    Preset(
        "preset-dram-2025-late",
        "dram",
        "DDR5 RDIMM, late 2025",
        Range(11.0, 9.0, 14.0),
        "market report: over 700 dollars per 64 GB; range assumed",
        date(2025, 12, 1),
        "L",
    ),
    Preset(
        "preset-dram-2026-spot",
        "dram",
        "DDR5 RDIMM, 2026 spot",
        Range(32.0, 27.0, 37.0),
        "market report and Marvell blog: 27 to 37 dollars per GB on the spot market",
        date(2026, 3, 31),
        "L",
    ),
    Preset(
        "preset-ddr4-reused",
        "ddr4_reused",
        "DDR4 of retired servers",
        Range(2.0, 0.0, 8.0),
        "opportunity cost: what the modules would fetch; assumed",
        ASSUMED_ON,
        "A",
    ),
    Preset(
        "preset-cxl-controller",
        "cxl_controller",
        "CXL controller with board; up to 12 DDR4 DIMMs on one",
        Range(500.0, 300.0, 1000.0),
        "assumed; the number of DIMMs is from a vendor visit report",
        ASSUMED_ON,
        "A",
    ),
    Preset(
        "preset-ssd",
        "ssd",
        "Enterprise TLC SSD, 30 TB",
        Range(0.33, 0.10, 0.36),
        "buyer guide: 3,062 dollars in Q2 2025, 9,000-11,000 in Q1 2026",
        date(2026, 3, 31),
        "L",
    ),
    Preset(
        "preset-electricity",
        "electricity",
        "Commercial electricity, Virginia and Texas",
        Range(0.09, 0.06, 0.19),
        "EIA, 2023: 8.95 and 8.82 cents; range over other places assumed",
        date(2023, 12, 31),
        "L",
    ),
)
"""In dollars (`PRESET_CURRENCY`)."""

DEFAULTS: tuple[Default, ...] = (
    Default("dram_w_per_gb", "DRAM power", "W per GiB", Range(0.12, 0.08, 0.20), "assumed", ASSUMED_ON, "A"),
    Default("cxl_w_per_gb", "CXL media power", "W per GiB", Range(0.12, 0.08, 0.20), "assumed", ASSUMED_ON, "A"),
    Default("ddr4_w_per_gb", "Reused DDR4 power", "W per GiB", Range(0.12, 0.08, 0.20), "assumed", ASSUMED_ON, "A"),
    Default(
        "controller_w", "CXL controller power", "W per device", Range(15.0, 10.0, 30.0), "assumed", ASSUMED_ON, "A"
    ),
    Default(
        "pue",
        "PUE (power of the building over that of the machines)",
        "ratio",
        Range(1.54, 1.1, 1.6),
        "Uptime Institute survey, weighted average 2025",
        date(2025, 7, 1),
        "L",
    ),
    Default(
        "drive_writes_per_day",
        "Rated writes of a swap drive",
        "drive sizes a day",
        Range.exactly(RATED_WRITES_PER_DAY),
        "read-intensive class; assumed",
        ASSUMED_ON,
        "A",
    ),
    Default(
        "drive_years", "Rated life of a swap drive", "years", Range.exactly(RATED_YEARS), "assumed", ASSUMED_ON, "A"
    ),
    Default("waf_ssd", "Write amplification, block SSD", "ratio", Range.exactly(2.0), "assumed", ASSUMED_ON, "A"),
    Default("waf_zns", "Write amplification, zoned SSD", "ratio", Range.exactly(1.05), "assumed", ASSUMED_ON, "A"),
    Default(
        "waf_rated",
        "Write amplification that the rating holds for",
        "ratio",
        Range.exactly(RATED_AMPLIFICATION),
        "the conservative reading of a data sheet; assumed",
        ASSUMED_ON,
        "A",
    ),
)
LIFE_YEARS = 5.0
DISCOUNT_RATE = 0.08

PUBLISHED_SAVINGS: tuple[PublishedSaving, ...] = (
    PublishedSaving("Software-defined far memory (Google)", "total cost of DRAM", 0.04, 0.05, 2019),
    PublishedSaving("Pond (Microsoft Azure)", "cost of DRAM", 0.07, 0.07, 2023),
    PublishedSaving("Octopus, sparse CXL pods", "net cost of a server", 0.03, 0.054, 2025),
    PublishedSaving("NVMe memory tiering (VMware)", "cost of a server with its memory", 0.4, 0.4, 2025),
    PublishedSaving("Reused DDR4 behind CXL (Meta)", "servers of a service that memory limits", 0.25, 0.25, 2026),
)

PRICE_LABELS: dict[PriceItem, str] = {
    "dram": "DRAM",
    "cxl_media": "Memory behind CXL",
    "ddr4_reused": "Reused DDR4",
    "cxl_controller": "CXL controller with board",
    "ssd": "SSD",
    "electricity": "Electricity",
}


def default_price(item: PriceItem) -> Preset | None:
    """The preset that holds where nobody says a price: none for DRAM, and for CXL media, which follows DRAM."""
    return next((preset for preset in PRESETS if preset.item == item and item not in ("dram", "cxl_media")), None)
