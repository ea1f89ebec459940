"""What experiments say of a change, against the same hosts without it; and of changes that were none."""

from collections.abc import Mapping, Sequence
from typing import Any

from truth.experiments import NOTHING
from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed, holds, interval_of

HELD = "experiments: effect on p50, p99, throughput in its 95 % interval"
WIDTH = "experiments: width of intervals"
BY_HOST, BY_RACK = (f"experiments, {what}: an effect is said" for what in NOTHING)
GOALS = (
    Goal(HELD, "share", 0.93),
    Goal(WIDTH, "told"),
    Goal(BY_HOST, "share", 0.05, at_most=True),
    Goal(BY_RACK, "share", 0.05, at_most=True),
)
CHANGES = {
    "latency_p50_ns": "p50_change_ratio",
    "latency_p99_ns": "p99_change_ratio",
    "throughput_per_s": "throughput_change_ratio",
}
"""Metrics of the product, and what the twin's effect calls them."""


def observe(fleet: JudgedFleet) -> Observed:
    seen: Observed = {goal.row: [] for goal in GOALS}
    for experiment in fleet.answers.get("experiments", ()):
        for metric in experiment["metrics"]:
            if experiment["what"] in NOTHING:
                row = BY_HOST if experiment["what"] == NOTHING[0] else BY_RACK
                seen[row].append(float(metric["verdict"] in ("improved", "worse")))
                continue
            truth = _effect(fleet.effects, experiment["what"], CHANGES[metric["metric"]])
            interval = interval_of(metric["effect"])
            if truth is not None and interval is not None:
                seen[HELD].append(holds(interval, truth))
                seen[WIDTH].append(interval[1] - interval[0])
    return seen


def _effect(effects: Sequence[Mapping[str, Any]], incident: str, name: str) -> float | None:
    """The mean over the hosts that were changed."""
    found = [float(effect[name]) for effect in effects if effect["incident"] == incident]
    return sum(found) / len(found) if found else None
