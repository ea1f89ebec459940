"""What the inputs of a scenario may sensibly be: ends and steps for sliders. A file may go beyond them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputRange:
    """An input by its path in a scenario (`[]` = of each option), with its ends, step and unit."""

    path: str
    label: str
    lowest: float
    highest: float
    step: float
    unit: str


SLIDERS: tuple[InputRange, ...] = (
    InputRange("prices.dram.value", "DRAM", 1.0, 60.0, 0.5, "per GiB"),
    InputRange("prices.cxl_media.value", "Memory behind CXL", 0.0, 60.0, 0.5, "per GiB"),
    InputRange("prices.ddr4_reused.value", "Reused DDR4", 0.0, 20.0, 0.25, "per GiB"),
    InputRange("prices.cxl_controller.value", "CXL controller with board", 0.0, 2000.0, 25.0, "per device"),
    InputRange("prices.ssd.value", "SSD", 0.02, 1.0, 0.01, "per GB"),
    InputRange("prices.electricity.value", "Electricity", 0.02, 0.50, 0.01, "per kWh"),
    InputRange("power.dram_w_per_gb.value", "DRAM power", 0.0, 0.40, 0.01, "W per GiB"),
    InputRange("power.cxl_w_per_gb.value", "CXL media power", 0.0, 0.40, 0.01, "W per GiB"),
    InputRange("power.ddr4_w_per_gb.value", "Reused DDR4 power", 0.0, 0.40, 0.01, "W per GiB"),
    InputRange("power.controller_w.value", "CXL controller power", 0.0, 60.0, 1.0, "W per device"),
    InputRange("power.pue.value", "PUE", 1.0, 2.5, 0.01, "ratio"),
    InputRange("endurance.drive_writes_per_day.value", "Rated writes of a drive", 0.1, 30.0, 0.1, "drive sizes a day"),
    InputRange("endurance.drive_years.value", "Rated life of a drive", 1.0, 10.0, 1.0, "years"),
    InputRange("endurance.waf_ssd.value", "Write amplification, block SSD", 1.0, 8.0, 0.05, "ratio"),
    InputRange("endurance.waf_zns.value", "Write amplification, zoned SSD", 1.0, 3.0, 0.05, "ratio"),
    InputRange("endurance.waf_rated.value", "Write amplification of the rating", 1.0, 8.0, 0.05, "ratio"),
    InputRange("finance.life_years", "Life of a host", 1.0, 10.0, 0.5, "years"),
    InputRange("finance.discount_rate", "Discount rate", 0.0, 0.30, 0.005, "ratio"),
    InputRange("fleet.hosts", "Hosts", 1.0, 20_000.0, 1.0, "hosts"),
    InputRange("fleet.growth_per_year", "Growth of demand", -0.2, 1.0, 0.01, "ratio per year"),
    InputRange("fleet.years", "Years to look at", 1.0, 10.0, 1.0, "years"),
    InputRange("baseline.dram_gb", "DRAM", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].dram_gb", "DRAM", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].cxl.gb", "Memory behind CXL", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].cxl.devices", "CXL devices", 1.0, 16.0, 1.0, "devices"),
    InputRange("options[].ddr4_reused.gb", "Reused DDR4", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].ddr4_reused.devices", "CXL devices with DDR4", 1.0, 16.0, 1.0, "devices"),
    InputRange("options[].swap.gb", "Swap drive", 16.0, 32_000.0, 16.0, "GB"),
    InputRange("options[].swap.used_gb", "Memory on the swap drive", 0.0, 8192.0, 16.0, "GiB"),
    InputRange("options[].swap.swap_out_mb_per_s.value", "Swapped out", 0.0, 500.0, 1.0, "MB per s"),
    InputRange("options[].zswap.pool_gb", "Compressed pool", 0.0, 2048.0, 8.0, "GiB"),
    InputRange("options[].zswap.compression_ratio", "Compression", 1.0, 6.0, 0.1, "ratio"),
    InputRange("options[].zswap.cpu_ratio", "CPU for compression", 0.0, 0.2, 0.001, "ratio"),
    InputRange("options[].loss.value", "Lost throughput", 0.0, 0.5, 0.001, "ratio"),
)
