"""Series whose truth is known, made without the product: daily memory, metrics by ten minutes, groups of peer hosts.

The generator shares no code with the product. All noise follows itself, many series have a week, some are skewed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Random = np.random.Generator

LEVEL_BYTES = float(1 << 40)
WEEK_DAYS = 7
SLOTS_A_DAY = 144
"""Of ten minutes."""
SLOT_S = 600
DAY_S = 86_400
MONDAY_S = 1_767_571_200
"""Monday, 5 January 2026, 00:00 UTC."""
BURN_IN = 200
"""Values that a series following itself forgets before it is used."""
SMALL_GROUP, LARGE_GROUP = 8, 120
MIN_STEP, MAX_STEP = 0.10, 0.40
"""Shifts of a metric's level, as a share of it: drawn evenly on the logarithm."""


def follow(random: Random, n: int, phi: float, *, skewed: bool = False) -> Floats:
    """Noise of unit deviation [n] whose neighbours correlate by `phi`; with `skewed` its shocks are one-sided."""
    shocks = random.exponential(1.0, n + BURN_IN) - 1.0 if skewed else random.standard_normal(n + BURN_IN)
    own = np.sqrt(1.0 - phi * phi)
    values, state = np.empty(n + BURN_IN), 0.0
    for i, shock in enumerate(shocks.tolist()):
        state = phi * state + own * shock
        values[i] = state
    return values[BURN_IN:]


def _week(random: Random, n: int) -> Floats:
    """The course of the week, on the logarithm, in two thirds of all series."""
    if random.random() < 1 / 3:
        return np.zeros(n)
    amplitude = random.uniform(0.01, 0.06)
    days = random.normal(0.0, amplitude, WEEK_DAYS)
    return np.resize(days, n)


def _flat(random: Random, n: int) -> Floats:
    return 0.02 * follow(random, n, random.uniform(0.0, 0.5))


def _growth(random: Random, n: int) -> Floats:
    daily = random.uniform(0.002, 0.012)
    return daily * np.arange(n) + random.uniform(0.01, 0.03) * follow(random, n, random.uniform(0.0, 0.4))


def _wandering(random: Random, n: int) -> Floats:
    """Growth with noise that stays for days."""
    daily = random.uniform(0.0, 0.008)
    return daily * np.arange(n) + random.uniform(0.01, 0.04) * follow(random, n, random.uniform(0.7, 0.95))


def _walk(random: Random, n: int) -> Floats:
    steps = random.uniform(-0.002, 0.006) + random.uniform(0.005, 0.02) * random.standard_normal(n)
    return np.asarray(np.cumsum(steps), np.float64)


def _saturation(random: Random, n: int) -> Floats:
    """Growth that bends to a level: half of the way is gone somewhere between the first and the last third."""
    half, pace = random.uniform(0.15, 0.75) * n, random.uniform(6.0, 18.0)
    grown = 1.0 / (1.0 + np.exp(-(np.arange(n) - half) / pace))
    bent = np.asarray(np.log1p(random.uniform(0.5, 2.0) * grown), np.float64)
    return bent + 0.015 * follow(random, n, random.uniform(0.0, 0.5))


def _bend(random: Random, n: int) -> Floats:
    at = int(random.uniform(0.3, 0.7) * n)
    pace = np.where(np.arange(n) < at, random.uniform(0.0, 0.012), random.uniform(-0.004, 0.012))
    return np.asarray(np.cumsum(pace), np.float64) + 0.015 * follow(random, n, random.uniform(0.0, 0.5))


def _steps(random: Random, n: int) -> Floats:
    """Deploys move the level, one in thirty to sixty days, in the days to come too."""
    moves = random.random(n) < 1.0 / random.uniform(30.0, 60.0)
    levels = np.cumsum(np.where(moves, random.normal(0.03, 0.12, n), 0.0))
    return levels + 0.015 * follow(random, n, random.uniform(0.0, 0.5))


def _skewed(random: Random, n: int) -> Floats:
    daily = random.uniform(0.0, 0.006)
    return daily * np.arange(n) + random.uniform(0.01, 0.04) * follow(random, n, random.uniform(0.0, 0.5), skewed=True)


def _monthly(random: Random, n: int) -> Floats:
    """A month's course beside growth."""
    course = random.uniform(0.02, 0.06) * np.sin(2 * np.pi * (np.arange(n) / 30.4 + random.random()))
    return random.uniform(0.0, 0.006) * np.arange(n) + course + 0.015 * follow(random, n, random.uniform(0.0, 0.4))


KINDS: Mapping[str, Callable[[Random, int], Floats]] = {
    "flat": _flat,
    "growth": _growth,
    "wandering": _wandering,
    "random walk": _walk,
    "saturation": _saturation,
    "bend": _bend,
    "steps": _steps,
    "skewed": _skewed,
    "monthly": _monthly,
}
"""What the logarithm of daily memory does."""


def daily_memory(seed: int, number: int, kind: str, days: int) -> Floats:
    random = np.random.default_rng([seed, number, list(KINDS).index(kind)])
    return np.asarray(LEVEL_BYTES * np.exp(KINDS[kind](random, days) + _week(random, days)), np.float64)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a service by ten minutes: ends of slots in Unix seconds, values, and the deviation of its noise.

    `noise` is the standard deviation of what is left without the courses of day and week, as a share of the level.
    """

    times_s: Floats
    values: Floats
    noise: float
    phi: float

    def stepped(self, at: int, share: float) -> Floats:
        """The values with the level moved by a share of it from slot `at` on."""
        return np.where(np.arange(len(self.values)) >= at, self.values * (1.0 + share), self.values)


def metric_by_slots(seed: int, number: int, days: int) -> Metric:
    """A metric without shifts: courses of day and week, noise that follows itself for minutes or for hours, skew."""
    random = np.random.default_rng([seed, number, 1_000])
    n = days * SLOTS_A_DAY
    times = MONDAY_S + SLOT_S * np.arange(1, n + 1, dtype=np.float64)
    day = (times % DAY_S) / DAY_S
    course = random.uniform(0.0, 0.4) * np.sin(2 * np.pi * (day - random.random()))
    weekend = np.where((times - MONDAY_S - 1) // DAY_S % WEEK_DAYS >= WEEK_DAYS - 2, random.uniform(-0.35, 0.05), 0.0)
    phi = random.choice([0.3, 0.7, 0.9, 0.97])
    noise = random.uniform(0.01, 0.03)
    wander = follow(random, n, phi, skewed=bool(random.random() < 0.5))
    values = np.exp(course + weekend + noise * wander + 0.005 * random.standard_normal(n))
    return Metric(times, np.asarray(100.0 * values, np.float64), noise, float(phi))


def draw_step(random: Random) -> float:
    """A shift of a level, as a share of it, up or down."""
    size = float(np.exp(random.uniform(np.log(MIN_STEP), np.log(MAX_STEP))))
    return size if random.random() < 0.5 else -size


PEERS = ("normal", "heavy-tailed", "log-normal", "exponential", "two sizes")


@dataclass(frozen=True, slots=True)
class Peers:
    """A group of hosts by hours [hours, hosts], none of them odd but `odd`."""

    values: Floats
    odd: int | None = None


def peer_group(seed: int, number: int, kind: str, hours: int) -> Peers:
    """Hosts that are alike: each has a deviation of its own, and noise that stays for some hours.

    `two sizes`: a share of a fifth to a half of the hosts holds two to four times as much as the others.
    """
    random = np.random.default_rng([seed, number, 2_000 + PEERS.index(kind)])
    hosts = int(np.exp(random.uniform(np.log(SMALL_GROUP), np.log(LARGE_GROUP + 1))))
    phi = random.uniform(0.5, 0.95)
    own = random.standard_normal(hosts)
    moving = np.stack([follow(random, hours, phi) for _ in range(hosts)], axis=1)
    normal = np.sqrt(0.5) * own + np.sqrt(0.5) * moving
    if kind == "log-normal":
        return Peers(np.exp(random.uniform(0.3, 1.0) * normal))
    if kind == "exponential":
        return Peers(random.exponential(1.0, hosts) * np.exp(0.1 * moving))
    if kind == "heavy-tailed":
        return Peers(100.0 * (1.0 + 0.05 * (random.standard_t(5.0, hosts) + 0.5 * moving)))
    values = 100.0 * (1.0 + 0.05 * normal)
    if kind == "two sizes":
        large = max(2, int(np.ceil(random.uniform(1 / 5, 1 / 2) * hosts)))
        values[:, :large] *= random.uniform(2.0, 4.0)
    return Peers(values)


def with_odd_host(group: Peers, seed: int, number: int) -> Peers:
    """The group with one host at 1.5 to 3 times its value, or as much below."""
    random = np.random.default_rng([seed, number, 3_000])
    odd = int(random.integers(group.values.shape[1]))
    values = group.values.copy()
    factor = random.uniform(1.5, 3.0)
    values[:, odd] = np.median(values, axis=1) * (factor if random.random() < 0.5 else 1.0 / factor)
    return Peers(values, odd)
