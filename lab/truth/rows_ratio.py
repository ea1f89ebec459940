"""The DRAM:CXL ratio that is advised, against what the twin loses at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truth.fleets import ANSWERED, JudgedFleet
from truth.scoring import Goal, Observed

ABOVE = "ratio at 1, 2, 5 % loss: real loss above the stated upper bound"
BEYOND = "ratio: DRAM advised beyond the least that meets the target"
AFTER_DAY = "ratio: answered within a day"
AFTER_WEEK = "ratio: answered after 7 days"
GOALS = (
    Goal(ABOVE, "share", 0.05, at_most=True),
    Goal(BEYOND, "median", 0.15),
    Goal(AFTER_WEEK, "share", 0.80),
    Goal(AFTER_DAY, "share", 0.50),
)
_WEEK_H = 168
_ALL_DRAM = 1.0


def observe(fleet: JudgedFleet) -> Observed:
    """Each service at each target."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    answered_row = AFTER_WEEK if fleet.plan.hours >= _WEEK_H else AFTER_DAY
    for service, answers in fleet.answers["services"].items():
        curve = loss_curve(fleet, service)
        for target, ratio in answers["ratio"].items():
            is_answered = ratio["answer"] in (*ANSWERED, "all_dram")
            seen[answered_row].append(float(is_answered))
            if is_answered and curve is not None:
                _note(seen, ratio, float(target), curve)
    return seen


def loss_curve(fleet: JudgedFleet, service: str) -> tuple[list[float], list[float]] | None:
    """Shares of DRAM, ascending, and the mean loss over the service's hosts at each; with all DRAM none."""
    losses: dict[float, list[float]] = {}
    for point in fleet.losses:
        if point["service"] == service:
            losses.setdefault(point["dram_share"], []).append(point["loss_ratio"])
    if not losses:
        return None
    shares = sorted(losses)
    return [*shares, _ALL_DRAM], [*(sum(losses[share]) / len(losses[share]) for share in shares), 0.0]


def _note(seen: Observed, ratio: Mapping[str, Any], target: float, curve: tuple[list[float], list[float]]) -> None:
    shares, losses = curve
    chosen, spread = ratio.get("chosen"), ratio.get("range")
    advised: float = _ALL_DRAM if chosen is None else chosen["dram_ratio"]
    upper: float | None = None if chosen is None else chosen["loss_upper"]["value"]
    if ratio["answer"] == "range" and spread is not None:
        # Its safe end is said to keep the target.
        advised, upper = spread["safe_dram_ratio"], target
    if upper is not None:
        seen[ABOVE].append(float(np.interp(advised, shares, losses) > upper))
    # Losses are made monotone: less DRAM never does better.
    worst = np.maximum.accumulate(np.array(losses)[::-1])[::-1]
    fine = np.linspace(shares[0], _ALL_DRAM, 1001)
    meets = fine[np.interp(fine, shares, worst) <= target]
    seen[BEYOND].append(advised - float(meets[0]))
