"""Ping-pong of hosts by the hour, and alerts on what hosts do."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tierscope.usecases.alerts.rules import shipped_rules
from truth.asking import BACKTESTED, CALLING, HOUR_S, SILENT, WINDOW_S
from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed, holds, interval_of

HELD = "ping-pong share by host and hour: intervals that hold the truth"
INFORMED = "ping-pong share: width of intervals (100 points say nothing)"
PRECISION = "alerts: precision"
RECALL = "alerts: recall"
IN_TIME = "alerts: fired within `for` + sending interval + 2 min, of those caught"
RIGHT = "alerts of {}: right"
GOALS = (
    Goal(HELD, "share", 0.93),
    Goal(INFORMED, "told"),
    Goal(PRECISION, "share", 0.95),
    Goal(RECALL, "share", 0.95),
    Goal(IN_TIME, "share", 0.95),
    *(Goal(RIGHT.format(rule.name), "share", 0.95) for rule in shipped_rules()),
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
        for subject, spans in answer["spans"].items():
            where = _windows_of(fleet, answer.get("kind", "host"), subject)
            episodes = _when(where, BACKTESTED.get(rule, CALLING))
            if rule in BACKTESTED:
                _note_alerts(seen, answer, spans, episodes)
            if rule in SILENT:
                episodes = _incidents(fleet, SILENT[rule], subject)
            seen[RIGHT.format(rule)] += _held(fleet, answer, spans, episodes)
    return seen


def _incidents(fleet: JudgedFleet, kind: str, host: str) -> list[tuple[float, float]]:
    """When incidents of a kind happened to a host."""
    found = [one for one in fleet.truth["incidents"] if one["change"]["kind"] == kind and host in one["hosts"]]
    return [(one["begin_unix_s"], one["end_unix_s"]) for one in found]


def _held(
    fleet: JudgedFleet,
    answer: Mapping[str, Any],
    spans: Sequence[Mapping[str, Any]],
    episodes: Sequence[tuple[float, float]],
) -> list[float]:
    """Of each alert whether what it is about held for most of the time in which it fired.

    A state is told by ten minutes, and an alert is kept for as long as its rule says.
    """
    found = []
    lasts_s = WINDOW_S + answer.get("keep_s", 0)
    for begin_s, end_s in (_span(span) for span in spans if span["state"] == "firing"):
        stops_s = min(end_s, fleet.answers["end_s"])
        held_s = sum(max(min(stops_s, last + lasts_s) - max(begin_s, first), 0.0) for first, last in episodes)
        found.append(float(held_s >= 0.5 * (stops_s - begin_s)))
    return found


def _windows_of(fleet: JudgedFleet, kind: str, subject: str) -> list[dict[str, Any]]:
    """Windows of a host, or of a service (`namespace/name`) on all of its hosts."""
    if kind == "host":
        return fleet.windows(subject)
    service = subject.rpartition("/")[2]
    return [row for host in fleet.truth["hosts"] for row in fleet.windows(host["host"], service)]


def _note_hour(seen: Observed, answer: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    within = [row["moved_bytes"] for row in rows if 0 <= answer["end_s"] - row["end_unix_s"] < HOUR_S]
    promoted = sum(moved["promoted"] for moved in within)
    interval = interval_of(answer["ratio"])
    if interval is None or promoted == 0:
        return
    seen[HELD].append(holds(interval, sum(moved["returned"] for moved in within) / promoted))
    seen[INFORMED].append(interval[1] - interval[0])


def _when(windows: Sequence[Mapping[str, Any]], states: Sequence[str]) -> list[tuple[float, float]]:
    """Episodes of states of any service: begin and end, seconds since the epoch."""
    ends = sorted({row["end_unix_s"] for row in windows if row["state"] in states})
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
