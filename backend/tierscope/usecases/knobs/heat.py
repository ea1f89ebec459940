"""Heat of one host over all its services, as far as knob advice looks at it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Interval, Window
from tierscope.domain.heat import make_rule
from tierscope.domain.heat.classes import Rule, classify
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.heat.summary import mean_fold, misplaced, observed_share
from tierscope.domain.knobs import Heat
from tierscope.storage.base.subjects import SubjectHost, service_scopes
from tierscope.usecases.heat.figures import gather_evidence, no_evidence
from tierscope.usecases.heat.sources import read_heat

MIN_INTERVALS = 60
MIN_COVERAGE = 0.5
HOT, COLD = 0, 2


@dataclass(frozen=True, slots=True)
class HostHeat:
    """The two leading figures, and what rules may stand on: nothing of it with too little data."""

    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    facts: Heat | None


def read_host_heat(session: ReadSession, host: SubjectHost, window: Window, *, now: datetime) -> HostHeat:
    """Heat of all services on the host by one method: the one with most intervals. Methods are never mixed."""
    found: dict[Method, list[HeatSeries]] = {}
    for service_id in service_scopes(session, host.id):
        for method, hosts in read_heat(session, service_id, [host.id], window, now=now).items():
            found.setdefault(method, []).extend(hosts.values())
    if not found:
        reason = "No heat was measured on this host in the window: it comes from a few hosts of each service."
        return HostHeat(*no_evidence(window, reason).misplaced(None), None)
    chosen = max(found, key=lambda method: (_intervals(found[method]), -method.backend))
    series, rule = found[chosen], make_rule("recency", None)
    evidence = gather_evidence(series, chosen, rule, window, None)
    placed = misplaced(series, rule)
    start, end = window.start.timestamp(), window.end.timestamp()
    coverage = max(observed_share(part, start, end) for part in series)
    enough = _intervals(series) >= MIN_INTERVALS and coverage >= MIN_COVERAGE
    hot_outside, cold_inside = replace(evidence, n_hosts=1).misplaced(placed)
    return HostHeat(hot_outside, cold_inside, read_facts(series, rule) if enough and placed is not None else None)


def _intervals(series: Sequence[HeatSeries]) -> int:
    return max(int(part.n_intervals.sum()) for part in series)


def read_facts(series: Sequence[HeatSeries], rule: Rule) -> Heat:
    """Bytes by class, page kind and tier, as the rules take them. Shares of memory that is not there are None."""
    by_class: dict[tuple[str, bool], np.ndarray] = {}
    for part in series:
        folded, n = mean_fold(part)
        values = classify(folded, rule).value / n
        for row, kind, tier in zip(values, part.kinds, part.tiers, strict=True):
            if tier:
                key = ("anon" if kind == "anon" else "file", tier in FAST_TIERS)
                by_class[key] = by_class.get(key, np.zeros(len(row))) + row
    inside = _sum(by_class, fast=True)
    outside = _sum(by_class, fast=False)
    anon_in, file_in = (by_class.get((kind, True)) for kind in ("anon", "file"))
    hot, missed = float(inside[HOT] + outside[HOT]), float(outside[HOT])
    gain = min(missed, float(inside[COLD]))
    return Heat(
        hot_outside_dram_bytes=missed,
        cold_in_dram_bytes=float(inside[COLD]),
        served_now=(hot - missed) / hot if hot > 0 else None,
        served_best=(hot - missed + gain) / hot if hot > 0 else None,
        served_most=(hot - missed + min(missed, float(inside.sum() - inside[HOT]))) / hot if hot > 0 else None,
        served_of="hot memory",
        file_share_of_dram=_share(None if file_in is None else float(file_in.sum()), float(inside.sum())),
        cold_anon_share=_class_share(anon_in, COLD),
        cold_file_share=_class_share(file_in, COLD),
        hot_anon_share=_class_share(anon_in, HOT),
    )


def _sum(by_class: Mapping[tuple[str, bool], np.ndarray], *, fast: bool) -> np.ndarray:
    parts = [values for (_, is_fast), values in by_class.items() if is_fast == fast]
    return np.sum(parts, axis=0) if parts else np.zeros(4)


def _class_share(values: np.ndarray | None, place: int) -> float | None:
    return None if values is None else _share(float(values[place]), float(values.sum()))


def _share(part: float | None, whole: float) -> float | None:
    return part / whole if part is not None and whole > 0 else None


def less_unmovable(cold: Figure, stays_bytes: float) -> Figure:
    """Cold bytes in DRAM less what cannot move: between none and all of what cannot move is cold."""
    if cold.value is None:
        return cold
    least = max(cold.value - stays_bytes, 0.0)
    around = cold.interval
    lo = max((cold.value if around is None else around.lo) - stays_bytes, 0.0)
    hi = cold.value if around is None else around.hi
    note = "unmovable memory is excluded: it may be cold or not"
    return replace(cold, value=least, interval=Interval(lo, hi, None, "bounds"), warnings=(*cold.warnings, note))
