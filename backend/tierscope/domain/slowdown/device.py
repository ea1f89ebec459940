"""The device behind the slower tier: its latency and bandwidth, and what they make of what is believed of a slowdown.

The published pairs stand for one latency. Extra time is taken to be in proportion to the extra latency (rho - 1), which
is what the loss of a stalled access is; how well that holds far away from the pairs is a doubt that grows with the
distance. A device that carries much of its bandwidth answers later: that is extra latency too.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from tierscope.domain.slowdown.bandwidth import LoadedLatency, Tier
from tierscope.domain.slowdown.loss import PRIOR, REFERENCE_RHO, UPPER_LEVEL, Point, loss_of, normal_quantile, odds_of
from tierscope.domain.slowdown.posterior import EXPONENTS, Belief, ShareOnSlow

SCALING_SD = 0.8
"""Of the power of (rho - 1) in which extra time grows [A]. Pond's workloads at 1.82 and 2.22 times the latency lose as
by powers of 0.9 (the quantile at 1 %), 1.4 (5 %) and 2.2 (25 %) [R], on different processors; a wait that grows with
latency has 1. With this the upper loss holds for powers of 0.9 to 1.6 from 1.3 to 6 times the latency of DRAM
(tests/domain/test_devices.py)."""
DRAM_NS = 100.0
"""Idle latency of DRAM where neither the hosts nor the device's file say [A]."""
SMALLEST_RHO = 1.01
"""Slow memory is taken to be slower, if only a little."""
_PRESETS = "devices.toml"
_MOST = 1e6


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of memory behind a slower tier.

    `idle_ns` with the ends between which devices of its kind lie, beside DRAM of `dram_idle_ns`. `gb_per_s`: what it
    delivers, None where not known. `loaded`: (GB/s, ns) under rising load. `usd_per_gb`: None where no price is known.
    """

    name: str
    label: str
    idle_ns: float
    low_ns: float
    high_ns: float
    dram_idle_ns: float
    gb_per_s: float | None
    loaded: tuple[tuple[float, float], ...]
    usd_per_gb: float | None
    source: str
    date: str

    @property
    def rho(self) -> float:
        """Idle latency over that of the DRAM beside it."""
        return max(self.idle_ns / self.dram_idle_ns, SMALLEST_RHO)

    @property
    def log_sd(self) -> float:
        """Standard deviation of ln(rho - 1) over devices of the kind, whose ends hold 95 % of them."""
        low, high = (max(ns / self.dram_idle_ns, SMALLEST_RHO) - 1.0 for ns in (self.low_ns, self.high_ns))
        return math.log(high / low) / (2.0 * normal_quantile((1.0 + UPPER_LEVEL) / 2.0))

    @property
    def curve(self) -> LoadedLatency:
        """Latency under load: as measured, else as assumed of any memory."""
        if not self.loaded or self.gb_per_s is None:
            return LoadedLatency.default(self.idle_ns)
        points = [(min(rate / self.gb_per_s, 1.0), ns) for rate, ns in self.loaded]
        return LoadedLatency.measured([(0.0, self.idle_ns), *points])

    @property
    def tier(self) -> Tier | None:
        """Bandwidth with latency; None where the bandwidth is not known."""
        return None if self.gb_per_s is None else Tier(self.gb_per_s, self.curve)


def scaling_sd(rho: float) -> float:
    """Doubt about ln odds at a latency ratio: none at that of the published pairs, more with the distance from it."""
    return SCALING_SD * abs(math.log((max(rho, SMALLEST_RHO) - 1.0) / (REFERENCE_RHO - 1.0)))


def believe(
    rho: float | None,
    *,
    log_sd: float = 0.0,
    points: Sequence[Point] = (),
    exponents: tuple[float, ...] = EXPONENTS,
    measured: bool | None = None,
) -> Belief:
    """What is believed of a slowdown beside slow memory of this latency ratio; None: one that nobody knows.

    `log_sd`: of ln(rho - 1), where a kind of device is meant and not one. `points`: measured at this ratio. `measured`:
    False where `rho` is assumed; by default it is not where it is None.
    """
    at = REFERENCE_RHO if rho is None else max(rho, SMALLEST_RHO)
    usable = tuple(point for point in points if point.is_usable)
    return Belief(
        PRIOR.at_latency(at),
        usable,
        exponents,
        latency_measured=rho is not None if measured is None else measured,
        device_sd=math.hypot(scaling_sd(at), log_sd),
    )


WAIT_MARGIN = 0.25
"""Of the wait for each slow read: benches of latency differ by 15 % over hosts, load and access pattern [A]."""
_NS = 1e-9


@dataclass(frozen=True)
class LoadedBelief:
    """A belief at the latency ratio `rho`, and how much later slow memory answers when it carries a share of a demand.

    `dram`, `slow` and `demand_gb_per_s` None where not known: then load adds nothing. `reads_per_cpu_s`: lines that are
    read from memory for each second of processor time, with all of it in DRAM, at most; None where not known. No loss
    is more than if each of them that is slow were waited for alone, and by the whole difference of latencies.
    """

    belief: Belief
    rho: float
    dram: Tier | None
    slow: Tier | None
    demand_gb_per_s: float | None
    reads_per_cpu_s: float | None = None

    def loss_median(self, share: ShareOnSlow) -> float:
        """Median loss at the estimate of the share."""
        return min(self._under_load(self.belief.loss_median(share), share.value), self.loss_most(share.value))

    def loss_upper(self, share: ShareOnSlow) -> float:
        """Loss that is not exceeded at the level of the answer."""
        return min(self._under_load(self.belief.loss_upper(share), share.hi), self.loss_most(share.at_most()))

    def loss_lower(self, share: ShareOnSlow) -> float:
        """Loss that is exceeded at the level of the answer."""
        return min(self._under_load(self.belief.loss_lower(share), share.lo), self.loss_most(share.lo))

    def loss_most(self, share: float) -> float:
        """Loss if every slow read were waited for alone; 1 where not known."""
        if self.reads_per_cpu_s is None or self.dram is None or self.slow is None:
            return 1.0
        slow_ns = _loaded_ns(self.slow, share * (self.demand_gb_per_s or 0.0))
        extra_s = max(slow_ns - self.dram.loaded_latency.idle_ns, 0.0) * _NS
        return loss_of(self.reads_per_cpu_s * share * extra_s * (1.0 + WAIT_MARGIN))

    def factor(self, share: float) -> float:
        """By how much load multiplies the extra latency at a share of accesses on slow memory; 1 and more."""
        if self.dram is None or self.slow is None or self.demand_gb_per_s is None:
            return 1.0
        slow_ns = _loaded_ns(self.slow, share * self.demand_gb_per_s)
        dram_ns = _loaded_ns(self.dram, self.demand_gb_per_s)
        return max((slow_ns / dram_ns - 1.0) / (self.rho - 1.0), 1.0)

    def _under_load(self, loss: float, share: float) -> float:
        return loss_of(odds_of(loss) * self.factor(share)) if loss < 1.0 else loss


def _loaded_ns(tier: Tier, gb_per_s: float) -> float:
    """Latency at this rate; that of the highest measured load beyond it, where bandwidth is what limits."""
    curve = tier.loaded_latency
    at = curve.at(min(gb_per_s / tier.bandwidth_gb_per_s, curve.points[-1][0]))
    return curve.idle_ns if at is None else at


class DeviceError(ValueError):
    """A device cannot be read; the message names the field."""


@lru_cache(maxsize=1)
def device_presets() -> Mapping[str, Device]:
    """Kinds of slow memory by name, with sources and dates."""
    text = resources.files("tierscope.domain.slowdown").joinpath(_PRESETS).read_text("utf-8")
    return {device.name: device for device in read_devices(text, "preset")}


def read_devices(text: str, name: str) -> tuple[Device, ...]:
    """Devices of a file (TOML): one at its top level, or several under `[[device]]`.

    Raises:
        DeviceError: names the field that cannot be.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DeviceError(f"no TOML: {error}") from error
    rows = document.get("device", [document])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DeviceError("device must be tables, [[device]]")
    return tuple(_device(row, name) for row in rows)


_FIELDS = frozenset(Device.__dataclass_fields__)


def _device(row: Mapping[str, Any], name: str) -> Device:
    unknown = sorted(set(row) - _FIELDS)
    if unknown:
        raise DeviceError(f"{unknown[0]} is no field of a device; these are: {', '.join(sorted(_FIELDS))}")
    idle_ns = _number(row, "idle_ns", None)
    if idle_ns is None:
        raise DeviceError("idle_ns is missing: the latency of one load, in ns")
    low_ns, high_ns = (_number(row, field, idle_ns) or idle_ns for field in ("low_ns", "high_ns"))
    if not low_ns <= idle_ns <= high_ns:
        raise DeviceError("idle_ns must lie between low_ns and high_ns")
    named = str(row.get("name", name))
    return Device(
        name=named,
        label=str(row.get("label", named)),
        idle_ns=idle_ns,
        low_ns=low_ns,
        high_ns=high_ns,
        dram_idle_ns=_number(row, "dram_idle_ns", DRAM_NS) or DRAM_NS,
        gb_per_s=_number(row, "gb_per_s", None),
        loaded=_points(row.get("loaded", [])),
        usd_per_gb=_number(row, "usd_per_gb", None),
        source=str(row.get("source", "as given")),
        date=str(row.get("date", "")),
    )


def _number(row: Mapping[str, Any], field: str, default: float | None) -> float | None:
    value = row.get(field, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < _MOST:
        raise DeviceError(f"{field} must be a number above 0")
    return float(value)


def _points(value: object) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, list):
        raise DeviceError("loaded must be a list of [GB/s, ns]")
    found = []
    for point in value:
        if not isinstance(point, list) or len(point) != 2:  # noqa: PLR2004 - a rate and a latency
            raise DeviceError("loaded must be a list of [GB/s, ns]")
        rate, ns = (_number({"loaded": part}, "loaded", None) for part in point)
        found.append((rate or 0.0, ns or 0.0))
    return tuple(sorted(found))
