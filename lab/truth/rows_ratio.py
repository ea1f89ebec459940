"""The DRAM:CXL ratio that is advised, against what the twin loses with as many bytes of DRAM.

A ratio is one of the memory that the service needs, and an answer says how many bytes of DRAM that is on a host: the
twin is asked what hosts of that much DRAM lose.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from truth.fleets import ANSWERED, JudgedFleet
from truth.scoring import Goal, Observed

ABOVE = "ratio at 1, 2, 5 % loss: real loss above the stated upper bound"
BEYOND = "ratio: DRAM advised beyond the least that meets the target"
BEYOND_COUNTS = "ratio: the same, from sources that count accesses"
BEYOND_BITS = "ratio: the same, from accessed bits"
BEYOND_FAR = "ratio: DRAM advised beyond the least by 30 points at most"
NEEDED_ABOVE = "DRAM needed, sold or not: real loss above the target at its safe end"
NEEDED_BEYOND = "DRAM needed: its safe end beyond the least that meets the target"
NEEDED_COUNTS = "DRAM needed: the same, from sources that count accesses"
NEEDED_BITS = "DRAM needed: the same, from accessed bits"
NEEDED_FAR = "DRAM needed: its safe end beyond the least by 30 points at most"
NEEDED_HOLDS = "DRAM needed: intervals (90 %) that hold the least that meets the target"
NEEDED_WIDTH = "DRAM needed: width of intervals"
WIDE = "ratio: answers that span more than two sold ratios"
AFTER_DAY = "ratio: answered within a day"
AFTER_WEEK = "ratio: answered after 7 days"
GOALS = (
    Goal(ABOVE, "share", 0.05, at_most=True),
    Goal(BEYOND, "median", 0.15),
    Goal(BEYOND_COUNTS, "median", 0.08),
    Goal(BEYOND_BITS, "median", 0.15),
    Goal(BEYOND_FAR, "share", 0.90),
    Goal(NEEDED_ABOVE, "share", 0.05, at_most=True),
    Goal(NEEDED_BEYOND, "median", 0.15),
    Goal(NEEDED_COUNTS, "median", 0.08),
    Goal(NEEDED_BITS, "median", 0.15),
    Goal(NEEDED_FAR, "share", 0.90),
    Goal(NEEDED_HOLDS, "share", 0.90),
    Goal(NEEDED_WIDTH, "median"),
    Goal(WIDE, "share", 0.20, at_most=True),
    Goal(AFTER_WEEK, "share", 0.80),
    Goal(AFTER_DAY, "share", 0.50),
)
COUNTING = ("pebs", "ibs", "spe")
"""Sources whose accesses are counted; others tell active pages from idle ones."""
SOLD = (None, "8:1", "4:1", "2:1", "1:1", "1:2", "1:4")
"""Ratios from all DRAM on."""
FAR = 0.30
LEAST_JUDGED = 0.15
_STEP = 0.01
"""Of the shares that answers are given in."""
GIB = 2.0**30
_WEEK_H = 168
_ALL_DRAM = 1.0


def observe(fleet: JudgedFleet) -> Observed:
    seen: Observed = {goal.row: [] for goal in GOALS}
    answered_row = AFTER_WEEK if fleet.plan.hours >= _WEEK_H else AFTER_DAY
    for service, answers in fleet.answers["services"].items():
        curve, host_bytes = loss_curve(fleet, service), _host_bytes(fleet, service)
        for target, ratio in answers["ratio"].items():
            is_answered = ratio["answer"] in (*ANSWERED, "all_dram")
            seen[answered_row].append(float(is_answered))
            if is_answered and curve is not None:
                _note(seen, ratio, float(target), curve, host_bytes)
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


def _host_bytes(fleet: JudgedFleet, service: str) -> float:
    """Memory of a host of the service, all nodes together; the mean of its hosts."""
    sizes = [host["dram_gib"] + host["slow_gib"] for host in fleet.truth["hosts"] if service in host["services"]]
    return float(sum(sizes)) / len(sizes) * GIB


def _note(
    seen: Observed,
    ratio: Mapping[str, Any],
    target: float,
    curve: tuple[list[float], list[float]],
    host_bytes: float,
) -> None:
    shares, losses = curve
    chosen, spread = ratio.get("chosen"), ratio.get("range")
    upper: float | None = None if chosen is None else chosen["loss_upper"]["value"]
    if ratio["answer"] == "range" and spread is not None:
        # Its safe end is said to keep the target.
        chosen = next((one for one in ratio["candidates"] if one["name"] == spread["safe"]), None)
        upper = target
        ends = (SOLD.index(spread[end]) for end in ("safe", "plausible"))
        seen[WIDE].append(float(abs(next(ends) - next(ends)) > 1))
    else:
        seen[WIDE].append(0.0)
    dram_bytes = None if chosen is None else chosen["dram_bytes"]
    advised = _ALL_DRAM if dram_bytes is None else min(dram_bytes / host_bytes, _ALL_DRAM)
    if upper is not None:
        seen[ABOVE].append(float(np.interp(advised, shares, losses) > upper))
    # Losses are made monotone: less DRAM never does better.
    worst = np.maximum.accumulate(np.array(losses)[::-1])[::-1]
    fine = np.linspace(shares[0], _ALL_DRAM, 1001)
    least = float(fine[np.interp(fine, shares, worst) <= target][0])
    counted = ratio["candidates"][0]["share_on_slow"]["method"] in COUNTING
    seen[BEYOND].append(advised - least)
    seen[BEYOND_COUNTS if counted else BEYOND_BITS].append(advised - least)
    seen[BEYOND_FAR].append(float(advised - least <= FAR))
    if (needed := _needed(ratio, host_bytes)) is not None:
        low, safe = needed
        seen[NEEDED_ABOVE].append(float(np.interp(safe, shares, losses) > target))
        seen[NEEDED_BEYOND].append(safe - least)
        seen[NEEDED_COUNTS if counted else NEEDED_BITS].append(safe - least)
        seen[NEEDED_FAR].append(float(safe - least <= FAR))
        seen[NEEDED_HOLDS].append(float(low - _STEP <= least <= safe + _STEP))
        seen[NEEDED_WIDTH].append(safe - low)


def _needed(ratio: Mapping[str, Any], host_bytes: float) -> tuple[float, float] | None:
    """Both ends of the DRAM that is needed, of a host's memory; None where the service's memory is not known."""
    largest, ends = ratio["candidates"][0], ratio["dram_needed"]["interval"]
    if largest["dram_bytes"] is None:
        return None
    memory = largest["dram_bytes"] / largest["dram_ratio"] / host_bytes
    # All DRAM is all that a host has.
    low, safe = (_ALL_DRAM if ends[end] == _ALL_DRAM else min(ends[end] * memory, _ALL_DRAM) for end in ("lo", "hi"))
    # Below the least that is judged the answer says nothing.
    return 0.0 if ends["lo"] <= LEAST_JUDGED else low, safe
