"""What memory tiers would save, against accounts with what the twin really loses."""

import numpy as np

from truth.accounts import saving
from truth.fleets import JudgedFleet
from truth.rows_ratio import loss_curve
from truth.scoring import Goal, Observed, holds

HELD = "saving at 4:1, 2:1, 1:1: interval (loss from its 5th to its 95th percentile) holds the truth"
SIGN = "saving at 4:1, 2:1, 1:1: said to save where it does, and to cost where it costs"
SUMS = "saving: arithmetic, off the judge's own accounts by more than 0.1 % of them"
GOALS = (
    Goal(HELD, "share", 0.90),
    Goal(SIGN, "told"),
    Goal(SUMS, "share", 0.0, at_most=True),
)
TOLERANCE = 1e-3


def observe(fleet: JudgedFleet) -> Observed:
    seen: Observed = {goal.row: [] for goal in GOALS}
    for service, answers in fleet.answers["services"].items():
        curve = loss_curve(fleet, service)
        for asked in answers.get("savings", ()):
            if asked["loss"] is None or curve is None:
                continue
            hosts = asked["memory_gb"], asked["dram_ratio"]
            truth = saving(*hosts, float(np.interp(asked["dram_ratio"], *curve)))
            worst, best = saving(*hosts, asked["loss"]["high"]), saving(*hosts, asked["loss"]["low"])
            own = saving(*hosts, asked["loss"]["value"])
            seen[HELD].append(holds((worst, best), truth))
            seen[SIGN].append(float((asked["saving"] > 0) == (truth > 0)))
            seen[SUMS].append(float(abs(asked["saving"] - own) > TOLERANCE * abs(own)))
    return seen
