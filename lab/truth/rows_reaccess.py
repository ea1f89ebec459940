"""How soon memory is accessed again, and what DRAM of each size serves."""

from collections.abc import Mapping, Sequence
from typing import Any

from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed, holds

LAGS = (1, 2, 5, 10, 20, 40)
SMALL = 0.05
"""Of the memory of a service: a kind below it is small."""
AGAIN = "re-access within 1 to 40 min, by kind: bands that hold the truth"
AGAIN_SMALL = "re-access of kinds under 5 % of memory: bands that hold the truth"
AGAIN_BANDED = "re-access: answers with a band (services of one host have none)"
AGAIN_ERROR = "re-access: error"
AGAIN_WIDTH = "re-access: width of bands"
SERVED = "served against DRAM size, as active intervals: bands that hold the truth"
SERVED_WIDTH = "served: width of bands"
SERVED_APART = "served, as active intervals: distance from what is served of accesses"
GOALS = (
    Goal(AGAIN, "share", 0.93),
    Goal(AGAIN_SMALL, "share", 0.93),
    Goal(AGAIN_BANDED, "told"),
    Goal(AGAIN_ERROR, "told"),
    Goal(AGAIN_WIDTH, "told"),
    Goal(SERVED, "share", 0.93),
    Goal(SERVED_WIDTH, "median", 0.10),
    Goal(SERVED_APART, "told"),
)

Rows = Sequence[Mapping[str, Any]]


def observe(fleet: JudgedFleet) -> Observed:
    """Re-access by service and kind, curves by service and by host."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    for service, answers in fleet.answers["services"].items():
        hosts = [found["host"] for found in fleet.truth["hosts"] if service in found["services"]]
        rows = [row for host in hosts for row in fleet.windows(host, service)]
        for curve in answers["revisit"]["curves"]:
            if curve["kind"] != "all" and curve["clock"] == "last_access":
                _note_again(seen, curve, rows)
        _note_served(seen, answers["curve"], _served(fleet, service, hosts))
        if len(hosts) > 1:
            for host, answer in answers["curve_by_host"].items():
                _note_served(seen, answer, _served(fleet, service, [host]))
    return seen


def _note_again(seen: Observed, curve: Mapping[str, Any], rows: Rows) -> None:
    own = [row["kinds"][curve["kind"]] for row in rows if curve["kind"] in row["kinds"]]
    touched = sum(kind["touched_bytes"] for kind in own)
    if touched == 0:
        return
    is_small = _bytes(own) < SMALL * _bytes([kind for row in rows for kind in row["kinds"].values()])
    for lag in LAGS:
        told, lo, hi = (curve[name][lag - 1] for name in ("share", "lo", "hi"))
        truth = sum(sum(kind["closed_gap_bytes"][:lag]) for kind in own) / touched
        if told is not None:
            seen[AGAIN_ERROR].append(abs(told - truth))
        seen[AGAIN_BANDED].append(float(lo is not None))
        if lo is None or hi is None:
            continue
        held = holds((lo, hi), truth)
        seen[AGAIN].append(held)
        seen[AGAIN_WIDTH].append(hi - lo)
        if is_small:
            seen[AGAIN_SMALL].append(held)


def _bytes(kinds: Rows) -> float:
    return float(sum(kind["placed_bytes"]["dram"] + kind["placed_bytes"]["slow"] for kind in kinds))


def _served(fleet: JudgedFleet, service: str, hosts: Sequence[str]) -> dict[str, list[float]]:
    """Shares served by twentieths of DRAM over hosts, which weigh by what is touched on them."""
    own = [row for row in fleet.truth["served"] if row["service"] == service and row["host"] in hosts]
    own = [row for row in own if row["active_bytes"] > 0]
    weight = sum(row["active_bytes"] for row in own)
    return {
        name: [sum(row[name][at] * row["active_bytes"] for row in own) / weight for at in range(len(own[0][name]))]
        for name in ("access_shares", "active_interval_shares")
        if own
    }


def _note_served(seen: Observed, answer: Mapping[str, Any], truth: Mapping[str, list[float]]) -> None:
    curve = next((found for found in answer["curves"] if found["name"] == "top_density"), None)
    if curve is None or not truth:
        return
    is_accesses = curve["measure"] == "accesses"
    claimed = truth["access_shares" if is_accesses else "active_interval_shares"]
    # The last one is all memory, which serves everything.
    for at, share in enumerate(curve["dram_ratios"][:-1]):
        place = round(share * len(claimed)) - 1
        lo, hi = curve["lo"][at], curve["hi"][at]
        if abs((place + 1) / len(claimed) - share) > 1e-6 or lo is None or hi is None:
            continue
        seen[SERVED].append(holds((lo, hi), claimed[place]))
        seen[SERVED_WIDTH].append(hi - lo)
        seen[SERVED_APART].append(abs(curve["served"][at] - truth["access_shares"][place]))
