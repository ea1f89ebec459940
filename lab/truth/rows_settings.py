"""What advised settings do: each host again with its first card, with each pair of its cards, and with all of them."""

from typing import Any

from truth.advised import FIRST, followed
from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed, holds, interval_of

HELPS = "settings advice: capacity no more than 0.2 % below that without it"
HARMS = "settings advice: costs more than 1 %"
HARMS_TAIL = "settings advice: costs more than 5 % of the 99th percentile"
GAINS = "settings advice: gains 0.2 % or more of capacity"
GAIN = "settings advice: gain in capacity"
HOLDS = "settings advice: the stated effect holds the true one"
TOGETHER_HARMS = "settings advice, pairs of cards and all of them: costs more than 1 %, or 5 % of the 99th percentile"
TOGETHER_GAIN = "settings advice, pairs of cards and all of them: gain in capacity"
GOALS = (
    Goal(HELPS, "share", 0.95),
    Goal(HARMS, "share", 0.0, at_most=True),
    Goal(HARMS_TAIL, "share", 0.0, at_most=True),
    Goal(GAINS, "share", 2 / 3),
    Goal(GAIN, "told"),
    Goal(HOLDS, "share", 0.90),
    Goal(TOGETHER_HARMS, "share", 0.0, at_most=True),
    Goal(TOGETHER_GAIN, "told"),
)
NEUTRAL = 0.002
COST, TAIL_COST = -0.01, 0.05
_TRUE = {
    "knobs.effect.share_of_hot_memory_served_from_DRAM/1": "hot_in_dram",
    "knobs.effect.promotion/1": "promoted_bytes_per_s",
}
"""Effects that are stated as numbers, and what the twin says of them."""


def observe(fleet: JudgedFleet) -> Observed:
    """Each service on a host with advice."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    for effect in fleet.advised:
        change, tail = float(effect["capacity_change_ratio"]), float(effect["p99_change_ratio"])
        if effect["plan"] != FIRST:
            seen[TOGETHER_HARMS].append(float(change < COST or tail > TAIL_COST))
            seen[TOGETHER_GAIN].append(change)
            continue
        seen[HELPS].append(float(change >= -NEUTRAL))
        seen[HARMS].append(float(change < COST))
        seen[HARMS_TAIL].append(float(tail > TAIL_COST))
        seen[GAINS].append(float(change >= NEUTRAL))
        seen[GAIN].append(change)
        seen[HOLDS] += _holds(fleet.answers["hosts"][effect["host"]]["advice"], effect)
    return seen


def _holds(advice: list[dict[str, Any]], effect: dict[str, Any]) -> list[float]:
    """Whether the number that the first card states holds what the twin did; empty where it states none."""
    figure = followed(advice)[0]["effect_figure"]
    true = None if figure is None else effect.get(_TRUE.get(figure["definition"], ""))
    interval = None if figure is None else interval_of(figure)
    return [] if true is None or interval is None else [holds(interval, true)]
