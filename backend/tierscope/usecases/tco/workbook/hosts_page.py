"""The page of hosts: what each is made of, and the cost of each part down to the cost per unit of work."""

from tierscope.domain.tco.costs import PartName
from tierscope.domain.tco.results import Evaluation, PerHost
from tierscope.domain.tco.scenario import Design, Scenario
from tierscope.usecases.tco.workbook.cells import Book, Look, Page
from tierscope.usecases.tco.workbook.expressions import capital_factor, drive_wear, named

_PART_LABELS: dict[PartName, str] = {
    "base": "Machine",
    "dram": "DRAM",
    "cxl_media": "Memory behind CXL",
    "ddr4_reused": "Reused DDR4",
    "cxl_controllers": "CXL controllers",
    "swap_drive": "Swap drive, bought",
    "other": "Other",
    "energy": "Energy",
    "wear": "Swap drive, wear",
}
_MEMORY = "{h}dram_gb+{h}cxl_gb+{h}ddr4_gb+{h}swap_used_gb+{h}zswap_pool_gb*({h}zswap_compression_ratio-1)"


def write_hosts(book: Book, scenario: Scenario, evaluation: Evaluation) -> None:
    """One column per host; every cell has a name such as `host1_dram_annual` (host0 is the baseline)."""
    page = book.page("Hosts", (44, *(20 for _ in scenario.designs)))
    page.heads(0, ("Per host", *(design.name for design in scenario.designs)))
    page.freeze(1, 1)
    page.text(1, 0, "Share of a price per year (life of the host)")
    page.formula(1, 1, capital_factor("life_years"), "number", "capital_factor")
    results = (evaluation.baseline.per_host, *(option.per_host for option in evaluation.options))
    parts = list(dict.fromkeys(part.name for result in results for part in result.parts))
    labels: dict[str, int] = {}
    for place, (design, result) in enumerate(zip(scenario.designs, results, strict=True)):
        column = _Column(page, place, labels)
        _write_design(column, design)
        _write_parts(column, design, result, parts)
        _write_totals(column, [part.name for part in result.parts])


class _Column:
    """Writes one host's cells; a label has one row for all hosts."""

    def __init__(self, page: Page, place: int, labels: dict[str, int]) -> None:
        self.page = page
        self.place = place
        self._labels = labels

    def cell(self, label: str, key: str, value: float | str | None, look: Look = "money") -> None:
        """A number as input, a text as formula, None as nothing."""
        row = self._labels.setdefault(label, len(self._labels) + 2)
        self.page.text(row, 0, label)
        name = f"host{self.place}_{key}"
        if isinstance(value, float):
            self.page.number(row, 1 + self.place, value, "input_ratio" if look == "ratio" else "input", name)
        elif value is not None:
            self.page.formula(row, 1 + self.place, value.format(h=f"host{self.place}_"), look, name)


def _write_design(column: _Column, design: Design) -> None:
    cxl, ddr4, swap, zswap = design.cxl, design.ddr4_reused, design.swap, design.zswap
    column.cell("Machine without memory, price", "sku_price", float(design.sku.price))
    column.cell("Machine without memory, W", "sku_watts", float(design.sku.watts))
    column.cell("DRAM, GiB", "dram_gb", float(design.dram_gb))
    column.cell("Price of its DRAM over the input's", "dram_price_ratio", float(design.dram_price_ratio))
    column.cell("Memory behind CXL, GiB", "cxl_gb", float(cxl.gb) if cxl else 0.0)
    column.cell("CXL devices", "cxl_devices", float(cxl.devices) if cxl else 0.0)
    column.cell("Reused DDR4, GiB", "ddr4_gb", float(ddr4.gb) if ddr4 else 0.0)
    column.cell("CXL devices with DDR4", "ddr4_devices", float(ddr4.devices) if ddr4 else 0.0)
    column.cell("Swap drive, GB", "swap_gb", float(swap.gb) if swap else 0.0)
    column.cell("Memory on the swap drive, GiB", "swap_used_gb", float(swap.used_gb) if swap else 0.0)
    column.cell("Swapped out, MB/s", "swap_out_mb_per_s", swap.swap_out_mb_per_s.value if swap else 0.0)
    column.cell("Swap drive, W", "swap_watts", float(swap.watts) if swap else 0.0)
    column.cell("Compressed pool, GiB of DRAM", "zswap_pool_gb", float(zswap.pool_gb) if zswap else 0.0)
    column.cell("Compression", "zswap_compression_ratio", float(zswap.compression_ratio) if zswap else 1.0)
    column.cell("CPU for compression", "zswap_cpu_ratio", float(zswap.cpu_ratio) if zswap else 0.0, "ratio")
    column.cell("Other purchases", "other_capex", float(design.other_capex))
    column.cell("Lost throughput", "loss", float(design.loss.value), "ratio")
    column.cell("Lost throughput, low end", "loss_low", float(design.loss.low), "ratio")
    column.cell("Lost throughput, high end", "loss_high", float(design.loss.high), "ratio")
    if swap:
        column.cell("Swapped out, low end, MB/s", "swap_out_mb_per_s_low", float(swap.swap_out_mb_per_s.low))
        column.cell("Swapped out, high end, MB/s", "swap_out_mb_per_s_high", float(swap.swap_out_mb_per_s.high))
    column.cell("Its DRAM, per GiB", "dram_price_per_gb", "in_dram*{h}dram_price_ratio", "number")
    column.cell("Memory that it holds, GiB", "memory_gb", _MEMORY, "number")
    credited = design.credit == "more" and column.place > 0
    column.cell("Work by memory", "capacity_factor", "{h}memory_gb/host0_memory_gb" if credited else 1.0, "number")


def _write_parts(column: _Column, design: Design, result: PerHost, parts: list[PartName]) -> None:
    there = {part.name for part in result.parts}
    for name in parts:
        capex, annual, watts = _formulas(design, name, column.place) if name in there else (None, None, None)
        label = _PART_LABELS[name]
        column.cell(f"{label}, price", f"{name}_capex", capex)
        column.cell(f"{label}, per year", f"{name}_annual", annual)
        column.cell(f"{label}, W", f"{name}_watts", watts, "number")
    if design.swap:
        waf = "in_waf_zns" if design.swap.zoned else "in_waf_ssd"
        column.cell(
            "Written by the host, TB per year", "written_tb_per_year", "{h}swap_out_mb_per_s*31536000/1000000", "number"
        )
        column.cell(
            "Written to flash, drive sizes a day",
            "drive_writes_per_day",
            f"{{h}}written_tb_per_year*{waf}/365/({{h}}swap_gb/1000)",
            "number",
        )
        wear = drive_wear(design, column.place, named(column.place))
        life = f'IF({{h}}swap_out_mb_per_s=0,"nothing is written",1/{wear})'
        column.cell("The drive lasts, years", "drive_life_years", life, "number")


def _formulas(design: Design, name: PartName, place: int) -> tuple[str, str, str]:
    """Price, cost per year and power of a part."""
    gb = {"dram": ("dram", "dram"), "cxl_media": ("cxl", "cxl"), "ddr4_reused": ("ddr4", "ddr4")}
    yearly = f"{{h}}{name}_capex*capital_factor"
    if name in gb:
        cell, power = gb[name]
        modules = "*{h}dram_price_ratio" if name == "dram" else ""
        return f"{{h}}{cell}_gb*in_{name}{modules}", yearly, f"{{h}}{cell}_gb*in_{power}_w_per_gb"
    if name == "base":
        return "{h}sku_price", yearly, "{h}sku_watts"
    if name == "cxl_controllers":
        devices = "({h}cxl_devices+{h}ddr4_devices)"
        return f"{devices}*in_cxl_controller", yearly, f"{devices}*in_controller_w"
    if name == "other":
        return "{h}other_capex", yearly, "0"
    if name == "energy":
        return "0", "{h}kwh_per_year*in_electricity", "0"
    wear = drive_wear(design, place, named(place))
    if name == "wear":
        return "0", f"{{h}}swap_gb*in_ssd*{wear}", "{h}swap_watts"
    factor = capital_factor(f"(1/MAX(1/life_years,{wear}))")
    return "{h}swap_gb*in_ssd", f"{{h}}{name}_capex*{factor}", "{h}swap_watts"


def _write_totals(column: _Column, parts: list[PartName]) -> None:
    def total(what: str) -> str:
        return f"SUM({','.join(f'{{h}}{name}_{what}' for name in parts)})"

    column.cell("Price", "capex", total("capex"))
    column.cell("Power, W", "watts", total("watts"), "number")
    column.cell("Energy with overhead, kWh per year", "kwh_per_year", "{h}watts*8.76*in_pue", "number")
    column.cell("Cost per year", "annual", total("annual"))
    column.cell("Work", "work", "(1-{h}loss)*(1-{h}zswap_cpu_ratio)*{h}capacity_factor", "number")
    column.cell("Cost per year and unit of work", "annual_per_work", "{h}annual/{h}work")
    if column.place > 0:
        given = "host0_annual_per_work-{h}annual_per_work"
        column.cell("Saving per year and unit of work, every input at its value", "saving_as_given", given)
        median = f"distribution{column.place}_p50"
        column.cell("Saving per year and unit of work, median over draws", "saving", median)
        column.cell("Saving, share", "saving_ratio", "{h}saving/host0_annual_per_work", "ratio")
