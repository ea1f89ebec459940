"""Which kind of memory a service suffers more from off DRAM, and how much."""

from collections.abc import Mapping, Sequence
from typing import Any

from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed, holds, interval_of

SIGN = "anon against file off DRAM, from heat: the costlier one per byte is named"
HELD = "loss with all anon or all file memory off DRAM, from heat: intervals that hold the truth"
WIDTH = "loss with all anon or all file memory off DRAM: width of intervals"
GOALS = (Goal(SIGN, "share", 0.95), Goal(HELD, "share", 0.93), Goal(WIDTH, "told"))
KINDS = {"anon": ("anon",), "file": ("file", "tmpfs")}
"""What the answer counts to each kind."""

Rows = Sequence[Mapping[str, Any]]


def observe(fleet: JudgedFleet) -> Observed:
    """Each service with both kinds."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    for service, answers in fleet.answers["services"].items():
        hosts = [found["host"] for found in fleet.truth["hosts"] if service in found["services"]]
        rows = [row for host in hosts for row in fleet.windows(host, service)]
        index = answers["sensitivity"]["heat_index"]
        if index is None:
            continue
        truths = {kind: _mean(rows, f"{kind}_off_dram_loss_ratio") for kind in KINDS}
        for moving in index["moving"]:
            truth, interval = truths[moving["kind"]], interval_of(moving["loss"])
            if truth is not None and interval is not None:
                seen[HELD].append(holds(interval, truth))
                seen[WIDTH].append(interval[1] - interval[0])
        claimed = index["log2_density_anon_file"]["value"]
        if claimed is None or truths["anon"] is None or truths["file"] is None:
            continue
        costlier = truths["anon"] / _bytes(rows, "anon") > truths["file"] / _bytes(rows, "file")
        seen[SIGN].append(float((claimed > 0) == costlier))
    return seen


def _mean(rows: Rows, name: str) -> float | None:
    found = [row[name] for row in rows if row[name] is not None]
    return sum(found) / len(found) if found else None


def _bytes(rows: Rows, kind: str) -> float:
    own = (row["kinds"][name] for row in rows for name in KINDS[kind] if name in row["kinds"])
    return float(sum(found["placed_bytes"]["dram"] + found["placed_bytes"]["slow"] for found in own))
