"""Ping-pong of hosts by the hour, and alerts on what hosts do."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from truth.asking import BACKTESTED, HOUR_S, WINDOW_S
from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed, holds, interval_of

HELD = "ping-pong share by host and hour: intervals that hold the truth"
INFORMED = "ping-pong share: width of intervals (100 points say nothing)"
PRECISION = "alerts: precision"
RECALL = "alerts: recall"
IN_TIME = "alerts: fired within `for` + sending interval + 2 min, of those caught"
GOALS = (
    Goal(HELD, "share", 0.93),
    Goal(INFORMED, "told"),
    Goal(PRECISION, "share", 0.95),
    Goal(RECALL, "share", 0.95),
    Goal(IN_TIME, "share", 0.95),
)
SENDING_S = 60
SLACK_S = 120
LONG_S = 1800
"""An episode that lasts so long beyond the rule's `for` has to be caught."""


def observe(fleet: JudgedFleet) -> Observed:
    """Ping-pong and alerts."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    for host, answers in fleet.answers["hosts"].items():
        for answer in answers["hours"]:
            _note_hour(seen, answer, fleet.windows(host))
    for rule, answer in fleet.answers.get("alerts", {}).items():
        for host in fleet.answers["hosts"]:
            _note_alerts(seen, answer, answer["spans"].get(host, []), _when(fleet, host, BACKTESTED[rule]))
    return seen


def _note_hour(seen: Observed, answer: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    within = [row["moved_bytes"] for row in rows if 0 <= answer["end_s"] - row["end_unix_s"] < HOUR_S]
    promoted = sum(moved["promoted"] for moved in within)
    interval = interval_of(answer["ratio"])
    if interval is None or promoted == 0:
        return
    seen[HELD].append(holds(interval, sum(moved["returned"] for moved in within) / promoted))
    seen[INFORMED].append(interval[1] - interval[0])


def _when(fleet: JudgedFleet, host: str, states: Sequence[str]) -> list[tuple[float, float]]:
    """Episodes of states of any service on a host: begin and end, seconds since the epoch."""
    ends = sorted({row["end_unix_s"] for row in fleet.windows(host) if row["state"] in states})
    episodes: list[tuple[float, float]] = []
    for end_s in ends:
        if episodes and end_s - episodes[-1][1] <= WINDOW_S:
            episodes[-1] = (episodes[-1][0], end_s)
        else:
            episodes.append((end_s - WINDOW_S, end_s))
    return episodes


def _note_alerts(
    seen: Observed,
    answer: Mapping[str, Any],
    spans: Sequence[Mapping[str, Any]],
    episodes: Sequence[tuple[float, float]],
) -> None:
    """An alert is right if the state held at some time between its `for` before it began and its end."""
    fired = [_span(span) for span in spans if span["state"] == "firing"]
    for_s = answer["for_s"]
    for begin_s, end_s in fired:
        right = any(first < end_s and begin_s - for_s - WINDOW_S < last for first, last in episodes)
        seen[PRECISION].append(float(right))
    for first, last in episodes:
        if last - first < for_s + LONG_S:
            continue
        caught = [max(begin_s - first, 0.0) for begin_s, end_s in fired if begin_s < last + SLACK_S and end_s > first]
        seen[RECALL].append(float(bool(caught)))
        if caught:
            seen[IN_TIME].append(float(min(caught) <= for_s + SENDING_S + SLACK_S))


def _span(span: Mapping[str, Any]) -> tuple[float, float]:
    def moment(name: str, otherwise: float) -> float:
        text = span.get(name)
        return otherwise if text is None else datetime.fromisoformat(text).timestamp()

    return moment("from", 0.0), moment("to", float("inf"))
