"""Ratio advice as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierscope.usecases.ratio.sentence import percent

if TYPE_CHECKING:
    from tierscope.domain.base.figures import Figure
    from tierscope.usecases.ratio.answers import Ratio, RatioCandidate, RatioOfKind, RatioPlacement, RatioStep

_GIB, _MIB = float(1 << 30), float(1 << 20)


def describe_ratio(view: Ratio) -> str:
    """The sentence with its grade, what would firm it up, then the ratios and what the answer rests on."""
    lines = [view.sentence + _assumed_policy(view.placement), *_needed(view.dram_needed)]
    if view.grade is not None:
        lines.append(f"{view.grade.capitalize()}: {view.scope}.")
    lines += ["", "What would firm it up" if view.candidates else "What changes that", *map(_step, view.next_steps), ""]
    if len(view.kinds) > 1:
        lines += ["By kind of host", *map(_kind, view.kinds), ""]
    if view.candidates:
        lines += ["DRAM:CXL   on slow   expected   at most (95 %)", *map(_row, view.candidates), ""]
    if view.binding:
        lines += [f"Less DRAM is held back by: {', '.join(view.binding).replace('_', ' ')}."]
    if view.uncertainty:
        first = view.uncertainty[0]
        lines += [f"Most of the doubt ({percent(first.variance_ratio)}) is about {first.why}.", ""]
    limit = view.service_class
    lines += [f"Memory is limited by: {limit.name or 'not known'}. {limit.why}{_grade(limit.grade)}", ""]
    lines += ["What it rests on", *(f"  {named.metric:24} {_figure(named.figure)}" for named in view.evidence)]
    for name, figure in (
        ("hot_outside_dram_bytes", view.leading.hot_outside_dram_bytes),
        ("cold_in_dram_bytes", view.leading.cold_in_dram_bytes),
    ):
        lines.append(f"  {name:24} {_figure(figure)}")
    if view.assumptions:
        lines += ["", "What was assumed"]
        lines += [f"  {item.name}: {_assumed(item.value)} [{item.grounding}] - {item.why}" for item in view.assumptions]
    if view.sensitivity:
        lines += ["", "What would be safe if it were otherwise"]
        for item in view.sensitivity:
            low, high = item.chosen_low or "all DRAM", item.chosen_high or "all DRAM"
            lines.append(f"  {item.name} {item.low:g}: {low}; {item.high:g}: {high}")
    if view.notes:
        lines += ["", *view.notes]
    if view.expires_at is not None:
        lines += ["", f"Holds until {view.expires_at:%Y-%m-%d}."]
    return "\n".join(lines)


def _needed(figure: Figure | None) -> list[str]:
    """DRAM shares between the ratios that are sold."""
    if figure is None or figure.interval is None:
        return []
    ends = figure.interval
    needed = f"{percent(figure.value)} of the memory, {percent(ends.lo)} to {percent(ends.hi)} ({percent(ends.level)})"
    return [f"DRAM for the target, sold or not: {needed}."]


def _assumed_policy(placement: RatioPlacement | None) -> str:
    """Under which policy the shares were replayed, and who says so."""
    if placement is None:
        return ""
    if placement.policy is None or placement.policy_from is None:
        return f" Placement: {placement.why}."
    return f" Placement: {placement.policy}, {_POLICY_FROM[placement.policy_from]}."


_POLICY_FROM = {
    "configured": "as the hosts are set up",
    "asked": "as asked for",
    "assumed": "assumed (numa_balancing 2 and demotion): no host setting says otherwise",
}


def _grade(grade: str | None) -> str:
    return "" if grade is None else f" Grade: {grade}."


def _row(view: RatioCandidate) -> str:
    losses = f"{percent(view.loss_median.value):>8}   {percent(view.loss_upper.value):>8}"
    verdict = "kept" if view.kept else "; ".join(view.why_not)
    return f"  {view.name:8} {percent(view.share_on_slow.value):>8}   {losses}   {verdict}"


def _assumed(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def _step(step: RatioStep) -> str:
    by = "" if step.by is None else f" By {step.by:%Y-%m-%d %H:%M} UTC."
    grade = "" if step.raises_to is None else f" ({step.raises_to})"
    command = "" if step.command is None else f"\n      {step.command}"
    return f"  - {step.text}{by}{grade}{command}"


def _kind(kind: RatioOfKind) -> str:
    dram, slow = (None if size is None else f"{size / _GIB:.0f} GiB" for size in (kind.dram_bytes, kind.slow_bytes))
    name = ", ".join([kind.cpu_model or "unknown processor", f"{dram or 'unknown'} DRAM", f"{slow or 'no'} CXL"])
    hosts = "1 host" if kind.n_hosts == 1 else f"{kind.n_hosts} hosts"
    grade = "" if kind.grade is None else f" ({kind.grade})"
    return f"  {name}, {hosts}: {kind.sentence}{grade}"


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return f"{figure.status.replace('_', ' ')}: {figure.reason}"
    if figure.unit == "bytes":
        return f"{figure.value / _GIB:.1f} GiB" if figure.value >= _GIB else f"{figure.value / _MIB:.1f} MiB"
    if figure.unit == "ratio":
        return f"{figure.value:.3g}"
    return f"{figure.value:.4g} {figure.unit}"
