"""When a condition began to hold, when its alert opened and when it fired, and why these are three moments.

Minutes are named by their ends, in minutes since the Unix epoch.
"""

from dataclasses import dataclass

import numpy as np

from tierscope.domain.alerts.evaluating import FALSE, TRUE, UNKNOWN, Truth
from tierscope.domain.alerts.frame import MINUTE_S, Floats, Ints
from tierscope.domain.alerts.rules import STATES, CheckedRule

SLOW_SENDING_S = 90.0
"""Intervals from which on most minutes are not evaluated by themselves."""
_RULE_STARTS = 5
"""Most minutes by which a new rule's first minute lies before the rule itself: minutes are evaluated late."""
_ON_TIME = 1
"""Minutes between the first that held and the one that opened the alert that need no explanation."""


@dataclass(frozen=True, slots=True)
class Onset:
    """What the minutes around an alert's beginning say; None where the moment was not reached, or is not known.

    `held_from` is the first minute of the unbroken stretch in which the condition held, `opened` the minute that opened
    the alert, `fired` the one that fired it. `held`, `clear` and `silent` count the minutes after `opened` up to
    `fired`, or up to the newest, in which the condition held, did not hold, and could not be evaluated.
    `interval_s`: how often the subject sends. `longer`: the condition already held in the first minute that was read.
    """

    held_from: int | None
    opened: int
    fired: int | None
    held: int
    clear: int
    silent: int
    interval_s: float | None
    longer: bool = False


def find_onset(truth: Truth, minutes: Ints, seconds: Floats, opened: int, fired: int | None) -> Onset:
    """Read an onset from what a condition says of each minute [minutes]; `seconds` [minutes] are lengths of intervals.

    Minutes that could not be evaluated do not break the stretch in which the condition held.
    """
    after = truth[(minutes > opened) & (minutes <= (minutes[-1] if fired is None else fired))]
    known = seconds[np.isfinite(seconds)]
    held_from = _held_from(truth, minutes, opened)
    return Onset(
        held_from=held_from,
        opened=opened,
        fired=fired,
        held=int((after == TRUE).sum()),
        clear=int((after == FALSE).sum()),
        silent=int((after == UNKNOWN).sum()),
        interval_s=float(np.median(known)) if len(known) else None,
        longer=held_from is not None and held_from == int(minutes[0]),
    )


def _held_from(truth: Truth, minutes: Ints, opened: int) -> int | None:
    before = np.flatnonzero(minutes <= opened)
    if not len(before) or truth[before[-1]] != TRUE:
        return None
    broken = np.flatnonzero(truth[before] == FALSE)
    first = int(broken[-1]) + 1 if len(broken) else 0
    held = first + np.flatnonzero(truth[first : len(before)] == TRUE)
    return int(minutes[held[0]])


def explain_onset(onset: Onset, checked: CheckedRule, *, rule_since: int, arrival_s: float) -> tuple[str, ...]:
    """Why the alert did not open and fire when the condition began to hold, in sentences.

    `rule_since`: the minute from which the rule says what it says now; `arrival_s`: how long after its end a minute is
    evaluated.
    """
    found = [*_before_opening(onset, rule_since), *_before_firing(onset, checked)]
    if onset.interval_s is not None and onset.interval_s > SLOW_SENDING_S:
        every = _amount(round(onset.interval_s / MINUTE_S))
        found.append(f"Data comes every {every}: only the minute in which an interval ends is evaluated and counts.")
    if checked.condition.lookback:
        found.append(
            f"The condition looks at {checked.condition.lookback + 1} min at a time, so it lags behind changes."
        )
    if checked.condition.inputs & STATES:
        found.append(
            "The rule uses the state that was known in each minute; states on charts are judged over the whole window,"
            " and can begin earlier."
        )
    found.append(f"A minute is evaluated {_amount(round(arrival_s / MINUTE_S))} after its end, with what has arrived.")
    return tuple(found)


def _before_opening(onset: Onset, rule_since: int) -> list[str]:
    if onset.held_from is None or onset.opened - onset.held_from <= _ON_TIME:
        return []
    early = f"{'at least ' if onset.longer else ''}{_amount(onset.opened - onset.held_from)}"
    if onset.held_from < rule_since <= onset.opened + _RULE_STARTS:
        return [f"The condition had held for {early} when the rule was added, enabled or changed: it starts there."]
    why = "those minutes were not evaluated then, because their data came late or evaluation had not started"
    return [f"The condition held for {early} before the alert opened: {why}."]


def _before_firing(onset: Onset, checked: CheckedRule) -> list[str]:
    needs = _needs(checked)
    if onset.fired is None:
        return [f"{needs} It has not fired."]
    if onset.fired == onset.opened:
        return [f"{needs} The first minute that was evaluated fired."]
    parts = [f"held in {onset.held} min"]
    if onset.clear:
        parts.append(f"did not hold in {onset.clear}")
    if onset.silent:
        parts.append(f"could not be evaluated in {onset.silent}")
    waited = _amount(onset.fired - onset.opened)
    told = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return [f"{needs} In the {waited} from pending to firing it {told}."]


def _needs(checked: CheckedRule) -> str:
    timing = checked.timing
    if timing.m > 1:
        why = ""
        if checked.rule.m == 1:
            why = f" (two thirds of its `for` of {_amount(timing.m)}, because states come and go)"
        return f"The rule fires once the condition held in {timing.n} of the newest {timing.m} evaluated minutes{why}."
    if timing.for_minutes > 1:
        return f"The rule fires once the condition held in {timing.for_minutes} evaluated minutes in a row (its `for`)."
    return "The rule fires with the first minute in which the condition holds."


def _amount(minutes: int) -> str:
    if minutes < MINUTE_S:
        return f"{minutes} min"
    hours, rest = divmod(minutes, MINUTE_S)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
