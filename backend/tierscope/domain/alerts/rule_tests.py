"""Tests of rules in files: given series minute by minute, expected states at times. docs/howto/alerts.md shows one.

A series is words between spaces: a value, `_` for a minute without one, `5x10` for ten minutes of 5, `0+3x4` for 0, 3,
6, 9. Flows are amounts per minute; series of words take their names. Minute 1 is the first one.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tierscope.domain.alerts.catalogue import find_catalogue
from tierscope.domain.alerts.evaluating import evaluate
from tierscope.domain.alerts.frame import MINUTE_S, Floats, Frame
from tierscope.domain.alerts.machine import LEVEL_NAMES, Levels, follow, start_states
from tierscope.domain.alerts.problems import RuleError, RuleProblem
from tierscope.domain.alerts.rules import CheckedRule, Rule, require_rule
from tierscope.domain.alerts.spans import levels_of
from tierscope.domain.alerts.units import parse_literal, parse_seconds
from tierscope.domain.alerts.vocabulary import AGE, Series, all_series

MAX_MINUTES = 20_000
_WORD = re.compile(r"^(?P<first>[^x+]+)(?:\+(?P<step>-?[0-9.]+))?(?:x(?P<times>[0-9]+))?$")
_STATES = ("ok", "pending", "firing", "no_data")


@dataclass(frozen=True, slots=True)
class Expected:
    """A state that a rule must be in for a subject at the end of a minute."""

    rule: str
    subject: str
    minute: int
    state: str


@dataclass(frozen=True, slots=True)
class RuleTest:
    """One test. `series`: by subject and name, values per minute, NaN where missing."""

    name: str
    series: Mapping[str, Mapping[str, Floats]]
    expected: tuple[Expected, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """An expectation that does not hold."""

    test: str
    expected: Expected
    found: str


def read_tests(entries: Any) -> list[RuleTest]:  # noqa: ANN401 - as YAML gave it
    """The tests of a file.

    Raises:
        RuleError: one cannot be read; names it.
    """
    if not isinstance(entries, list) or not entries:
        raise RuleError(RuleProblem("tests", "There is no list of tests.", "Write `tests:` and below it entries."))
    return [_read_test(entry, f"tests[{place}]") for place, entry in enumerate(entries)]


def run_test(test: RuleTest, rules: Sequence[Rule]) -> list[Failure]:
    """What does not hold.

    Raises:
        RuleError: a rule is not there or cannot be used.
    """
    by_name = {rule.name: rule for rule in rules}
    subjects = sorted(test.series)
    found: dict[str, Levels] = {}
    failures = []
    for expected in test.expected:
        if expected.rule not in by_name:
            message = f"There is no rule `{expected.rule}`."
            raise RuleError(RuleProblem(f"{test.name}.expect", message, f"Rules are {', '.join(sorted(by_name))}."))
        if expected.subject not in subjects:
            message = f"There is no subject `{expected.subject}`."
            raise RuleError(RuleProblem(f"{test.name}.expect", message, f"Subjects are {', '.join(subjects)}."))
        if expected.rule not in found:
            found[expected.rule] = judge(require_rule(by_name[expected.rule]), test.series)
        levels = found[expected.rule][subjects.index(expected.subject)]
        if expected.minute > len(levels):
            message = f"The series end after {len(levels)} minutes."
            raise RuleError(RuleProblem(f"{test.name}.expect", message, "Make them longer, or expect it earlier."))
        state = LEVEL_NAMES[int(levels[expected.minute - 1])]
        if state != expected.state:
            failures.append(Failure(test.name, expected, state))
    return failures


def judge(checked: CheckedRule, series: Mapping[str, Mapping[str, Floats]]) -> Levels:
    """The level of each subject, in order of name, after each minute."""
    frame = _frame(series, [name for name in checked.inputs if name != AGE], checked.lookback)
    count = len(frame.minutes) - checked.lookback
    holds = evaluate(checked.condition, frame)[:, -count:]
    recovers = None if checked.recovery is None else evaluate(checked.recovery, frame)[:, -count:]
    _, changes = follow(start_states(len(series)), holds, recovers, checked.timing)
    return levels_of(changes, len(series), count)


def _frame(series: Mapping[str, Mapping[str, Floats]], names: Sequence[str], lookback: int) -> Frame:
    subjects = sorted(series)
    count = max((len(values) for found in series.values() for values in found.values()), default=0)
    shape = (len(subjects), lookback + count)
    values = {name: np.full(shape, np.nan) for name in names}
    seconds = np.full(shape, np.nan)
    for row, subject in enumerate(subjects):
        for name, found in series[subject].items():
            span = slice(lookback, lookback + len(found))
            seconds[row, span] = np.where(np.isnan(found), seconds[row, span], float(MINUTE_S))
            if name in values:
                values[name][row, span] = found
    minutes = np.arange(1 - lookback, count + 1, dtype=np.int64)
    return Frame(np.arange(len(subjects)), minutes, values, seconds, np.ones(len(subjects), np.int64))


def _read_test(entry: Any, place: str) -> RuleTest:  # noqa: ANN401
    if not isinstance(entry, dict) or not isinstance(entry.get("series"), dict):
        step = "Write `series:` with subjects, and below each its series."
        raise RuleError(RuleProblem(place, "A test has no series.", step))
    name = str(entry.get("name", place))
    series = {
        str(subject): {str(key): _read_series(str(key), text, f"{name}.{key}") for key, text in found.items()}
        for subject, found in entry["series"].items()
        if isinstance(found, dict)
    }
    listed = entry.get("expect")
    if not isinstance(listed, list) or not listed:
        raise RuleError(RuleProblem(f"{name}.expect", "Nothing is expected.", "Write rule, at and state."))
    return RuleTest(name, series, tuple(_read_expected(item, name, sorted(series)) for item in listed))


def _read_expected(item: Any, test: str, subjects: Sequence[str]) -> Expected:  # noqa: ANN401
    at = f"{test}.expect"
    if not isinstance(item, dict) or not {"rule", "at", "state"} <= set(item):
        raise RuleError(RuleProblem(at, "An expectation needs rule, at and state.", "Write them."))
    if item["state"] not in _STATES:
        message = f"`{item['state']}` is no state."
        raise RuleError(RuleProblem(at, message, f"Write one of {', '.join(_STATES)}."))
    try:
        seconds = parse_seconds(str(item["at"]))
    except ValueError as error:
        raise RuleError(RuleProblem(at, f"{error}.", "Write one such as 10m.")) from error
    if seconds % MINUTE_S or seconds <= 0:
        raise RuleError(RuleProblem(at, f"`{item['at']}` is not a whole minute.", "Write one such as 10m."))
    subject = str(item.get("subject", subjects[0] if subjects else ""))
    return Expected(str(item["rule"]), subject, int(seconds // MINUTE_S), str(item["state"]))


def _read_series(key: str, text: object, at: str) -> Floats:
    if not isinstance(text, str):
        # YAML reads 0x60 as the number 96.
        raise RuleError(RuleProblem(at, "The series is not a text.", 'Put it in quotes, such as "0x60".'))
    series = all_series().get(key) or find_catalogue(key.partition("{")[0], ())
    if series is None or series.kind in ("derived", "age"):
        step = "Give the series that it is made of; GET /v1/rules/vocabulary lists them."
        raise RuleError(RuleProblem(at, f"`{key}` is not a stored series.", step))
    values: list[float] = []
    for word in text.split():
        values += _read_word(word, series, at)
        if len(values) > MAX_MINUTES:
            raise RuleError(RuleProblem(at, f"There are more than {MAX_MINUTES} minutes.", "Make it shorter."))
    return np.array(values)


def _read_word(word: str, series: Series, at: str) -> list[float]:
    if word in series.words:
        return [float(series.words.index(word))]
    found = _WORD.match(word)
    times = min(int(found["times"] or 1), MAX_MINUTES + 1) if found else 0
    if found is not None and found["first"] == "_":
        return [math.nan] * times
    if found is not None and found["first"] in series.words:
        return [float(series.words.index(found["first"]))] * times
    known = f", or one of {', '.join(series.words)}" if series.words else ""
    step = f"Write 5, 5x10, 0+3x4 or _{known}."
    if found is None:
        raise RuleError(RuleProblem(at, f"`{word}` is not understood.", step))
    try:
        first, rise = parse_literal(found["first"]).value, float(found["step"] or 0)
    except ValueError as error:
        raise RuleError(RuleProblem(at, f"{error}.", step)) from error
    return [first + rise * place for place in range(times)]
