"""The figures that an answer about a ratio was made from, as listed with it."""

from dataclasses import replace

from tierscope.domain.base.figures import Figure, absent
from tierscope.domain.slowdown import Device, ShareOnSlow
from tierscope.usecases.curve.pages import NoCurve
from tierscope.usecases.ratio.answers import NamedFigure
from tierscope.usecases.ratio.inputs import RatioInputs

ELSEWHERE = "these hosts have no slow memory: its latency is that which other hosts measured"


def list_evidence(known: RatioInputs, rho: float | None, device: Device | None) -> tuple[NamedFigure, ...]:
    """All of them. `rho`: latency of slow memory over that of DRAM, None where no host measured it.

    `device`: the one that was asked about, whose latency it is then.
    """
    heat, hardware = known.heat, known.hardware
    definition = "ratio.rho_ratio/1"
    if device is not None and rho is not None:
        measured = Figure(
            definition, "ok", rho, "ratio", method="model", window=known.window, grade="early", grounding="A a device"
        )
    elif rho is None:
        reason = "No host has measured the latency of both tiers: run `tierscope-agent bench` where slow memory is."
        measured = absent(definition, "ratio", "not_collected", reason, window=known.window)
    else:
        measured = Figure(
            definition,
            "ok",
            rho,
            "ratio",
            method="counters",
            window=known.window,
            n_hosts=hardware.memory.n_hosts,
            grade="good",
            grounding="L",
            warnings=(ELSEWHERE,) if hardware.slow_elsewhere else (),
        )
    return (
        NamedFigure("required_bytes_per_host", heat.required),
        NamedFigure("hot_bytes_per_host", heat.hot),
        NamedFigure("untouched_ratio", heat.untouched),
        NamedFigure("observed_ratio", heat.observed),
        NamedFigure("days", _days(known)),
        NamedFigure("traffic_coverage", _coverage(known)),
        NamedFigure("hot_set_jaccard", known.jaccard),
        NamedFigure("rho", measured),
        NamedFigure("demand_bytes_per_s", hardware.demand),
        NamedFigure("memory_stall_ratio", hardware.stalls),
        NamedFigure("reads_per_cpu_s", hardware.reads),
    )


def _days(known: RatioInputs) -> Figure:
    definition, placement = "ratio.days/1", known.placement
    if isinstance(placement, NoCurve):
        return absent(definition, "days", placement.status, placement.reason, window=known.window)
    return replace(_of_samples(known, placement.seen.days), definition=definition, unit="days", grounding="L")


def _coverage(known: RatioInputs) -> Figure:
    definition, placement = "ratio.traffic_coverage_ratio/1", known.placement
    if isinstance(placement, NoCurve):
        return absent(definition, "ratio", placement.status, placement.reason, window=known.window)
    value = 1.0 if placement.seen.coverage is None else placement.seen.coverage
    return replace(_of_samples(known, value), definition=definition, grounding="L Good-Turing")


def _of_samples(known: RatioInputs, value: float) -> Figure:
    """A number with the evidence of the page samples."""
    assert not isinstance(known.placement, NoCurve)
    grade = known.heat.required.grade
    return replace(known.placement.figure(ShareOnSlow.exactly(0.0), known.window, grade), value=value)
