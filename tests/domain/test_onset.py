"""Onsets of alerts: since when a condition held without a break, and the sentences on why it fired when it did."""

import numpy as np
import pytest

from tierscope.domain.alerts.onset import Onset, explain_onset, find_onset
from tierscope.domain.alerts.rules import CheckedRule, Rule, check_rule

TRUTH = {"-": 0, "#": 1, "?": 2}
FIRST = 1000


def onset(minutes: str, *, opened: int, fired: int | None, every: int = 1) -> Onset:
    """Of minutes drawn as `#` held, `-` did not, `?` not known; places count from 0."""
    truth = np.array([TRUTH[sign] for sign in minutes], np.int8)
    seconds = np.where(truth == TRUTH["?"], np.nan, 60.0 * every)
    found = FIRST + np.arange(len(minutes), dtype=np.int64)
    return find_onset(truth, found, seconds, FIRST + opened, None if fired is None else FIRST + fired)


def checked(**changes: object) -> CheckedRule:
    rule = Rule(**({"name": "r", "expression": "promoted_pages > 1/s"} | changes))  # type: ignore[arg-type]
    found, problems = check_rule(rule)
    assert found is not None, problems
    return found


def told(found: Onset, rule: CheckedRule, *, rule_since: int = 0) -> str:
    return " ".join(explain_onset(found, rule, rule_since=rule_since, arrival_s=120.0))


@pytest.mark.parametrize(
    ("minutes", "opened", "held_from"),
    [
        ("---###", 3, 3),
        ("-####-", 4, 1),
        ("-#??#-", 4, 1),
        ("-??##-", 3, 3),
        ("-##-#-", 4, 4),
        ("####--", 2, 0),
        ("------", 3, None),
    ],
)
def test_the_condition_held_since_its_last_break(minutes: str, opened: int, held_from: int | None) -> None:
    found = onset(minutes, opened=opened, fired=None)
    assert found.held_from == (None if held_from is None else FIRST + held_from)
    assert found.longer is (held_from == 0), "it may have held before the first minute that was read"


def test_minutes_from_pending_to_firing_are_counted_by_what_they_said() -> None:
    found = onset("--#-?##?#-", opened=2, fired=8)
    assert (found.held, found.clear, found.silent) == (3, 1, 2)
    text = told(found, checked(for_seconds=180))
    assert "3 evaluated minutes in a row (its `for`)" in text
    assert (
        "In the 6 min from pending to firing it held in 3 min, did not hold in 1 and could not be evaluated in 2."
        in text
    )


def test_a_rule_without_for_fires_at_once() -> None:
    text = told(onset("--#-", opened=2, fired=2), checked())
    assert "fires with the first minute" in text
    assert "The first minute that was evaluated fired." in text


def test_states_that_come_and_go_and_n_of_m_are_said() -> None:
    state = checked(expression="ping_pong_state >= crit", for_seconds=600)
    text = told(onset("-##", opened=1, fired=None), state)
    assert "held in 7 of the newest 10 evaluated minutes (two thirds of its `for` of 10 min" in text
    assert "It has not fired." in text
    assert "states on charts are judged over the whole window" in text
    assert "held in 3 of the newest 5 evaluated minutes." in told(onset("-##", opened=1, fired=2), checked(n=3, m=5))


def test_windows_and_rare_data_are_said() -> None:
    averaged = checked(expression="avg_over(promoted_pages, 10m) > 1/s")
    assert "looks at 10 min at a time" in told(onset("-##", opened=1, fired=2), averaged)
    assert "looks at" not in told(onset("-##", opened=1, fired=2), checked())
    assert "Data comes every 5 min" in told(onset("-#????#", opened=1, fired=6, every=5), checked())


@pytest.mark.parametrize(
    ("rule_since", "why"),
    [
        (FIRST + 90, "when the rule was added"),
        (FIRST + 93, "when the rule was added"),
        (FIRST + 200, "evaluation had not started"),
        (0, "evaluation had not started"),
    ],
)
def test_why_an_alert_opened_late(rule_since: int, why: str) -> None:
    found = onset("-" + "#" * 100, opened=91, fired=None)
    text = told(found, checked(), rule_since=rule_since)
    assert why in text
    assert "held for 1 h 30 min" in text
