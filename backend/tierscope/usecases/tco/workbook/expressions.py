"""The cost of a host as one spreadsheet expression over named cells: what Tornado and Draws put other values into.

Written on its own from docs/method/tco.md, not from the code that answers requests: where both agree, each checks the
other.
"""

from collections.abc import Callable

from tierscope.domain.tco.scenario import Design, Scenario

Reference = Callable[[str], str]
"""Where the value of an input stands: a shared input by its name, `loss` and `swap_out_mb_per_s` of the host."""

SECONDS_PER_YEAR = 31_536_000


def named(place: int) -> Reference:
    """References to the cells of the inputs as given; `place` is the host's place among the designs."""

    def refer(name: str) -> str:
        return f"host{place}_{name}" if name in ("loss", "swap_out_mb_per_s") else f"in_{name}"

    return refer


def annual_per_work(design: Design, place: int, refer: Reference) -> str:
    """Cost per year and unit of work of one host."""
    cell = f"host{place}_"
    capital = [f"{cell}sku_price", f"{cell}dram_gb*{cell}dram_price_ratio*{refer('dram')}", f"{cell}other_capex"]
    watts = [f"{cell}sku_watts", f"{cell}dram_gb*{refer('dram_w_per_gb')}"]
    if design.cxl:
        capital += [f"{cell}cxl_gb*{refer('cxl_media')}", f"{cell}cxl_devices*{refer('cxl_controller')}"]
        watts += [f"{cell}cxl_gb*{refer('cxl_w_per_gb')}", f"{cell}cxl_devices*{refer('controller_w')}"]
    if design.ddr4_reused:
        capital += [f"{cell}ddr4_gb*{refer('ddr4_reused')}", f"{cell}ddr4_devices*{refer('cxl_controller')}"]
        watts += [f"{cell}ddr4_gb*{refer('ddr4_w_per_gb')}", f"{cell}ddr4_devices*{refer('controller_w')}"]
    yearly = f"({'+'.join(capital)})*capital_factor"
    if design.swap:
        yearly += f"+{_swap(design, place, refer)}"
        watts.append(f"{cell}swap_watts")
    energy = f"({'+'.join(watts)})*8.76*{refer('pue')}*{refer('electricity')}"
    return f"({yearly}+{energy})/{work(place, refer)}"


def work(place: int, refer: Reference) -> str:
    """Throughput of one host over that of one that loses nothing."""
    return f"((1-{refer('loss')})*(1-host{place}_zswap_cpu_ratio)*host{place}_capacity_factor)"


def capital_factor(years: str) -> str:
    """Share of a price that one of so many years bears."""
    straight = f"1/{years}"
    annuity = f"discount_rate/(1-(1+discount_rate)^(-{years}))"
    return f'IF(OR(method="straight_line",discount_rate=0),{straight},{annuity})'


def drive_wear(design: Design, place: int, refer: Reference) -> str:
    """Drives that are worn out in a year."""
    assert design.swap is not None
    waf = refer("waf_zns" if design.swap.zoned else "waf_ssd")
    written = f"{refer('swap_out_mb_per_s')}*{SECONDS_PER_YEAR}/1000000*{waf}/{refer('waf_rated')}"
    rated = f"({refer('drive_writes_per_day')}*365*{refer('drive_years')}*host{place}_swap_gb/1000)"
    return f"({written}/{rated})"


def _swap(design: Design, place: int, refer: Reference) -> str:
    """The drive per year: worn, or bought for as long as the host and the drive both last."""
    assert design.swap is not None
    price = f"host{place}_swap_gb*{refer('ssd')}"
    wear = drive_wear(design, place, refer)
    if design.swap.paid == "wear":
        return f"{price}*{wear}"
    return f"{price}*{capital_factor(f'(1/MAX(1/life_years,{wear}))')}"


def saving(scenario: Scenario, place: int, refer_base: Reference, refer_option: Reference) -> str:
    """What a design saves against the baseline, per year and unit of work."""
    base = annual_per_work(scenario.designs[0], 0, refer_base)
    return f"{base}-({annual_per_work(scenario.designs[place], place, refer_option)})"
