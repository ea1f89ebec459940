"""From what is known of a service to an answer about its ratio: nothing here reads."""

from dataclasses import dataclass, replace
from datetime import timedelta

from tierscope.domain.base.figures import Figure, Interval, Origin, Window, absent
from tierscope.domain.ratio import (
    HEADROOM,
    RATIOS,
    SWEEP,
    Candidate,
    Choice,
    Demand,
    Evidence,
    Placement,
    choose,
    judge,
    refusals,
)
from tierscope.domain.slowdown import (
    EXPONENTS,
    REFERENCE_RHO,
    UPPER_LEVEL,
    Belief,
    Point,
    ShareOnSlow,
    balanced_share,
    bandwidth_loss,
    gain_bound,
    interleave_weights,
)
from tierscope.storage.slowdown.points import SlowdownPointItem
from tierscope.usecases.curve.pages import NoCurve
from tierscope.usecases.ratio.answers import (
    Answer,
    InterleaveWeights,
    NamedFigure,
    Ratio,
    RatioAssumption,
    RatioCandidate,
    RatioPoint,
    RatioSensitivity,
    RatioSweep,
    ServiceClass,
)
from tierscope.usecases.ratio.hardware import HardwareFacts
from tierscope.usecases.ratio.heat import HeatFacts
from tierscope.usecases.ratio.placement import GROWTH_RANGE, PlacementFacts, find_missing, view_placement
from tierscope.usecases.ratio.posterior import (
    assume_slowdown,
    form_belief,
    latency_range,
    use_points,
    view_posterior,
)
from tierscope.usecases.ratio.sentence import describe
from tierscope.usecases.ratio.service_class import MICROSECONDS_NS, classify, utilise

EXPIRES = timedelta(days=14)
EVEN = 0.5
SMALLEST_RHO = 1.01
"""Slow memory is taken to be slower, if only a little."""
_GIGA = 1e9
_GROUNDING = "S prior of 13 published pairs; A exponent, headroom"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a service for its ratio."""

    service_id: str
    origin: Origin
    window: Window
    heat: HeatFacts
    jaccard: Figure
    hardware: HardwareFacts
    placement: PlacementFacts | NoCurve
    points: tuple[SlowdownPointItem, ...]
    latency: Figure


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller wants: largest loss, whether less DRAM than the hot bytes will do, growth that DRAM must bear."""

    loss_target: float
    stressed: bool
    growth: float

    @property
    def headroom(self) -> float:
        """Share of DRAM that is kept free: for demotion, and for growth."""
        return 1.0 - (1.0 - HEADROOM) / (1.0 + self.growth)


@dataclass(frozen=True, slots=True)
class _Case:
    """The parts of one judgement: change one of them and ask again."""

    known: Known
    asked: Asked
    placement: PlacementFacts
    points: tuple[Point, ...]
    rho: float
    rho_measured: bool
    exponents: tuple[float, ...] = EXPONENTS

    @property
    def belief(self) -> Belief:
        return form_belief(self.points, self.rho, rho_measured=self.rho_measured, exponents=self.exponents)

    @property
    def at(self) -> Placement:
        return self.placement.with_headroom(self.asked.headroom)

    @property
    def demand(self) -> Demand:
        hot_matters_always = self.known.latency.value is not None and self.known.latency.value < MICROSECONDS_NS
        return Demand(
            loss_target=self.asked.loss_target,
            required_bytes=self.known.heat.required.value,
            hot_bytes=self.known.heat.hot.value,
            stressed=self.asked.stressed and not hot_matters_always,
            bandwidth_loss=self._bandwidth_loss,
        )

    def choose(self) -> Choice:
        """The choice among ratios."""
        return choose(RATIOS, self.at, self.belief, self.demand)

    def _bandwidth_loss(self, share: float) -> float | None:
        memory, demand = self.known.hardware.memory, self.known.hardware.demand.value
        if memory.dram is None or memory.slow is None or demand is None:
            return None
        return bandwidth_loss(memory.dram.bandwidth_gb_per_s, memory.slow.bandwidth_gb_per_s, demand / _GIGA, share)


def answer_ratio(known: Known, asked: Asked) -> Ratio:
    """Judge all ratios, or say why none can be advised."""
    used, points = use_points(known.points)
    rho = _latency_ratio(known)
    refused = _refusals(known, asked, rho_measured=rho is not None)
    case = None
    if not isinstance(known.placement, NoCurve):
        assumed = REFERENCE_RHO if rho is None else rho
        case = _Case(known, asked, known.placement, tuple(used), assumed, rho is not None)
    if case is None or refused:
        return _view(known, asked, refused, case, points, rho, None)
    return _view(known, asked, (), case, points, rho, case.choose())


def _latency_ratio(known: Known) -> float | None:
    """Latency of slow memory over that of DRAM under the load of today, else idle; None unless both were measured."""
    memory = known.hardware.memory
    load = utilise(known.hardware).value or 0.0
    ratio = memory.latency_ratio(load) or memory.latency_ratio()
    return None if ratio is None else max(ratio, SMALLEST_RHO)


def _refusals(known: Known, asked: Asked, *, rho_measured: bool) -> tuple[str, ...]:
    coverage = None if isinstance(known.placement, NoCurve) else known.placement.coverage
    evidence = Evidence(
        heat_missing=(*known.heat.missing, *find_missing(known.placement)),
        coverage=coverage,
        gaps_ratio=known.heat.gaps_ratio,
        jaccard=known.jaccard.value,
        memory_stall_share=known.hardware.stalls.value,
        bandwidth_known=known.hardware.demand.value is not None,
        rho_measured=rho_measured,
        one_sku=known.hardware.kind is not None or not known.heat.host_ids,
        days=known.heat.days,
    )
    return refusals(evidence, loss_target=asked.loss_target)


def _view(
    known: Known,
    asked: Asked,
    refused: tuple[str, ...],
    case: _Case | None,
    points: tuple[RatioPoint, ...],
    rho: float | None,
    choice: Choice | None,
) -> Ratio:
    candidates = () if choice is None or case is None else _candidates(case, choice)
    chosen = next((view for view in candidates if choice and choice.chosen and view.name == choice.chosen.name), None)
    even = next((view.loss_upper.value for view in candidates if view.dram_ratio == EVEN), None)
    service_class = classify(known.hardware, known.latency, even)
    answer: Answer = "refused" if refused or choice is None else "all_dram" if chosen is None else "ratio"
    at = chosen.dram_ratio if chosen else EVEN
    beside = None if choice is None or case is None else _choose_beside(case)
    return Ratio(
        service_id=known.service_id,
        origin=known.origin,
        window=known.window,
        sentence=describe(chosen, refused, loss_target=asked.loss_target),
        service_class=service_class,
        loss_target=asked.loss_target,
        stressed=asked.stressed,
        growth=asked.growth,
        headroom_ratio=asked.headroom,
        answer=answer,
        refused=refused,
        placement=None if case is None else view_placement(case.placement, beside),
        chosen=chosen,
        candidates=candidates,
        sweep=None if choice is None or case is None else _sweep(case),
        posterior=None if case is None else view_posterior(case.belief, case.at, at, case.rho),
        points=points,
        evidence=_evidence(known, rho),
        assumptions=_assumptions(case, rho_measured=rho is not None),
        sensitivity=() if choice is None or case is None else _sensitivity(case, rho_measured=rho is not None),
        leading=known.heat.leading,
        subtracted=known.hardware.subtracted,
        interleave=_interleave(known, service_class),
        alternatives=tuple(view.name for view in candidates if view.kept and view is not chosen),
        expires_at=None if answer == "refused" else known.window.end + EXPIRES,
        notes=(*_notes(case, service_class, candidates), *_note_beside(case, chosen, beside)),
    )


def _choose_beside(case: _Case) -> str | None:
    """The ratio that would be advised if the densest pages were in DRAM; None for none, or where that is the case."""
    if case.placement.beside is None:
        return None
    chosen = replace(case, placement=case.placement.beside).choose().chosen
    return chosen.name if chosen else None


def _note_beside(case: _Case | None, chosen: RatioCandidate | None, beside: str | None) -> tuple[str, ...]:
    """What better placement would be worth, where it would change the answer."""
    if case is None or beside is None or (chosen is not None and chosen.name == beside):
        return ()
    why = "what lies between is the placement of today's settings. The simulator shows what others come to."
    return (f"With the densest pages in DRAM {beside} would be advised: {why}",)


def _candidates(case: _Case, choice: Choice) -> tuple[RatioCandidate, ...]:
    return tuple(_candidate(case, candidate) for candidate in choice.candidates)


def _candidate(case: _Case, candidate: Candidate) -> RatioCandidate:
    required = case.known.heat.required.value
    dram = None if required is None else candidate.dram_share * required
    why_not = candidate.faults(case.asked.loss_target, stressed=case.demand.stressed)
    window, grade = case.known.window, case.known.heat.required.grade
    share = case.placement.figure(candidate.share, window, grade)
    best = case.placement.beside
    held = candidate.dram_share * (1.0 - case.asked.headroom)
    lower = min(case.belief.loss_lower(candidate.share), candidate.loss_median)
    expected = Interval(lower, candidate.loss_upper, 2.0 * UPPER_LEVEL - 1.0, "confidence")
    at_most = Interval(0.0, candidate.loss_upper, UPPER_LEVEL, "confidence")
    return RatioCandidate(
        name=candidate.name,
        dram_ratio=candidate.dram_share,
        dram_bytes=dram,
        slow_bytes=None if required is None or dram is None else required - dram,
        share_on_slow=share,
        share_on_slow_best_static=None if best is None else best.figure(best.at(held), window, grade),
        loss_median=_loss(share, "ratio.loss_median_ratio/1", candidate.loss_median, expected),
        loss_upper=_loss(share, "ratio.loss_upper_ratio/1", candidate.loss_upper, at_most),
        holds_hot=candidate.holds_hot,
        bandwidth_ok=candidate.bandwidth_ok,
        kept=not why_not,
        why_not=why_not,
    )


def _loss(share: Figure, definition: str, value: float, interval: Interval) -> Figure:
    return replace(share, definition=definition, value=value, interval=interval, grounding=_GROUNDING)


def _sweep(case: _Case) -> RatioSweep:
    found = judge([(f"{share:.2f}", share) for share in SWEEP], case.at, case.belief, case.demand)[::-1]
    return RatioSweep(
        dram_ratio=tuple(item.dram_share for item in found),
        share_on_slow=tuple(item.share.value for item in found),
        loss_median=tuple(item.loss_median for item in found),
        loss_upper=tuple(item.loss_upper for item in found),
    )


def _sensitivity(case: _Case, *, rho_measured: bool) -> tuple[RatioSensitivity, ...]:
    """The choice at both ends of what was assumed."""

    def name(changed: _Case) -> str | None:
        chosen = changed.choose().chosen
        return chosen.name if chosen else None

    def grown(growth: float) -> _Case:
        return replace(case, asked=replace(case.asked, growth=growth))

    out = []
    low, high = latency_range(case.rho, measured=rho_measured)
    out.append(RatioSensitivity("rho", low, high, name(replace(case, rho=low)), name(replace(case, rho=high))))
    low, high = EXPONENTS
    changed = replace(case, exponents=(low,)), replace(case, exponents=(high,))
    out.append(RatioSensitivity("exponent", low, high, name(changed[0]), name(changed[1])))
    low, high = GROWTH_RANGE
    out.append(RatioSensitivity("growth", low, high, name(grown(low)), name(grown(high))))
    return tuple(out)


def _evidence(known: Known, rho: float | None) -> tuple[NamedFigure, ...]:
    heat, hardware = known.heat, known.hardware
    definition = "ratio.rho_ratio/1"
    if rho is None:
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
    )


def _days(known: Known) -> Figure:
    return replace(known.heat.observed, definition="ratio.days/1", unit="days", value=known.heat.days or None)


def _coverage(known: Known) -> Figure:
    definition, placement = "ratio.traffic_coverage_ratio/1", known.placement
    if isinstance(placement, NoCurve):
        return absent(definition, "ratio", placement.status, placement.reason, window=known.window)
    value = 1.0 if placement.coverage is None else placement.coverage
    return replace(
        placement.figure(ShareOnSlow.exactly(value), known.window, known.heat.required.grade),
        definition=definition,
        grounding="L Good-Turing",
    )


def _assumptions(case: _Case | None, *, rho_measured: bool) -> tuple[RatioAssumption, ...]:
    if case is None:
        return ()
    headroom = RatioAssumption(
        "headroom",
        case.asked.headroom,
        "ratio",
        "A",
        "of DRAM: kept free for demotion, and for the growth that was asked for",
    )
    return (
        *case.placement.assumptions,
        headroom,
        *assume_slowdown(case.belief, rho=case.rho, rho_measured=rho_measured),
    )


def _interleave(known: Known, service_class: ServiceClass) -> InterleaveWeights | None:
    """Weights for a service that bandwidth limits."""
    memory = known.hardware.memory
    if service_class.name not in ("bandwidth", "mixed") or memory.dram is None or memory.slow is None:
        return None
    rates = memory.dram.bandwidth_gb_per_s, memory.slow.bandwidth_gb_per_s
    share = balanced_share(*rates)
    weights = interleave_weights(share)
    return None if weights is None else InterleaveWeights(*weights, share, gain_bound(*rates))


def _notes(case: _Case | None, service_class: ServiceClass, candidates: tuple[RatioCandidate, ...]) -> tuple[str, ...]:
    notes = []
    if candidates:
        notes.append(
            "Upper losses hold the uncertainty of the slowdown and of the share on slow memory: the band of the served-"
            "accesses curve is carried through."
        )
    if candidates and all(view.bandwidth_ok is None for view in candidates):
        notes.append("Bandwidth was not checked: demand or the bandwidth of both tiers is not measured.")
    if service_class.microsecond_service:
        notes.append(
            "p99 is below a millisecond: such services lost throughput at every share on slow memory that was tried"
            " (Redis, MEMO). DRAM must hold the hot memory, even where less was accepted."
        )
    if case is not None and (untouched := case.known.heat.untouched.value):
        notes.append(
            f"{untouched:.0%} of the memory was idle for an hour and longer even at the peak: that much can be on slow"
            f" memory at almost no cost (Pond), a DRAM share of {1.0 - untouched:.2f}."
        )
    return tuple(notes)
