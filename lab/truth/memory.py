"""Daily memory of services by the twin's own laws: months in steps of an hour, with what happens drawn by the seed."""

import json
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from truth import fleet_laws
from truth.programs import FleetPlan, tell_memory

Floats = npt.NDArray[np.float64]

HOURS_A_DAY = 24
PEAK = 95
"""Percentile of a day's hours: what the product calls a day's memory."""
_STEP = (("interval_s", "3600.0"), ("window_intervals", "1"), ("warm_up_intervals", "24"), ("unit_bytes", "1073741824"))


def daily_memory_of_twin(seed: int, days: int, folder: Path) -> dict[str, Floats]:
    """Resident bytes of each service by day [days].

    Raises:
        ProgramFailedError: the twin failed.
    """
    laws = monthly_laws(seed, days)
    told = folder / f"memory-{seed}.json"
    plan = FleetPlan(laws, seed, days * HOURS_A_DAY, 1)
    tell_memory(plan, told)
    hourly: dict[str, Floats] = {}
    truth = json.loads(told.read_text(encoding="utf-8"))
    told.unlink()
    for row in truth["windows"]:
        hour = round((row["end_unix_s"] - truth["start_unix_s"]) / 3600.0) - 1
        line = hourly.setdefault(row["service"], np.zeros(days * HOURS_A_DAY))
        for kind in row["kinds"].values():
            line[hour] += kind["placed_bytes"]["dram"] + kind["placed_bytes"]["slow"]
    return {
        service: np.percentile(line.reshape(days, HOURS_A_DAY), PEAK, axis=1)
        for service, line in hourly.items()
        if line.min() > 0
    }


def monthly_laws(seed: int, days: int) -> str:
    """Hosts of the default laws, the first of each service, in steps of an hour; to most services something happens."""
    text = fleet_laws.first_hosts(fleet_laws.read("default"))
    for name, value in _STEP:
        text = re.sub(rf"^{name} = [\d.]+", f"{name} = {value}", text, flags=re.MULTILINE)
    random = np.random.default_rng([seed, 4_000])
    incidents = [_incident(random, service, days) for service in fleet_laws.services_of(text)]
    return text + "".join(incidents)


def _incident(random: np.random.Generator, service: str, days: int) -> str:
    begin_h = float(random.integers(10, days) * HOURS_A_DAY)
    change, hours = random.choice(
        [
            (f'{{ kind = "level_shift", factor = {random.uniform(0.75, 1.35):.3f} }}', 1.0),
            (f'{{ kind = "growth", per_day = {random.uniform(0.002, 0.012):.4f} }}', 24.0 * random.integers(10, 90)),
            (f'{{ kind = "leak", gib_per_h = {random.uniform(0.01, 0.06):.3f} }}', 24.0 * random.integers(5, 60)),
            ("", 0.0),
        ]
    )
    if not change:
        return ""
    end_h = begin_h + float(hours)
    return (
        f'\n[[incident]]\nname = "{service} changes"\nbegin_h = {begin_h}\nend_h = {end_h}\n'
        f'service = "{service}"\nchange = {change}\n'
    )
