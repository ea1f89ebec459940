"""What is believed of losses, against the twin's losses at the shares of accesses that were on slow memory there.

No service is asked: the product's belief gets what its workers would hand it (latencies, bandwidths with their curves,
cycles that wait for memory, bytes at memory controllers) and the very share of accesses on slow memory. So a fleet
takes seconds, and what is judged is the slowdown alone: how devices, loads and exposures decide a loss.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tierscope.domain.slowdown import LoadedLatency, Tier, bandwidth_loss, predict_point
from tierscope.domain.slowdown.device import LoadedBelief, believe
from tierscope.domain.slowdown.posterior import ShareOnSlow
from truth.drawn import draw_laws
from truth.programs import FleetPlan, tell_losses
from truth.scoring import Goal, Observed

ABOVE = "loss at the twin's share on slow memory: above the stated upper bound (95 %)"
ABOVE_SLOW = "the same, slow memory of 300 ns and more"
ABOVE_NARROW = "the same, slow memory of 30 GB/s and less"
BELOW = "loss at the twin's share on slow memory: below the stated lower bound (5 %)"
OFF = "loss at the twin's share on slow memory: distance of the median from the truth"
GOALS = (
    Goal(ABOVE, "share", 0.05, at_most=True),
    Goal(ABOVE_SLOW, "share", 0.05, at_most=True),
    Goal(ABOVE_NARROW, "share", 0.05, at_most=True),
    Goal(BELOW, "share", 0.05, at_most=True),
    Goal(OFF, "told"),
)
HOURS = 12
SHARES = (0.95, 8 / 9, 0.8, 2 / 3, 0.5, 1 / 3, 0.2)
LINE_BYTES = 64
SLOW_NS, NARROW_GB_PER_S = 300.0, 30.0
LEAST = 0.0005
"""Losses are told apart from this on: kernels work for a little, whatever memory is slow."""


def observe_losses(seed: int, folder: Path) -> Observed:
    """Each host of a drawn fleet at each share of DRAM, without faults.

    Raises:
        ProgramFailedError: the twin failed.
    """
    text = draw_laws(seed, 0)
    told = folder / f"losses-{seed}.json"
    plan = FleetPlan(text, seed, HOURS, 1)
    laws = tomllib.loads(text)
    tell_losses(plan, laws["clock"]["start_unix_s"], SHARES, told)
    truth = json.loads(told.read_text(encoding="utf-8"))
    told.unlink()
    seen: Observed = {goal.row: [] for goal in GOALS}
    beliefs: dict[str, tuple[LoadedBelief, float]] = {}
    for point in truth["loss_curves"]:
        if point["host"] not in beliefs:
            beliefs[point["host"]] = _believe(laws, truth, point)
        _note(seen, laws, point, *beliefs[point["host"]])
    return seen


def _note(
    seen: Observed, laws: Mapping[str, Any], point: Mapping[str, Any], belief: LoadedBelief, demand_gb_per_s: float
) -> None:
    device, share = laws["memory"]["cxl"], ShareOnSlow.exactly(point["slow_access_share"])
    undelivered = bandwidth_loss(
        laws["memory"]["dram"]["bandwidth_gb_per_s"], device["bandwidth_gb_per_s"], demand_gb_per_s, share.value
    )
    truth = point["loss_ratio"]
    above = float(truth > max(belief.loss_upper(share), undelivered) + LEAST)
    seen[ABOVE].append(above)
    if device["latency_ns"] >= SLOW_NS:
        seen[ABOVE_SLOW].append(above)
    if device["bandwidth_gb_per_s"] <= NARROW_GB_PER_S:
        seen[ABOVE_NARROW].append(above)
    seen[BELOW].append(float(truth < belief.loss_lower(share) - LEAST))
    seen[OFF].append(abs(max(belief.loss_median(share), undelivered) - truth))


def _believe(laws: Mapping[str, Any], truth: Mapping[str, Any], point: Mapping[str, Any]) -> tuple[LoadedBelief, float]:
    """What the counters of the host as it is today say of its service; and its demand at the peak of the day."""
    host = next(law for law in laws["host"] if law["name"] == point["host"])
    law = next(law for law in laws["service"] if law["name"] == point["service"])
    dram, slow = (laws["memory"][name] for name in ("dram", "cxl"))
    rho = slow["latency_ns"] / dram["latency_ns"]
    rows = [row for row in truth["windows"] if row["host"] == host["name"]]
    now = sum(row["slow_access_share"] for row in rows) / len(rows)
    exposure = law["memory_exposure"]
    odds = exposure * now ** law["slow_exponent"] * (rho - 1.0)
    predicted = predict_point((exposure + odds) / (1.0 + odds), rho, rho_measured=True)
    gib = (host["dram_gib"] + host.get("slow", {}).get("gib", 0.0)) * host["services"][0]["share"]
    peak = law["load_share"] * (1.0 + law["daily_amplitude"])
    lines_per_s = peak * law["capacity_ops_per_s_per_gib"] * gib * law["accesses_per_op"]
    demand_gb_per_s = lines_per_s * LINE_BYTES * (1.0 + law["write_share"]) / 1e9
    belief = believe(rho, points=[] if predicted is None else [predicted])
    return LoadedBelief(belief, rho, _tier(dram), _tier(slow), demand_gb_per_s), demand_gb_per_s


def _tier(memory: Mapping[str, Any]) -> Tier:
    curve = [(load, factor * memory["latency_ns"]) for load, factor in memory["loaded"]]
    return Tier(memory["bandwidth_gb_per_s"], LoadedLatency.measured(curve))
