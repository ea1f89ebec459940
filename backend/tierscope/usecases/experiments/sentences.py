"""What is said of an experiment's effect: figures and sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.domain.base.figures import Figure, Grade, Interval, Window, absent
from tierscope.domain.experiments import (
    SIGNIFICANCE,
    Direction,
    Effect,
    Verdict,
    early_significance,
    judge,
    within_margin,
)

EFFECT, EFFECT_ABSOLUTE = "experiment.effect_ratio/1", "experiment.effect/1"
INTERIM = "Not final: who looks early and stops on a good day finds effects that are not there."
GROUNDING = "L difference in differences on host means; HC3 or permutation"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the figures of one metric share."""

    window: Window
    method: str
    n_hosts: int
    n_intervals: int
    coverage: float
    grade: Grade
    warnings: tuple[str, ...]


def effect_figures(
    effect: Effect | None, baseline: float | None, unit: str, evidence: Evidence, why: str | None
) -> tuple[Figure, Figure]:
    """The effect relative to what would have been, and in the metric's own unit."""
    if effect is None or baseline is None:
        reason = why or "There is no data after the change yet."
        return (
            absent(EFFECT, "ratio", "not_enough_data", reason, window=evidence.window),
            absent(EFFECT_ABSOLUTE, unit, "not_enough_data", reason, window=evidence.window),
        )
    own = _figure(EFFECT_ABSOLUTE, unit, effect, 1.0, evidence)
    if baseline == 0:
        reason = "The canary hosts would have had zero, so that there is nothing to compare with."
        return absent(EFFECT, "ratio", "not_supported", reason, window=evidence.window), own
    return _figure(EFFECT, "ratio", effect, abs(baseline), evidence), own


def _figure(definition: str, unit: str, effect: Effect, divisor: float, evidence: Evidence) -> Figure:
    bounded = math.isfinite(effect.lo) and math.isfinite(effect.hi)
    missing = () if bounded else ("so few hosts rule nothing out: there is no interval",)
    return Figure(
        definition,
        "ok",
        effect.value / divisor,
        unit,
        method=evidence.method,
        window=evidence.window,
        interval=Interval(effect.lo / divisor, effect.hi / divisor, 0.95, "confidence") if bounded else None,
        n_hosts=evidence.n_hosts,
        n_intervals=evidence.n_intervals,
        coverage=evidence.coverage,
        grade=evidence.grade,
        grounding=GROUNDING,
        warnings=(*evidence.warnings, *missing),
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one metric, None until the end, and why."""

    verdict: Verdict | None
    why: str
    within: bool | None


def judge_metric(
    effect: Effect | None,
    baseline: float | None,
    margin_ratio: float,
    direction: Direction,
    *,
    refusal: str | None,
    p_adjusted: float | None,
    progress: float,
    ended: bool,
) -> Judged:
    """The verdict on a metric: refused, not final, or by its interval against the margin."""
    if effect is None or baseline is None:
        return Judged("inconclusive" if ended else None, refusal or "There is no data after the change yet.", None)
    if baseline == 0 and not effect.lo == effect.hi == 0:
        why = "The metric would have been zero without the change, so that a relative margin says nothing."
        return Judged("inconclusive" if ended else None, why, None)
    margin = max(margin_ratio * abs(baseline), 1e-300)
    within = within_margin(effect, margin)
    if not ended:
        return Judged(None, f"{_so_far(effect, baseline)} {INTERIM}{'' if refusal is None else ' ' + refusal}", within)
    if refusal is not None:
        return Judged("inconclusive", refusal, within)
    limit = early_significance(progress)
    verdict = judge(effect, margin, direction, p_value=p_adjusted, significance=limit)
    return Judged(verdict, _explain(verdict, effect, abs(baseline), margin, limit, within=within), within)


def _so_far(effect: Effect, baseline: float) -> str:
    share = "" if baseline == 0 else f" ({effect.value / abs(baseline):+.1%})"
    return f"So far {effect.value:+.4g}{share}."


def _explain(verdict: Verdict, effect: Effect, level: float, margin: float, limit: float, *, within: bool) -> str:
    lo, hi = (f"{end / level:+.1%}" if level and math.isfinite(end) else "unbounded" for end in (effect.lo, effect.hi))
    span = f"The 95 % interval of the effect runs from {lo} to {hi}"
    if verdict in ("improved", "worse"):
        return f"{span}: it leaves zero out."
    if verdict == "no_difference":
        if within:
            return f"{span}: no difference that matters, since it lies within the margin."
        rest = f"a gain above {margin / level:.1%} is not ruled out"
        return f"{span}: no harm that matters. No gain was detected, and {rest}."
    if effect.lo > 0 or effect.hi < 0:
        cause = "ended before its time" if limit < SIGNIFICANCE else "judged together with the other metrics"
        return f"{span}, which leaves zero out; {cause}, that is not evidence enough."
    both = effect.lo < -margin and effect.hi > margin
    possible = "a gain and a harm of the margin's size are both possible" if both else "a harm that matters is possible"
    return f"{span}: {possible}."


def describe_method(effect: Effect | None, hours: int | None, *, drawn: bool) -> tuple[str, ...]:
    """Notes on how the effect was had."""
    notes = []
    if hours is not None:
        notes.append(f"Both windows are compared over the same {hours} hours of the day (UTC).")
    else:
        notes.append("The windows share too few hours of the day: the controls alone stand for its course.")
    if effect is not None:
        how = "with the value before as a regressor" if effect.adjusted else "as the plain difference in differences"
        errors = "robust errors (HC3)" if effect.method == "ols_robust" else "a permutation of hosts over the arms"
        scale = ", as a factor (on logarithms)" if effect.logarithmic else ""
        notes.append(f"The effect is measured on one mean per host{scale}, {how}, with {errors}.")
    if not drawn:
        notes.append("The arms were named, not drawn at random: what else differs between them may be the cause.")
    return tuple(notes)


def unique(notes: Sequence[str]) -> tuple[str, ...]:
    """Each note once, in order."""
    return tuple(dict.fromkeys(notes))
