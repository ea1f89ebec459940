"""What a sweep replays: policies, each at all DRAM shares, with its settings and with those that a search tries."""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.simulate.costs import Costs
from tierscope.domain.simulate.machine import Machine, split_machine
from tierscope.domain.simulate.policies import (
    POLICIES,
    POLICY_NAMES,
    Policy,
    PolicyKind,
    PolicyName,
    Setting,
    SettingsError,
    make_policy,
)

MAX_RUNS = 500
WATERMARK = "watermark_scale_factor"
WARM_UP = "warm_up_intervals"

MACHINE_SETTINGS = (
    Setting(WATERMARK, 10, 0, 2500, "ten-thousandths of DRAM", "kernel"),
    Setting("swap_pages", 0, 0, 1e12, "base pages", "A no swap unless the policy is about it"),
    Setting("scan_pass_s", 60, 0.001, 86_400, "s", "kernel: from 1 s up to scan_period_max_ms, unless set"),
    Setting("scan_size_mb", 256, 1, 1e6, "MiB", "kernel; pages that the scanner comes to at once"),
    Setting("interval_s", 60, 0.001, 86_400, "s", "A of the trace; at most one pass of the scanner, unless set"),
    Setting(WARM_UP, 0, 0, 100_000, "intervals", "A not counted in totals; 10 for page samples of services"),
)
_COST_RANGES = {
    "exposed_ratio": (1.0, "ratio"),
    **dict.fromkeys(("dram_gb_per_s", "slow_gb_per_s", "demand_gb_per_s"), (1e6, "GB/s; 0 is not known")),
}
COST_SETTINGS = tuple(
    Setting(
        field.name,
        float(getattr(Costs(), field.name)),
        0,
        _COST_RANGES.get(field.name, (1e6, field.name.rpartition("_")[2]))[0],
        _COST_RANGES.get(field.name, (1e6, field.name.rpartition("_")[2]))[1],
        "A measure it on the target",
    )
    for field in fields(Costs)
)
_OF_MACHINE = (WATERMARK, "swap_pages", "scan_pass_s", "scan_size_mb")
_SHARED = {setting.name: setting for setting in (*MACHINE_SETTINGS, *COST_SETTINGS)}


_MOVE_NOTHING = ("all_dram", "first_touch", "interleave", "oracle")


def _length_rank(kind: PolicyKind) -> int:
    """0 takes longest: pages that go to swap are played to its device after the replay; hint faults and moves next."""
    if kind.swap is not None:
        return 1 if kind.has_slow_tier else 0
    return 3 if kind.loop in _MOVE_NOTHING else 2


POLICIES_LONGEST_FIRST: tuple[PolicyName, ...] = tuple(
    sorted(POLICY_NAMES, key=lambda name: _length_rank(POLICIES[name]))
)
"""Begun in this order on several cores, so that none is left with a long replay at the end."""


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One replay. `settings` are those that differ from the defaults, of policy and machine; `searched`: not as asked.

    `number` counts all runs of the sweep from 0.
    """

    number: int
    policy: PolicyName
    dram_ratio: float
    settings: Mapping[str, float]
    searched: bool

    def make_policy(self) -> Policy:
        """The policy with its settings."""
        own = {name: value for name, value in self.settings.items() if name not in _SHARED}
        return make_policy(self.policy, own)

    def make_machine(
        self, peak_pages: int, *, sampled_ratio: float = 1.0, page_bytes: int = MODEL_PAGE_BYTES
    ) -> Machine:
        """The machine: this share of the peak in DRAM, the rest and 5 % to spare on the slower tier."""
        of = self.settings.get
        machine = split_machine(peak_pages, self.dram_ratio, page_bytes=page_bytes)
        return replace(
            machine,
            watermark_scale_factor=of(WATERMARK, machine.watermark_scale_factor),
            swap_pages=int(of("swap_pages", 0) * sampled_ratio),
            scan_pass_s=of("scan_pass_s"),
            scan_size_mb=of("scan_size_mb", machine.scan_size_mb),
            sampled_ratio=sampled_ratio,
        )


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Settings by what they are of: all runs, or the policies that have them."""

    shared: Mapping[str, float]
    own: Mapping[PolicyName, Mapping[str, float]]

    @property
    def costs(self) -> Costs:
        """Costs of single events."""
        names = {setting.name for setting in COST_SETTINGS}
        return Costs(**{name: value for name, value in self.shared.items() if name in names})


def split_settings(policies: Sequence[str], settings: Mapping[str, float]) -> SplitSettings:
    """Split settings by what has them.

    Raises:
        SettingsError: nothing asked for has such a setting, or it cannot have this value.
    """
    if not policies:
        raise SettingsError("name at least one policy")
    names = [make_policy(name).name for name in policies]
    shared, own = share_settings(names, settings, set(_SHARED))
    for key, value in settings.items():
        _check(key, value)
    for name, values in own.items():
        make_policy(name, values)
    return SplitSettings(shared, own)


def share_settings(
    names: Sequence[PolicyName], settings: Mapping[str, float], shared_names: Collection[str]
) -> tuple[dict[str, float], dict[PolicyName, dict[str, float]]]:
    """Settings by these names, and those of each policy that has them; values are not looked at.

    Raises:
        SettingsError: nothing asked for has such a setting.
    """
    shared: dict[str, float] = {}
    own: dict[PolicyName, dict[str, float]] = {name: {} for name in names}
    for key, value in settings.items():
        if key in shared_names:
            shared[key] = value
            continue
        having = [name for name in own if has_setting(name, key)]
        if not having:
            known = {setting.name for name in own for setting in POLICIES[name].settings}
            listed = ", ".join(sorted(known | set(shared_names)))
            raise SettingsError(f"nothing asked for has a setting {key!r}; there are: {listed}")
        for name in having:
            own[name][key] = value
    return shared, own


def has_setting(policy: PolicyName, key: str) -> bool:
    """Whether a policy has a setting of its own by this name."""
    return any(setting.name == key for setting in POLICIES[policy].settings)


def expand_sweep(
    policies: Sequence[str],
    dram_ratios: Sequence[float],
    settings: Mapping[str, float],
    search: Mapping[str, Sequence[float]],
) -> tuple[SweepRun, ...]:
    """All runs, by policy: each share with the settings asked for, then those of the search.

    A search tries all combinations of the keys that a policy has. All DRAM has no shares: it is one run.

    Raises:
        SettingsError: a policy, share, setting or value cannot be, or there are more than `MAX_RUNS` runs.
    """
    split = split_settings(policies, settings)
    names = list(split.own)
    if len(names) < len(policies):
        raise SettingsError("a policy is named twice")
    shares = _check_shares(dram_ratios)
    grids = {name: _grid(name, search, split) for name in names}
    unused = [key for key in search if not any(key in values for grid in grids.values() for values in grid)]
    if unused:
        raise SettingsError(f"nothing asked for has a setting {unused[0]!r} that can be searched")
    found: list[SweepRun] = []
    for name in names:
        base = {**_machine_part(split.shared), **split.own[name]}
        for share in [1.0] if name == "all_dram" else shares:
            tried = [{**base, **values} for values in grids[name]]
            for values in (base, *(values for values in tried if not _same(name, values, base))):
                found.append(SweepRun(len(found), name, share, values, searched=values is not base))
    if len(found) > MAX_RUNS:
        raise SettingsError(
            f"the sweep has {len(found)} runs; {MAX_RUNS} are the most: ask for fewer policies, shares or values"
        )
    return tuple(found)


def longest_first(runs: Iterable[SweepRun]) -> list[SweepRun]:
    """Runs in the order to begin them in: by policy, and those with the least DRAM, which move the most, first."""
    return sorted(runs, key=lambda run: (POLICIES_LONGEST_FIRST.index(run.policy), run.dram_ratio, run.number))


def full_settings(run: SweepRun) -> dict[str, float]:
    """All settings that a run goes by, defaults filled in."""
    machine = {WATERMARK: run.settings.get(WATERMARK, float(MACHINE_SETTINGS[0].default))}
    return {**run.make_policy().settings, **({} if run.policy in ("all_dram", "oracle") else machine)}


def _check(key: str, value: float) -> None:
    if not math.isfinite(value):
        raise SettingsError(f"{key} is no number")
    known = _SHARED.get(key)
    if known is not None and not known.lowest <= value <= known.highest:
        raise SettingsError(f"{key} is {value:g}; it can be {known.lowest:g} to {known.highest:g}")


def _check_shares(dram_ratios: Sequence[float]) -> list[float]:
    if not dram_ratios:
        raise SettingsError("name at least one DRAM share")
    for share in dram_ratios:
        if not 0.0 < share <= 1.0:
            raise SettingsError(f"a DRAM share of {share:g} cannot be: give one above 0 and at most 1")
    if len(set(dram_ratios)) < len(dram_ratios):
        raise SettingsError("a DRAM share is named twice")
    return sorted(dram_ratios, reverse=True)


def _grid(name: PolicyName, search: Mapping[str, Sequence[float]], split: SplitSettings) -> list[dict[str, float]]:
    """Combinations of the searched values that a policy can be given."""
    if name in ("all_dram", "oracle"):
        return []
    keys = [key for key in search if has_setting(name, key) or key == WATERMARK]
    if not keys:
        return []
    count = math.prod(len(search[key]) for key in keys)
    if not count:
        raise SettingsError(f"the search of {next(key for key in keys if not search[key])!r} names no values")
    if count > MAX_RUNS:
        raise SettingsError(f"the search has {count} combinations for {name}; {MAX_RUNS} runs are the most")
    out = [dict(zip(keys, values, strict=True)) for values in itertools.product(*(search[key] for key in keys))]
    for values in out:
        for key, value in values.items():
            _check(key, value)
        own = {key: value for key, value in values.items() if key != WATERMARK}
        make_policy(name, {**split.own[name], **own})
    return out


def _machine_part(shared: Mapping[str, float]) -> dict[str, float]:
    return {name: shared[name] for name in _OF_MACHINE if name in shared}


def _same(name: PolicyName, one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    runs = [SweepRun(0, name, 1.0, values, searched=False) for values in (one, other)]
    return full_settings(runs[0]) == full_settings(runs[1])
