"""Cases to cost: the values as given, one input moved at a time, or many drawn at random from a seed.

Each input has its own stream of the seed, by its place in the list of inputs: what is drawn for one does not depend on
which others there are. Each stream takes one value from each of as many equally likely strata (Latin hypercube
sampling, McKay, Beckman and Conover 1979): with one uncertain input the median over draws is what its median gives, to
the cent.
Prices of DRAM and CXL media are tied by a Gaussian copula, because both are DRAM.
"""

from collections.abc import Sequence

import numpy as np
import scipy

from tierscope.domain.tco.costs import Cases, Floats, Own
from tierscope.domain.tco.scenario import (
    HIGHEST_LOSS,
    SHARED_INPUTS,
    Design,
    LogOdds,
    Loss,
    Range,
    Scenario,
    SharedName,
)

CORRELATION = 0.8
"""Of the prices of DRAM and CXL media, on the normal scale [A]."""
_OWN_STREAMS = 1000
_STREAMS_PER_DESIGN = 2


def as_given(scenario: Scenario, times: int = 1) -> dict[SharedName, Floats]:
    """The shared inputs at their values, so many times."""
    cases = {name: np.full(times, scenario.inputs[name].value) for name in SHARED_INPUTS}
    if scenario.linked:
        cases["cxl_media"] = cases["dram"]
    return cases


def own_as_given(design: Design, times: int = 1) -> Own:
    """What a design has for itself at its values, so many times."""
    swapped = design.swap.swap_out_mb_per_s.value if design.swap else 0.0
    return Own(np.full(times, design.loss.value), np.full(times, swapped))


def with_input(scenario: Scenario, name: SharedName, values: Sequence[float]) -> Cases:
    """The shared inputs at their values, but one of them at each of these. A linked price follows that of DRAM."""
    cases = as_given(scenario, len(values))
    cases[name] = np.asarray(values, np.float64)
    if scenario.linked and name == "dram":
        cases["cxl_media"] = cases["dram"]
    return cases


def draw_shared(scenario: Scenario, *, draws: int, seed: int) -> Cases:
    """Draws of the shared inputs."""
    normals = {name: _normals(seed, number, draws) for number, name in enumerate(SHARED_INPUTS)}
    rest = float(np.sqrt(1.0 - CORRELATION**2))
    normals["cxl_media"] = CORRELATION * normals["dram"] + rest * normals["cxl_media"]
    cases = {name: triangular(scenario.inputs[name], scipy.special.ndtr(normals[name])) for name in SHARED_INPUTS}
    if scenario.linked:
        cases["cxl_media"] = cases["dram"]
    return cases


def draw_own(design: Design, place: int, *, draws: int, seed: int) -> Own:
    """Draws of what a design has for itself; `place` is its place among the designs."""
    first = _OWN_STREAMS + _STREAMS_PER_DESIGN * place
    loss = _draw_loss(design.loss, _normals(seed, first, draws))
    uniform = scipy.special.ndtr(_normals(seed, first + 1, draws))
    swapped = triangular(design.swap.swap_out_mb_per_s, uniform) if design.swap else np.zeros(draws)
    return Own(loss, swapped)


def triangular(item: Range, uniform: Floats) -> Floats:
    """Quantiles of the triangular distribution with its mode at the value; a certain value is itself."""
    if item.is_certain:
        return np.full_like(uniform, item.value)
    width, rise, fall = item.high - item.low, item.value - item.low, item.high - item.value
    below = item.low + np.sqrt(uniform * width * rise)
    above = item.high - np.sqrt((1.0 - uniform) * width * fall)
    return np.where(uniform * width < rise, below, above)


def _draw_loss(loss: Loss, normal: Floats) -> Floats:
    if isinstance(loss, Range):
        return triangular(loss, scipy.special.ndtr(normal))
    return _of_log_odds(loss, normal)


def _of_log_odds(loss: LogOdds, normal: Floats) -> Floats:
    if loss.is_certain:
        return np.full_like(normal, loss.median)
    sd = np.where(normal < 0.0, loss.sd_below, loss.sd_above)
    odds = loss.median / (1.0 - loss.median) * np.exp(sd * normal)
    return np.minimum(odds / (1.0 + odds), HIGHEST_LOSS)


def _normals(seed: int, number: int, draws: int) -> Floats:
    """Standard normal values in random order, one from the middle of each of `draws` equally likely strata."""
    levels = (np.arange(draws) + 0.5) / draws
    # The median of an even number is the mean of the two in the middle: both stand at the median itself.
    levels[(draws - 1) // 2 : draws // 2 + 1] = 0.5
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,))).permutation(draws)
    return np.asarray(scipy.special.ndtri(levels[order]), np.float64)
