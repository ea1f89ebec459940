"""Hot, warm and cold memory by kind, and in the wrong place: by service and host, over the whole window."""

from collections.abc import Mapping, Sequence
from typing import Any

from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed, holds, interval_of

CLASSES = ("hot", "warm", "cold")
PLACED = {"hot_outside_dram_bytes": ("hot", "slow"), "cold_in_dram_bytes": ("cold", "dram")}
"""The class and the place of each figure."""
ERROR = "heat (hot, warm, cold by kind; hot outside DRAM; cold in DRAM): error"
COVERAGE = "heat: intervals that hold the truth"
WIDTH = "heat: width of intervals"
GOALS = (Goal(ERROR, "median", 0.02), Goal(COVERAGE, "share", 0.93), Goal(WIDTH, "median", 0.10))

Rows = Sequence[Mapping[str, Any]]


def observe(fleet: JudgedFleet) -> Observed:
    """Errors, widths and held intervals of each share of memory that was told."""
    seen: Observed = {ERROR: [], COVERAGE: [], WIDTH: []}
    for answer in fleet.answers["heat"]:
        rows = fleet.windows(answer["host"], answer["service"])
        for kind in answer["by_kind"]:
            for found in kind["classes"]:
                if found["heat_class"] in CLASSES:
                    truth = _share(rows, kind["kind"], found["heat_class"])
                    _note(seen, found["weighted_ratio"], truth, 1.0)
        resident_bytes = sum(kind["resident_bytes"]["value"] for kind in answer["by_kind"])
        is_remote = _is_remote(fleet, answer["host"])
        for name, (heat_class, place) in PLACED.items():
            truth_bytes = _placed_bytes(rows, heat_class, place, is_remote=is_remote)
            _note(seen, answer[name], truth_bytes / resident_bytes, resident_bytes)
    return seen


def _note(seen: Observed, figure: Mapping[str, Any], truth: float, unit: float) -> None:
    """Adds what a figure in `unit` is worth."""
    interval = interval_of(figure)
    if interval is None:
        return
    lo, hi = (end / unit for end in interval)
    seen[ERROR].append(abs(figure["value"] / unit - truth))
    seen[COVERAGE].append(holds((lo, hi), truth))
    seen[WIDTH].append(hi - lo)


def _is_remote(fleet: JudgedFleet, host: str) -> bool:
    """Whether the second node is DRAM of the other socket, which the product rightly calls DRAM."""
    return any(found["host"] == host and found["slow_memory"] == "remote" for found in fleet.truth["hosts"])


def _share(rows: Rows, kind: str, heat_class: str) -> float:
    def of(name: str) -> float:
        parts = (row["kinds"][kind][name] for row in rows if kind in row["kinds"])
        return float(sum(part["dram"] + part["slow"] for part in parts))

    return of(heat_class) / max(sum(of(name) for name in CLASSES), 1.0)


def _placed_bytes(rows: Rows, heat_class: str, place: str, *, is_remote: bool) -> float:
    places = (["dram", "slow"] if place == "dram" else []) if is_remote else [place]
    parts = (kind[heat_class][name] for row in rows for kind in row["kinds"].values() for name in places)
    return float(sum(parts)) / max(len(rows), 1)
