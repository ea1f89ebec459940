"""Laws of fleets that nobody tuned to: drawn by a seed from wide ranges, which stand in `ranges.toml`."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from truth import fleet_laws

RANGES = Path(__file__).with_name("ranges.toml")
SALT = 58_000
"""So that laws do not follow what else a seed decides."""
_DRAM_LOAD = [[0.0, 1.0], [0.6, 1.15], [0.8, 1.6], [0.95, 3.0]]
_FAULTS = (
    {"kind": "failing_promotion", "failed_share": 0.9},
    {"kind": "resting_scanner"},
    {"kind": "binding_limiter", "limit_mib_per_s": 1},
    {"kind": "degraded_link", "latency_factor": 1.8, "bandwidth_factor": 0.5},
    {"kind": "ping_pong", "hot_share": 0.95},
    {"kind": "leak", "gib_per_h": 0.5},
)
_FAULT_H = 3.0
_MODEL = ("memory_gib", "slow_ratio", "filled_ratio")
"""What hosts of a service have alike: they are of one model, some with DRAM alone."""


class Draw:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng([SALT, seed])

    def one(self, spec: Any) -> Any:  # noqa: ANN401 - a number or a word
        """A value of a range; what is no range stays as it is."""
        if not isinstance(spec, list):
            return spec
        if all(isinstance(item, str) for item in spec):
            return str(self.random.choice(spec))
        low, high, *form = spec
        if form:
            return float(np.exp(self.random.uniform(np.log(low), np.log(high))))
        return float(self.random.uniform(low, high))

    def table(self, specs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.one(spec) for name, spec in specs.items()}

    def happens(self, ratio: float) -> bool:
        """True in so many of all draws."""
        return bool(self.random.uniform() < ratio)


def draw_laws(seed: int, hours: int) -> str:
    """Laws in TOML; the same for the same seed."""
    ranges = tomllib.loads(RANGES.read_text(encoding="utf-8"))
    own = tomllib.loads(fleet_laws.read("default"))
    draw = Draw(seed)
    laws: dict[str, Any] = {name: own[name] for name in ("clock", "page", "noise")}
    dram, device = draw.table(ranges["dram"]), draw.table(ranges["device"])
    knee, top = device.pop("knee"), device.pop("top")
    loaded = [[0.0, 1.0], [knee, 1.15], [(knee + 0.95) / 2.0, 1.0 + 0.35 * (top - 1.0)], [0.95, top]]
    laws["memory"] = {
        "dram": {**dram, "is_lower_tier": False, "loaded": _DRAM_LOAD},
        "cxl": {**device, "is_lower_tier": True, "loaded": loaded},
    }
    laws["kernel_work"] = {**own["kernel_work"], **draw.table(ranges["kernel_work"])}
    laws["settings"], laws["service"], laws["host"] = {}, [], []
    names = [f"service-{number + 1}" for number in range(round(draw.one(ranges["fleet"]["services"])))]
    laws["service"] = [_service(draw, ranges, own, name) for name in names]
    sources = {name: draw.table(ranges["heat"]) for name in names}
    models = {name: draw.table({what: ranges["host"][what] for what in _MODEL}) for name in names}
    placements = {name: draw.one(ranges["settings"]["placement"]) for name in names}
    for number in range(ranges["fleet"]["hosts"]):
        # Each service has a host, and who gets the others is drawn.
        name = names[number] if number < len(names) else str(draw.random.choice(names))
        other = draw.happens(ranges["heat"]["other_ratio"])
        heat = draw.table(ranges["heat"]) if other else sources[name]
        _add_host(draw, ranges, laws, (number, name, placements[name], models[name]))
        laws["host"][-1]["heat"] = _heat(heat)
    # Loses are those of hosts with these settings where a host has no slow memory yet.
    laws["settings"]["tiered_6_12"] = own["settings"]["tiered_6_12"]
    laws["incident"] = _incidents(draw, laws, hours) if draw.happens(ranges["fleet"]["failing_ratio"]) else []
    return write_toml(laws)


def _service(draw: Draw, ranges: Mapping[str, Any], own: Mapping[str, Any], name: str) -> dict[str, Any]:
    drawn = draw.table(ranges["service"])
    kind, exposed_ns = drawn.pop("kind"), drawn.pop("exposed_ns")
    if kind == "repository":
        service: dict[str, Any] = own["service"][int(draw.random.integers(len(own["service"])))]
        return {**service, "name": name}
    populations = [{**draw.table({**ranges["population"], **specs})} for specs in ranges[kind]]
    sums = {what: sum(population[what] for population in populations) for what in ("memory", "accesses")}
    for population in populations:
        population["memory_share"] = population.pop("memory") / sums["memory"]
        population["access_share"] = population.pop("accesses") / sums["accesses"]
        shortest = population.pop("idle_shortest_s")
        population["idle_revisit_s"] = [shortest, max(population.pop("idle_longest_s"), shortest)]
        population["active_share"] = min(population["active_share"], 1.0 - population.get("pass_share", 0.0))
    gib_per_cpu = draw.one(ranges["host"]["gib_per_cpu"])
    busy_s = 0.95 / gib_per_cpu
    return {
        "name": name,
        "namespace": "drawn",
        "executable": kind,
        "capacity_ops_per_s_per_gib": busy_s / (drawn["op_us"] * 1e-6),
        "accesses_per_op": drawn["op_us"] * 1e3 * drawn["memory_exposure"] / exposed_ns,
        "weekend_factor": 1.0,
        **drawn,
        "population": populations,
    }


def _add_host(
    draw: Draw, ranges: Mapping[str, Any], laws: dict[str, Any], asked: tuple[int, str, str, Mapping[str, Any]]
) -> None:
    number, service, placement, host = asked
    law = next(law for law in laws["service"] if law["name"] == service)
    cpus_per_gib = law["capacity_ops_per_s_per_gib"] * law["op_us"] * 1e-6 / 0.95
    with_slow = not draw.happens(ranges["host"]["dram_only_ratio"])
    slow_gib = round(host["memory_gib"] * host["slow_ratio"]) if with_slow else 0
    settings, name = f"settings-{number + 1}", f"{service}-{number + 1}"
    laws["settings"][settings] = _settings(draw, ranges["settings"], placement if with_slow else "untouched")
    entry: dict[str, Any] = {
        "name": name,
        "rack": f"r{number % 3 + 1}",
        "cpus": max(round(cpus_per_gib * host["memory_gib"] * host["filled_ratio"]), 2),
        "dram_gib": float(round(host["memory_gib"]) - slow_gib),
        "settings": settings,
        "services": [{"service": service, "share": host["filled_ratio"]}],
    }
    if with_slow:
        entry["slow"] = {"memory": "cxl", "gib": float(slow_gib)}
    if draw.happens(ranges["host"]["swap_ratio"]):
        entry["swap_gib"] = 32.0
    laws["host"].append(entry)


def _heat(drawn: Mapping[str, Any]) -> dict[str, Any]:
    names = ("source", "period_accesses", "lost_ratio") if drawn["source"] == "pebs" else ("source",)
    return {name: drawn[name] for name in names}


def _settings(draw: Draw, ranges: Mapping[str, Any], placement: str) -> dict[str, Any]:
    drawn = draw.table({name: spec for name, spec in ranges.items() if name != "placement"})
    whole = ("promote_rate_limit_mib_per_s", "watermark_scale_factor")
    return {
        **{name: round(value) if name in whole else value for name, value in drawn.items()},
        "scan_period_min_ms": 1000.0,
        "numa_balancing": 2 if placement == "tiered" else 0,
        "demotion_enabled": placement != "untouched",
    }


def _incidents(draw: Draw, laws: Mapping[str, Any], hours: int) -> list[dict[str, Any]]:
    tiered = [host["name"] for host in laws["host"] if "slow" in host]
    if not tiered or hours <= 2.0 * _FAULT_H:
        return []
    incidents = []
    for place in draw.random.choice(len(_FAULTS), 2, replace=False):
        begin_h = float(draw.random.uniform(0.0, hours - _FAULT_H))
        host = str(draw.random.choice(tiered))
        incidents.append(
            {
                "name": f"fault {place + 1}",
                "begin_h": begin_h,
                "end_h": begin_h + _FAULT_H,
                "hosts": [host],
                "change": _FAULTS[place],
            }
        )
    return incidents


def write_toml(document: Mapping[str, Any]) -> str:
    """A document of tables, and of arrays of tables that hold arrays of tables, one level each."""
    lines: list[str] = []
    for name, value in document.items():
        for table in value if isinstance(value, list) else [value]:
            if not isinstance(value, list) and all(isinstance(item, Mapping) for item in table.values()):
                for own, item in table.items():
                    lines += [f"\n[{name}.{own}]", *_lines(item)]
                continue
            lines += [f"\n[[{name}]]" if isinstance(value, list) else f"\n[{name}]"]
            lines += _lines({key: item for key, item in table.items() if key != "population"})
            for item in table.get("population", ()):
                lines += [f"[[{name}.population]]", *_lines(item)]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in table.items()]


def _value(value: Any) -> str:  # noqa: ANN401 - what TOML holds
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
