"""What may be claimed of a replay: intervals from how far replays were off recorded kernels, or why there is none.

`residuals.json` is written by `make validation`: replays of that half of the corpus which rules are made on, and of the
papers' services under TPP. Half widths are split-conformal: the smallest that holds `LEVEL` of new recordings of the
same regime, if they are like the kept ones. Docs: docs/method/simulate.md, docs/validation.md.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from tierscope.domain.simulate.policies import SWITCHES, Policy
from tierscope.domain.simulate.replay import AWAY, SLOW, Outcome

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

Way = Literal["defaults", "kernel", "paper"]
"""How a residual was replayed: as a user's trace, with all that a recording tells of its kernel, or a paper's row."""
Regime = Literal["still", "base_pages", "huge_pages", "read_once", "tpp"]

RESIDUALS = "residuals.json"
LEVEL = 0.8
MOST_FACTOR = 2.0
"""Moves are claimed where `LEVEL` of recordings are within this factor, which validation asks for too."""
READ_ONCE_RATIO = 0.1
"""Files that are read once, of DRAM, from which on they count as a flood [A]."""
DIGITS = 4

_REGIMES: Mapping[Regime, str] = {
    "still": "memory that is not moved",
    "base_pages": "base pages and no flood of files",
    "huge_pages": "huge pages",
    "read_once": "files that are read once",
    "tpp": "TPP",
}
_CAUSES: Mapping[Regime, str] = {
    "base_pages": "how often the scanner comes to a page and what a demotion takes are not known of a trace",
    "huge_pages": "a huge page moves as a whole, so that few decisions make many moves, and pieces that the kernel puts"
    " together again are not modelled",
    "read_once": "what files that are read once leave to hot pages depends on their order within an interval, and on"
    " what demoting them costs",
}
_RECORDED = ("first_touch", "hot_page_selection", "tpp")
"""Loops that a recorded kernel ran, or that rows of a paper are of."""
_OF_PAPER = "no recorded kernel ran it, and its paper does not count moves"


@dataclass(frozen=True, slots=True)
class Residual:
    """One replay against what was recorded.

    `share_error`: replayed less recorded local share, -1 to 1. `moves_factor`: the larger of replayed over recorded and
    its inverse, of promotions and demotions; None where nothing moves or nothing was counted, infinite where one of
    the two is zero.
    """

    recording: str
    way: Way
    interval_s: float
    regime: Regime
    share_error: float
    moves_factor: float | None


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of an interval at `LEVEL`."""

    lo: float
    hi: float
    level: float = LEVEL


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed of a replay, at `LEVEL`.

    `share_error`: half width of its local share; None: no interval, for `share_reason`. `moves_factor`: by which counts
    of moves may be off; None: they are not claimed, for `moves_reason`.
    `n_recordings`: behind it.
    """

    share_error: float | None
    share_reason: str | None
    moves_factor: float | None
    moves_reason: str | None
    n_recordings: int

    def share_ends(self, lo: float, hi: float) -> Ends | None:
        """The interval of a local share whose own uncertainty is `lo` to `hi`: both are added up."""
        if self.share_error is None:
            return None
        return Ends(max(lo - self.share_error, 0.0), min(hi + self.share_error, 1.0))

    def moves_ends(self, count: float) -> Ends | None:
        """The interval of a count or a rate of moves; None where it is not claimed."""
        return None if self.moves_factor is None else Ends(count / self.moves_factor, count * self.moves_factor)


EXACT = Claim(0.0, None, 1.0, None, 0)
"""All memory in DRAM: every access is local, and nothing moves."""


def quantile(scores: Sequence[float], level: float = LEVEL) -> float | None:
    """The split-conformal quantile of scores: a new one is at most it with probability `level` or more.

    None where there are too few for the level.
    """
    place = math.ceil((len(scores) + 1) * level)
    return sorted(scores)[place - 1] if place <= len(scores) else None


@cache
def kept_residuals() -> tuple[Residual, ...]:
    """All kept residuals."""
    text = resources.files("tierscope.domain.simulate").joinpath(RESIDUALS).read_text("utf-8")
    rows: list[list[Any]] = json.loads(text)
    return tuple(
        Residual(recording, way, interval_s, regime, error, math.inf if factor == "inf" else factor)
        for recording, way, interval_s, regime, error, factor in rows
    )


def write_residuals(residuals: Sequence[Residual]) -> str:
    """The text of the file, a line for each."""
    rows = [
        json.dumps(
            [
                one.recording,
                one.way,
                one.interval_s,
                one.regime,
                round(one.share_error, DIGITS),
                None if one.moves_factor is None else _number(one.moves_factor),
            ]
        )
        for one in residuals
    ]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def _number(factor: float) -> float | str:
    return round(factor, DIGITS) if math.isfinite(factor) else "inf"


def find_regime(trace: "SimulationTrace", outcome: Outcome) -> Regime:
    """Which recordings a replay is like: by what its memory does, and of which pages it is."""
    if outcome.policy.kind.loop == "tpp":
        return "tpp"
    if outcome.policy.kind.loop == "first_touch" or not outcome.figures.used[:, SLOW].any():
        return "still"
    if trace.read_once_units() >= READ_ONCE_RATIO * outcome.machine.dram_pages:
        return "read_once"
    return "huge_pages" if trace.largest_units > 1 else "base_pages"


def claim_replay(trace: "SimulationTrace", outcome: Outcome) -> Claim:
    """What is claimed of a replay of a user's trace or of a workload, of whose scanner nothing was recorded."""
    policy = outcome.policy
    if policy.name == "all_dram":
        return EXACT
    lacking = _lacking(outcome)
    if lacking is not None:
        return Claim(None, f"No interval: {lacking}.", None, f"Moves are not claimed: {lacking}.", 0)
    regime = find_regime(trace, outcome)
    way: Way = "paper" if regime == "tpp" else "defaults"
    return claim_regime(way, regime, outcome.interval_s)


def _lacking(outcome: Outcome) -> str | None:
    """Why nothing that was recorded is like a replay; None where something is."""
    policy = outcome.policy
    if policy.kind.loop == "oracle":
        return "it is a bound of all policies, not one that a kernel runs"
    if policy.kind.swap or outcome.figures.accesses[:, :, AWAY].any():
        return "pages come back from swap or disk, and no recording behind these intervals does that"
    if policy.kind.loop not in _RECORDED:
        return f"no recorded kernel ran {policy.kind.label}"
    if _switched(policy):
        return f"no recording was replayed with {', '.join(_switched(policy))} alone"
    return None


def _switched(policy: Policy) -> list[str]:
    """Mechanisms of the kernel that are on."""
    return [name for name in SWITCHES if policy.settings.get(name)]


def claim_regime(way: Way, regime: Regime, interval_s: float) -> Claim:
    """The claim from kept residuals of a way and a regime, with the longest intervals up to this length."""
    kept = [one for one in kept_residuals() if (one.way, one.regime) == (way, regime)]
    shorter = [one.interval_s for one in kept if one.interval_s <= interval_s]
    length = max(shorter) if shorter else min((one.interval_s for one in kept), default=0.0)
    return make_claim(regime, [one for one in kept if one.interval_s == length])


def make_claim(regime: Regime, residuals: Sequence[Residual]) -> Claim:
    """The claim from these residuals of a regime."""
    error = quantile([abs(one.share_error) for one in residuals])
    few = f"{len(residuals)} recordings of {_REGIMES[regime]} are too few for {LEVEL:.0%}"
    share_reason = None if error is not None else f"No interval: {few}."
    if regime == "still":
        return Claim(error, share_reason, 1.0, None, len(residuals))
    factors = [one.moves_factor for one in residuals if one.moves_factor is not None]
    factor = quantile(factors)
    if factor is not None and factor <= MOST_FACTOR:
        return Claim(error, share_reason, factor, None, len(residuals))
    return Claim(error, share_reason, None, f"Moves are not claimed: {_why(regime, factors, factor)}.", len(residuals))


def _why(regime: Regime, factors: Sequence[float], factor: float | None) -> str:
    if regime not in _CAUSES:
        return _OF_PAPER
    within = sum(one <= MOST_FACTOR for one in factors)
    off = "" if factor is None or not math.isfinite(factor) else f", and {LEVEL:.0%} within {factor:.1f}"
    measured = f"of {len(factors)} recordings of {_REGIMES[regime]}, {within} were within a factor of two{off}"
    return f"{_CAUSES[regime]}; {measured}"


def join_claims(claims: Sequence[Claim]) -> Claim:
    """The weakest of several hosts' claims."""

    def weakness(value: float | None) -> float:
        return math.inf if value is None else value

    share = max(claims, key=lambda one: weakness(one.share_error))
    moves = max(claims, key=lambda one: weakness(one.moves_factor))
    return Claim(share.share_error, share.share_reason, moves.moves_factor, moves.moves_reason, share.n_recordings)
