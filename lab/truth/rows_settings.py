"""What advised settings do: each host again with the first change that is advised for it."""

from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed

HELPS = "settings advice: capacity no more than 0.2 % below that without it"
HARMS = "settings advice: costs more than 1 %"
GAIN = "settings advice: gain in capacity"
GOALS = (Goal(HELPS, "share", 0.95), Goal(HARMS, "share", 0.0, at_most=True), Goal(GAIN, "told"))
NEUTRAL = -0.002
COST = -0.01


def observe(fleet: JudgedFleet) -> Observed:
    """Each service on a host with advice."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    for effect in fleet.advised:
        change = float(effect["capacity_change_ratio"])
        seen[HELPS].append(float(change >= NEUTRAL))
        seen[HARMS].append(float(change < COST))
        seen[GAIN].append(change)
    return seen
