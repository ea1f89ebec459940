"""Placement policies by name, with their settings as kernels and papers name them, and defaults with their source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from tierscope.domain.simulate.machine import Machine

PolicyName = Literal[
    "all_dram",
    "first_touch",
    "interleave",
    "weighted_interleave",
    "numa_balancing",
    "hot_page_selection",
    "hot_page_selection_auto",
    "autotiering",
    "tpp",
    "tpp_type_aware",
    "tmo",
    "tpp_tmo",
    "swap_ssd",
    "swap_zns",
    "oracle",
]
POLICY_NAMES: tuple[PolicyName, ...] = get_args(PolicyName)

Loop = Literal[
    "all_dram", "first_touch", "interleave", "numa_balancing", "hot_page_selection", "autotiering", "tpp", "oracle"
]
MIB = 1 << 20


class SettingsError(ValueError):
    """A setting that the policy does not have, or a value that it cannot have."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that can be set. Switches are 0 and 1."""

    name: str
    default: float
    lowest: float
    highest: float
    unit: str
    source: str


_HOT_THRESHOLD = Setting("hot_threshold_ms", 1000, 1, 1e6, "ms", "kernel")
_LIMIT = Setting(
    "numa_balancing_promote_rate_limit_MBps", 65_536, 0, 1e9, "MiB/s", "kernel; charged for each candidate"
)
_ALLOCATION_DEMOTES = Setting(
    "allocation_demotes", 0, 0, 1, "switch", "kernel with demotion_enabled: low free memory wakes demotion, too"
)
_NEEDS_FREE = Setting(
    "promotion_needs_free", 0, 0, 1, "switch", "kernel: refused unless the high watermark stays free (short intervals)"
)
_CONTINUOUS_KSWAPD = Setting(
    "continuous_kswapd", 0, 0, 1, "switch", "kernel: demotion within an interval, from its wake-up on (short intervals)"
)
_CACHE_TRIM_MODE = Setting("cache_trim_mode", 0, 0, 1, "switch", "kernel: files that were touched once go first")
_LRU = Setting(
    "lru",
    0,
    0,
    2,
    "exact, classic or mglru",
    "A exact; kernel: /sys/kernel/mm/lru_gen/enabled is 0 for classic lists",
)
_LRU_NAMES = {"exact": 0.0, "classic": 1.0, "mglru": 2.0}
_THRESHOLD_PERIOD = Setting(
    "scan_period_max_ms", 60_000, 1, 1e8, "ms", "kernel; the automatic threshold is looked at once in so long"
)
_MECHANISMS = (_ALLOCATION_DEMOTES, _NEEDS_FREE, _CONTINUOUS_KSWAPD, _CACHE_TRIM_MODE, _LRU)
SWITCHES = tuple(setting.name for setting in _MECHANISMS)
"""Mechanisms of the kernel that are off unless they are set."""
_HOT = (_HOT_THRESHOLD, _LIMIT, *_MECHANISMS)
_WEIGHTS = (
    Setting("dram_weight", 1, 1, 255, "pages", "A even interleave"),
    Setting("slow_weight", 1, 1, 255, "pages", "A even interleave"),
)
_WEIGHTED = (
    Setting("dram_weight", 9, 1, 255, "pages", "S 221 and 22 GB/s"),
    Setting("slow_weight", 1, 1, 255, "pages", "S 221 and 22 GB/s"),
)
_RESERVE = (
    Setting("reserve_ratio", 0.01, 0, 1, "ratio of DRAM", "A"),
    Setting("refill_ratio", 0.001, 0, 1, "ratio of DRAM per interval", "A"),
    Setting("exchange_ratio", 0.001, 0, 1, "ratio of DRAM per interval", "A tuned to V05"),
)


def _tpp(*, type_aware: int) -> tuple[Setting, ...]:
    return (
        Setting("demote_scale_factor", 200, 1, 10_000, "ten-thousandths of DRAM", "S 2 %"),
        Setting("type_aware", type_aware, 0, 1, "switch", "S section 5"),
        Setting("decoupled", 1, 0, 1, "switch", "S section 5; off for ablation"),
        Setting("active_lru_filter", 1, 0, 1, "switch", "S section 5; off for ablation"),
    )


_OFFLOAD = (
    Setting("offload_step_s", 6, 0.1, 3600, "s", "R TMO"),
    Setting("reclaim_ratio", 0.0005, 1e-7, 1, "ratio of resident memory per step", "R TMO"),
    Setting("psi_target", 0.001, 1e-7, 1, "ratio of time stalled", "R TMO"),
)
_SWAP_SIZE = (Setting("swap_ratio", 1.0, 0, 100, "ratio of the service's peak", "A"),)


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """What a name stands for: the loop that runs it, what comes on top, and what can be set."""

    label: str
    loop: Loop
    settings: tuple[Setting, ...] = ()
    offload: bool = False
    swap: Literal["ssd", "zns"] | None = None
    has_slow_tier: bool = True


POLICIES: Mapping[PolicyName, PolicyKind] = {
    "all_dram": PolicyKind("All DRAM", "all_dram", has_slow_tier=False),
    "first_touch": PolicyKind("Default Linux (first touch)", "first_touch"),
    "interleave": PolicyKind("Interleave 1:1", "interleave", _WEIGHTS),
    "weighted_interleave": PolicyKind("Weighted interleave", "interleave", _WEIGHTED),
    "numa_balancing": PolicyKind("NUMA balancing", "numa_balancing"),
    "hot_page_selection": PolicyKind("Hot-page selection", "hot_page_selection", _HOT),
    "hot_page_selection_auto": PolicyKind(
        "Hot-page selection, automatic threshold", "hot_page_selection", (*_HOT, _THRESHOLD_PERIOD)
    ),
    "autotiering": PolicyKind("AutoTiering", "autotiering", _RESERVE),
    "tpp": PolicyKind("TPP", "tpp", _tpp(type_aware=0)),
    "tpp_type_aware": PolicyKind("TPP, type-aware", "tpp", _tpp(type_aware=1)),
    "tmo": PolicyKind("TMO", "first_touch", (*_OFFLOAD, *_SWAP_SIZE), offload=True, swap="ssd"),
    "tpp_tmo": PolicyKind(
        "TPP with TMO", "tpp", (*_tpp(type_aware=0), *_OFFLOAD, *_SWAP_SIZE), offload=True, swap="ssd"
    ),
    "swap_ssd": PolicyKind("Swap on a block SSD", "first_touch", _SWAP_SIZE, swap="ssd", has_slow_tier=False),
    "swap_zns": PolicyKind("Swap on a zoned SSD", "first_touch", _SWAP_SIZE, swap="zns", has_slow_tier=False),
    "oracle": PolicyKind("Oracle (bound of all policies)", "oracle"),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with all its settings."""

    name: PolicyName
    settings: Mapping[str, float]

    @property
    def kind(self) -> PolicyKind:
        """What the name stands for."""
        return POLICIES[self.name]

    def equip(self, machine: Machine, peak_pages: int) -> Machine:
        """The machine as the policy uses it: swap-only policies have no slower tier, others no swap unless set."""
        kind = self.kind
        swap = kind.swap or machine.swap
        ratio = self.settings.get("swap_ratio")
        swap_pages = machine.swap_pages if ratio is None or machine.swap_pages else int(ratio * peak_pages)
        slow_pages = machine.slow_pages if kind.has_slow_tier else 0
        slow_marks = machine.slow_zone_watermarks if slow_pages else (0, 0)
        return replace(
            machine, slow_pages=slow_pages, slow_zone_watermarks=slow_marks, swap=swap, swap_pages=swap_pages
        )

    def loop_settings(self, machine: Machine, *, interval_s: float, fault_s: float) -> dict[str, float]:
        """What the compiled loop needs, in its own units: pages and seconds."""
        of = self.settings.get
        low, high, promo = machine.watermarks
        period_max_s = of(_THRESHOLD_PERIOD.name, _THRESHOLD_PERIOD.default) / 1000
        first_pass, longest_pass = (one / interval_s for one in machine.scan_passes_s(interval_s, period_max_s))
        return {
            "interval_s": interval_s,
            "dram_units": machine.dram_pages,
            "slow_units": machine.slow_pages,
            "swap": float(machine.swap is not None),
            "swap_zoned": float(machine.swap == "zns"),
            "swap_units": machine.swap_pages,
            "watermark_low_units": low,
            "watermark_high_units": high,
            "watermark_promo_units": promo,
            "dram_weight": of("dram_weight", 1),
            "slow_weight": of("slow_weight", 1),
            "hot_threshold_s": of("hot_threshold_ms", 1000) / 1000,
            "limit_units_per_s": of(_LIMIT.name, _LIMIT.default) * MIB / machine.page_bytes * machine.sampled_ratio,
            "automatic_threshold": float(self.name == "hot_page_selection_auto"),
            "free_fast_path_units": machine.fast_path_pages,
            "allocation_demotes": of("allocation_demotes", 0),
            "promotion_needs_free": of("promotion_needs_free", 0),
            "threshold_intervals": max(round(period_max_s / interval_s), 1),
            "scan_pass_intervals": first_pass,
            "scan_longest_pass_intervals": longest_pass,
            "scan_pass_growth": machine.scan_pass_growth,
            "scan_size_pages": machine.scan_size_pages,
            "continuous_kswapd": of("continuous_kswapd", 0),
            "demotion_page_s": machine.demotion_page_s / machine.sampled_ratio,
            "demotion_unit_s": machine.demotion_unit_s / machine.sampled_ratio,
            "look_s": machine.look_s / machine.sampled_ratio,
            "slow_watermark_low_units": machine.slow_zone_watermarks[0],
            "slow_watermark_high_units": machine.slow_zone_watermarks[1],
            "kernel_page_units": round(1 / machine.kernel_page_ratio * machine.sampled_ratio),
            "lru": of(_LRU.name, _LRU.default),
            "cache_trim_mode": of("cache_trim_mode", 0),
            "reserve_units": int(of("reserve_ratio", 0) * machine.dram_pages),
            "refill_units": int(of("refill_ratio", 0) * machine.dram_pages),
            "exchange_units": int(of("exchange_ratio", 0) * machine.dram_pages),
            "type_aware": of("type_aware", 0),
            "decoupled": of("decoupled", 1),
            "active_lru_filter": of("active_lru_filter", 1),
            "demotion_watermark_units": int(of("demote_scale_factor", 200) * machine.dram_pages / 10_000),
            "offload": float(self.kind.offload),
            "offload_step_s": of("offload_step_s", 6),
            "offload_reclaim_ratio": of("reclaim_ratio", 0.0005),
            "offload_pressure_target": of("psi_target", 0.001),
            "swap_fault_s": fault_s / machine.sampled_ratio,  # as long as all pages of the machine would stall
            "round_trip_short_intervals": max(round(60 / interval_s), 1),
            "round_trip_long_intervals": max(round(600 / interval_s), 1),
        }


def make_policy(name: str, settings: Mapping[str, float] | None = None) -> Policy:
    """A policy by its name, dashes taken as underscores, with these settings and the defaults of all others.

    Raises:
        SettingsError: there is no such policy or setting, or the value is out of its range.
    """
    wanted = name.replace("-", "_").lower()
    chosen = next((known for known in POLICY_NAMES if known == wanted), None)
    if chosen is None:
        raise SettingsError(f"there is no policy {name!r}: choose one of {', '.join(POLICY_NAMES)}")
    known = {setting.name: setting for setting in POLICIES[chosen].settings}
    values = {setting.name: float(setting.default) for setting in known.values()}
    for key, value in (settings or {}).items():
        setting = known.get(key)
        if setting is None:
            names = ", ".join(known) or "none"
            raise SettingsError(f"{chosen} has no setting {key!r}; it has: {names}")
        if not setting.lowest <= value <= setting.highest:
            raise SettingsError(f"{key} is {value:g}; it can be {setting.lowest:g} to {setting.highest:g}")
        values[key] = float(value)
    return Policy(chosen, values)


def parse_settings(pairs: Sequence[str]) -> dict[str, float]:
    """Settings from `key=value` texts; switches also as on and off, true and false, `lru` by its name.

    Raises:
        SettingsError: a text is no such pair, or a key comes twice.
    """
    words = {"on": 1.0, "true": 1.0, "yes": 1.0, "off": 0.0, "false": 0.0, "no": 0.0, **_LRU_NAMES}
    found: dict[str, float] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise SettingsError(f"{pair!r} is no setting: write key=value")
        if key in found:
            raise SettingsError(f"{key} is set twice")
        try:
            found[key] = words[value.lower()] if value.lower() in words else float(value)
        except ValueError as error:
            raise SettingsError(f"{key} is {value!r}, which is no number") from error
    return found
