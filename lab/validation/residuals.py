"""How far replays were off recorded kernels: kept for the product's intervals, and held against recordings left out.

A user's trace has no record of its kernel's scanner and no costs of demotions: `of_defaults` replays recordings as such
a trace is, with the policy's defaults and the knobs that were set.
"""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from statistics import mean

import numpy as np

from tierscope.domain.simulate import TraceColumns, claims, compile_trace, make_policy, replay
from tierscope.domain.simulate.claims import (
    Claim,
    Regime,
    Residual,
    Way,
    claim_regime,
    find_regime,
    kept_residuals,
    write_residuals,
)
from tierscope.domain.simulate.replay import SLOW
from validation import corpus, services
from validation.kernel_lab import (
    FEW_PAGES,
    columns,
    demoted_of,
    is_tiered,
    kinds_of,
    local_of,
    promoted_of,
    size_of,
    smaller,
)
from validation.left_out import SEEDS, Replayed, replay_on_all_cores
from validation.tables import Row, table

RESIDUALS = Path(claims.__file__).with_name(claims.RESIDUALS)
INTERVALS_S = (1, 20)
"""The load of a recording takes 80 s: four intervals of 20 s."""
_WAYS: dict[Way, str] = {"kernel": "with all that is known of its kernel", "defaults": "as a user's trace"}
_HEADER: Row = ("replayed", "interval", "regime", "made on", "points", "held", "moves, times", "held")


def moves_factor(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The larger of replayed over recorded and its inverse, over pairs of recorded and replayed counts.

    Counts that differ by a few pages are the same; None where nothing was moved by either.
    """
    if not any(count for pair in pairs for count in pair):
        return None
    return max(_factor(*pair) for pair in pairs)


def _factor(kernel: float, replayed: float) -> float:
    if abs(kernel - replayed) < FEW_PAGES:
        return 1.0
    return inf if not kernel or not replayed else max(kernel / replayed, replayed / kernel)


def of_kernel(found: Replayed) -> Residual:
    """Of a replay with all that the recording tells of its kernel, mean of the seeds."""
    pairs = [
        (found.kernel.promoted[0], mean(one.promoted[1] for one in found.found)),
        (found.kernel.demoted[0], mean(one.demoted[1] for one in found.found)),
    ]
    return Residual(found.name, "kernel", 1.0, found.kernel.regime, found.points, moves_factor(pairs))


def of_defaults(name: str) -> list[Residual]:
    """Of a recording that is replayed as a user's trace is, by intervals of each length, mean of the seeds."""
    recording = corpus.read(name)
    size = size_of(recording.load)
    policy = make_policy("first_touch")
    if is_tiered(recording):
        policy = make_policy("hot_page_selection_auto", recording.settings)
    machine, kinds = smaller(recording.machine, size), kinds_of(recording.load)
    drawn = [columns(recording, size, seed) for seed in SEEDS]
    residuals = []
    for seconds in INTERVALS_S:
        begin = -(-int(np.ceil(recording.load.fill_s)) // seconds)
        local, promoted, demoted, regimes = [], [], [], set[Regime]()
        for one in drawn:
            trace = compile_trace(_joined(one, seconds))
            outcome = replay(trace, policy, machine, interval_s=float(seconds))
            accesses, totals = outcome.figures.accesses[begin:, kinds].sum(axis=(0, 1)), outcome.totals()
            local.append(1 - float(accesses[SLOW] / accesses.sum()))
            promoted.append(totals.promoted_pages * size)
            demoted.append(totals.demoted_pages * size)
            regimes.add(find_regime(trace, outcome))
        pairs = [(promoted_of(recording), mean(promoted)), (demoted_of(recording), mean(demoted))]
        error = mean(local) - local_of(recording)
        (regime,) = regimes
        residuals.append(Residual(name, "defaults", float(seconds), regime, error, moves_factor(pairs)))
    return residuals


def _joined(found: TraceColumns, seconds: int) -> TraceColumns:
    pages = len(found.kinds)
    keys, place = np.unique(found.row_interval // seconds * pages + found.row_page, return_inverse=True)
    return TraceColumns(
        intervals=-(-found.intervals // seconds),
        kinds=found.kinds,
        units=found.units,
        first=found.first // seconds,
        last=found.last // seconds,
        row_interval=keys // pages,
        row_page=keys % pages,
        row_accesses=np.bincount(place, weights=found.row_accesses).astype(np.int64),
        row_written=np.bincount(place, weights=found.row_written) > 0,
    )


def of_paper() -> list[Residual]:
    """Of rows of the TPP paper under its policy, by the minute; it counts no moves."""
    return [
        Residual(row.result.name, "paper", 60.0, "tpp", row.local - row.result.local, None)
        for row in services.compare()
        if row.result.policy in ("tpp", "tpp_type_aware")
    ]


def of_half(replayed: Sequence[Replayed]) -> list[Residual]:
    """Of recordings, replayed in both ways."""
    defaults = replay_on_all_cores(of_defaults, [one.name for one in replayed])
    return [*(of_kernel(one) for one in replayed), *(one for own in defaults for one in own)]


def keep(developed_on: Sequence[Replayed]) -> None:
    """Write what the product's intervals come from: residuals of the half that rules were made on, and of the paper."""
    RESIDUALS.write_text(write_residuals([*of_half(developed_on), *of_paper()]), encoding="utf-8")
    kept_residuals.cache_clear()


def coverage(left_out: Sequence[Residual]) -> str:
    """How many of the recordings left out are in the intervals that are made on the others, by regime."""
    rows: list[Row] = []
    for way, interval_s in sorted({(one.way, one.interval_s) for one in left_out}, reverse=True):
        every = [one for one in left_out if (one.way, one.interval_s) == (way, interval_s)]
        rows += [
            _row([one for one in every if one.regime == regime])
            for regime in sorted({one.regime for one in every}, reverse=True)
        ]
        rows.append(_sum(every))
    return table(_HEADER, rows)


def _row(own: Sequence[Residual]) -> Row:
    """Recordings of one way and one regime."""
    one = own[0]
    claim, (shares, moves) = _claim(one), _held(own)
    error, moving = claim.share_error, any(residual.moves_factor is not None for residual in own)
    factor = "not claimed" if claim.moves_factor is None else f"{claim.moves_factor:.2f}"
    return (
        _WAYS[one.way],
        f"{one.interval_s:.0f} s",
        one.regime.replace("_", " "),
        str(claim.n_recordings),
        "-" if error is None else f"± {100 * error:.1f}",
        shares,
        factor if moving else "nothing moves",
        moves,
    )


def _sum(every: Sequence[Residual]) -> Row:
    made_on = {one.regime: _claim(one).n_recordings for one in every}
    shares, moves = _held(every)
    length = f"{every[0].interval_s:.0f} s"
    return (_WAYS[every[0].way], length, "all", str(sum(made_on.values())), "-", shares, "-", moves)


def _claim(one: Residual) -> Claim:
    return claim_regime(one.way, one.regime, one.interval_s)


def _held(own: Sequence[Residual]) -> tuple[str, str]:
    """How many local shares, and how many counts of moves, are in their intervals, of those that have one."""
    shares, moves = [], []
    for one in own:
        claim = _claim(one)
        if claim.share_error is not None:
            shares.append(abs(one.share_error) <= claim.share_error)
        if claim.moves_factor is not None and one.moves_factor is not None:
            moves.append(one.moves_factor <= claim.moves_factor)
    return _counted(shares), _counted(moves)


def _counted(held: Sequence[bool]) -> str:
    return f"{sum(held)} of {len(held)}" if held else "-"
