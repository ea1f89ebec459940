"""From what is known of a service to an answer about its ratio: nothing here reads."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tierscope.domain.base.figures import Figure, Interval, doubt_figures
from tierscope.domain.ratio import (
    STALLS_MAX,
    Answer,
    Candidate,
    Choice,
    RatioGrade,
    Seen,
    grade_of,
    settle,
)
from tierscope.domain.slowdown import (
    EXPONENTS,
    REFERENCE_RHO,
    SMALLEST_RHO,
    UPPER_LEVEL,
    Point,
    balanced_share,
    gain_bound,
    interleave_weights,
    predict_point,
    stalls_on_dram,
)
from tierscope.usecases.curve.pages import NoCurve
from tierscope.usecases.ratio.answers import (
    InterleaveWeights,
    Ratio,
    RatioAssumption,
    RatioCandidate,
    RatioEnds,
    RatioOfKind,
    RatioParts,
    RatioPoint,
    RatioSensitivity,
    RatioStep,
    RatioSweep,
    ServiceClass,
)
from tierscope.usecases.ratio.devices import beside_device, move_points
from tierscope.usecases.ratio.evidence import list_evidence
from tierscope.usecases.ratio.inputs import Case, RatioInputs, RatioQuery
from tierscope.usecases.ratio.narrowing import weigh_steps
from tierscope.usecases.ratio.next_steps import Missing, firm_up, step_out_of_refusal
from tierscope.usecases.ratio.parts import view_parts
from tierscope.usecases.ratio.placement import GROWTH_RANGE, view_placement
from tierscope.usecases.ratio.posterior import (
    assume_slowdown,
    latency_range,
    use_points,
    view_posterior,
    view_predicted,
)
from tierscope.usecases.ratio.sentence import describe, describe_scope
from tierscope.usecases.ratio.service_class import classify, utilise
from tierscope.usecases.ratio.uncertainty import weigh_doubts

EXPIRES = timedelta(days=14)
EVEN = 0.5
NOT_ESTABLISHED = "A file of the hosts had a problem, so that nothing of this is established:"
_NS_PER_S = 1e9
WAITED_MOST = 0.9
"""Of processor time, if each slow read of today were waited for alone: beyond it they overlap too much to tell [A]."""
_GROUNDING = "S prior of 13 published pairs; A exponents, headroom, what was not seen"


def answer_kinds(known: Sequence[RatioInputs], asked: RatioQuery, *, now: datetime) -> Ratio:
    """The answer for the first kind of host, with those of the others beside it."""
    answers = [_as_sure_as_files(answer_ratio(one, asked, now=now), one.hardware.doubts) for one in known]
    kinds = (
        _of_kind(one, view, headline=place == 0) for place, (one, view) in enumerate(zip(known, answers, strict=True))
    )
    return replace(answers[0], kinds=tuple(kinds))


def _as_sure_as_files(view: Ratio, doubts: Sequence[str]) -> Ratio:
    """Nothing is established, and no figure good, where a file of the hosts had a problem."""
    if not doubts:
        return view
    found = doubt_figures(view, doubts)
    limit = found.service_class
    return replace(
        found,
        grade="provisional" if view.grade == "established" else view.grade,
        service_class=replace(limit, grade="partial" if limit.grade == "good" else limit.grade),
        notes=(*view.notes, f"{NOT_ESTABLISHED} {doubts[0]}"),
    )


def _of_kind(known: RatioInputs, view: Ratio, *, headline: bool) -> RatioOfKind:
    return RatioOfKind(
        cpu_model=known.kind.cpu_model,
        dram_bytes=known.kind.dram_bytes,
        slow_bytes=known.kind.slow_bytes,
        n_hosts=known.n_hosts,
        headline=headline,
        answer=view.answer,
        grade=view.grade,
        sentence=view.sentence,
        chosen=None if view.chosen is None else view.chosen.name,
        range=view.range,
    )


def answer_ratio(known: RatioInputs, asked: RatioQuery, *, now: datetime) -> Ratio:
    """Judge all ratios for one kind of host, or say what is missing to say anything."""
    used, points = use_points(known.points)
    own, reads = _latency_ratio(known), _reads_on_dram(known)
    if asked.device is not None:
        known = beside_device(known, asked.device)
        used = move_points(used, own, _latency_ratio(known) or asked.device.rho)
    rho = own if asked.device is None else _latency_ratio(known) or asked.device.rho
    predicted = _predict(known, rho)
    if predicted is not None:
        points = (*points, view_predicted(predicted, known.window.end))
    if isinstance(known.placement, NoCurve):
        return _view(known, asked, None, points, rho, now)
    case = Case(
        known=known,
        asked=asked,
        placement=known.placement,
        points=tuple(used),
        predicted=predicted,
        rho=REFERENCE_RHO if rho is None else rho,
        rho_measured=rho is not None,
        reads_per_cpu_s=reads,
    )
    return _view(known, asked, (case, case.choose()), points, rho, now)


def _predict(known: RatioInputs, rho: float | None) -> Point | None:
    """What the hosts' memory stalls say of the loss on slow memory alone; None where nobody counts them."""
    stalls = known.hardware.stalls.value
    if stalls is None:
        return None
    latency = REFERENCE_RHO if rho is None else rho
    measured = None if isinstance(known.placement, NoCurve) else known.placement.measured
    if measured is not None and known.kind.slow_bytes:
        stalls = stalls_on_dram(stalls, measured.share.value, latency)
    return predict_point(stalls, latency, rho_measured=rho is not None)


def _reads_on_dram(known: RatioInputs) -> float | None:
    """Lines read for each second of processor time, without the time that is waited for slow memory today, at most."""
    reads, memory = known.hardware.reads.value, known.hardware.memory
    if reads is None or not known.kind.slow_bytes:
        return reads
    measured = None if isinstance(known.placement, NoCurve) else known.placement.measured
    if measured is None or measured.source != "memory_traffic" or memory.dram is None or memory.slow is None:
        # What nobody counts at slow memory is missing in the reads, too.
        return None
    extra_ns = max(memory.slow.loaded_latency.idle_ns - memory.dram.loaded_latency.idle_ns, 0.0)
    waited = reads * measured.share.hi * extra_ns / _NS_PER_S
    return reads / (1.0 - waited) if waited < WAITED_MOST else None


def _latency_ratio(known: RatioInputs) -> float | None:
    """Latency of slow memory over that of DRAM under the load of today, else idle; None unless both were measured."""
    memory = known.hardware.memory
    load = utilise(known.hardware).value or 0.0
    ratio = memory.latency_ratio(load) or memory.latency_ratio()
    return None if ratio is None else max(ratio, SMALLEST_RHO)


def _bandwidth_checked(case: Case, choice: Choice) -> bool:
    """Whether bandwidth cannot be what limits: measured, seldom waited for, or part of a measured loss."""
    if any(candidate.bandwidth_ok is not None for candidate in choice.candidates):
        return True
    stalls = case.known.hardware.stalls.value
    if stalls is not None and stalls <= STALLS_MAX:
        return True
    safe = choice.safe
    return safe is not None and any(point.share_on_cxl >= safe.share.value for point in case.points)


def _view(
    known: RatioInputs,
    asked: RatioQuery,
    judged: tuple[Case, Choice] | None,
    points: tuple[RatioPoint, ...],
    rho: float | None,
    now: datetime,
) -> Ratio:
    case, choice = judged or (None, None)
    fine = None if case is None else case.choose_share()
    least = None if fine is None else fine.dram_shares[0]
    candidates = () if judged is None else _candidates(*judged)
    answer, chosen, ends = _settle(judged, candidates)
    seen = None if case is None else case.placement.seen
    grade = None if seen is None else grade_of(seen)
    refused = (known.placement.reason,) if isinstance(known.placement, NoCurve) else ()
    even = next((view.loss_upper.value for view in candidates if view.dram_ratio == EVEN), None)
    service_class = classify(known.hardware, known.latency, even)
    beside = None if judged is None else _choose_beside(*judged)
    placement = None if case is None else view_placement(case.placement, beside)
    return Ratio(
        service_id=known.service_id,
        origin=known.origin,
        window=known.window,
        sentence=describe(
            answer, ends, chosen, refused, loss_target=asked.loss_target, least=least, placement=placement
        ),
        service_class=service_class,
        loss_target=asked.loss_target,
        hold_hot=asked.hold_hot,
        growth=asked.growth,
        headroom_ratio=asked.headroom,
        answer=answer,
        grade=grade,
        scope=describe_scope(grade, seen),
        refused=refused,
        range=ends,
        dram_needed=None if case is None or fine is None else _dram_needed(case, fine),
        parts=None if fine is None else _parts(judged, fine, ends, grade, one=answer == "ratio"),
        binding=() if choice is None else choice.binding,
        uncertainty=() if judged is None else weigh_doubts(*judged),
        next_steps=_next_steps(known, judged, fine, seen, grade, now),
        kinds=(),
        placement=placement,
        chosen=chosen,
        candidates=candidates,
        sweep=None if fine is None else _sweep(fine),
        posterior=None if judged is None else view_posterior(judged[0].belief, _likely_share(judged[1]), judged[0].rho),
        points=points,
        evidence=list_evidence(known, rho, asked.device),
        assumptions=_assumptions(case, rho_measured=rho is not None),
        sensitivity=() if case is None else _sensitivity(case),
        leading=known.heat.leading,
        subtracted=known.hardware.subtracted,
        interleave=_interleave(known, service_class),
        alternatives=tuple(view.name for view in candidates if view.kept and view is not chosen),
        expires_at=None if answer == "refused" else known.window.end + EXPIRES,
        notes=(*_notes(case, service_class, candidates), *_note_beside(case, choice, beside)),
    )


def _dram_needed(case: Case, fine: Choice) -> Figure:
    """The ends of the sweep; all DRAM where none of its shares keeps the target."""
    safe, likely, plausible = fine.dram_shares
    share = case.placement.figure(fine.candidates[0].share, case.known.window, case.known.heat.required.grade)
    ends = Interval(plausible, safe, 2.0 * UPPER_LEVEL - 1.0, "confidence")
    return _believed(share, "ratio.dram_needed_ratio/1", likely, ends)


def _settle(
    judged: tuple[Case, Choice] | None, candidates: Sequence[RatioCandidate]
) -> tuple[Answer, RatioCandidate | None, RatioEnds | None]:
    """The kind of answer, the ratio that it names, and between which ones it lies."""
    if judged is None:
        return "refused", None, None
    case, choice = judged
    answer = settle(
        choice,
        replayed=not case.placement.are_bounds,
        measured=bool(case.points),
        bandwidth_checked=_bandwidth_checked(case, choice),
    )
    safe = choice.safe
    chosen = next((view for view in candidates if answer == "ratio" and safe and view.name == safe.name), None)
    return answer, chosen, _ends(choice)


def _ends(choice: Choice) -> RatioEnds:
    safe, likely, plausible = (
        None if end is None else end.name for end in (choice.safe, choice.likely, choice.plausible)
    )
    return RatioEnds(safe, likely, plausible, *choice.dram_shares)


def _next_steps(
    known: RatioInputs,
    judged: tuple[Case, Choice] | None,
    fine: Choice | None,
    seen: Seen | None,
    grade: RatioGrade | None,
    now: datetime,
) -> tuple[RatioStep, ...]:
    if isinstance(known.placement, NoCurve):
        return step_out_of_refusal(known.service_id, known.placement, recorded=known.origin == "import")
    assert judged is not None
    assert fine is not None
    assert seen is not None
    assert grade is not None
    case, choice = judged
    missing = Missing(
        replay=case.placement.are_bounds,
        replay_lacks=case.placement.replay_lacks,
        own_loss=not case.points,
        measured_rho=not case.rho_measured,
        bandwidth=not _bandwidth_checked(case, choice),
    )
    return weigh_steps(case, fine, firm_up(known.service_id, seen, grade, choice, missing, now=now))


def _likely_share(choice: Choice) -> float:
    """The share on slow memory at the likeliest ratio."""
    return (choice.likely or choice.candidates[0]).share.value


def _choose_beside(case: Case, choice: Choice) -> str | None:
    """The ratio that would be safe if the densest pages were in DRAM; None for none, or where there is no replay.

    What the placement of today is proven to keep, the densest pages keep too, however wide their own interval is.
    """
    if case.placement.beside is None:
        return None
    densest = replace(case, placement=case.placement.beside).choose()
    safe = min((densest, choice), key=lambda one: one.dram_shares[0]).safe
    return safe.name if safe else None


def _note_beside(case: Case | None, choice: Choice | None, beside: str | None) -> tuple[str, ...]:
    """What better placement would be worth, where it would change the answer."""
    if case is None or choice is None or beside is None or (choice.safe is not None and choice.safe.name == beside):
        return ()
    why = "what lies between is the placement of today's settings. The simulator shows what others come to."
    return (f"With the densest pages in DRAM {beside} would be safe: {why}",)


def _candidates(case: Case, choice: Choice) -> tuple[RatioCandidate, ...]:
    return tuple(_candidate(case, candidate) for candidate in choice.candidates)


def _candidate(case: Case, candidate: Candidate) -> RatioCandidate:
    required = case.known.heat.required.value
    dram = None if required is None else candidate.dram_share * required
    why_not = tuple(fault.text for fault in candidate.faults(case.demand))
    window, grade = case.known.window, case.known.heat.required.grade
    share = case.placement.figure(candidate.share, window, grade)
    best = case.placement.beside
    held = candidate.dram_share * (1.0 - case.asked.headroom)
    expected = Interval(candidate.loss_lower, candidate.loss_upper, 2.0 * UPPER_LEVEL - 1.0, "confidence")
    at_most = Interval(0.0, candidate.loss_upper, UPPER_LEVEL, "confidence")
    return RatioCandidate(
        name=candidate.name,
        dram_ratio=candidate.dram_share,
        dram_bytes=dram,
        slow_bytes=None if required is None or dram is None else required - dram,
        share_on_slow=share,
        share_on_slow_best_static=None if best is None else best.figure(best.at(held), window, grade),
        loss_median=_believed(share, "ratio.loss_median_ratio/1", candidate.loss_median, expected),
        loss_upper=_believed(share, "ratio.loss_upper_ratio/1", candidate.loss_upper, at_most),
        holds_hot=candidate.holds_hot,
        bandwidth_ok=candidate.bandwidth_ok,
        kept=not why_not,
        why_not=why_not,
    )


def _believed(share: Figure, definition: str, value: float, interval: Interval) -> Figure:
    return replace(share, definition=definition, value=value, interval=interval, grounding=_GROUNDING)


def _parts(
    judged: tuple[Case, Choice] | None, fine: Choice, ends: RatioEnds | None, grade: RatioGrade | None, *, one: bool
) -> RatioParts | None:
    if judged is None or ends is None or grade is None:
        return None
    return view_parts(*judged, fine, ends, grade, one=one)


def _sweep(fine: Choice) -> RatioSweep:
    found = fine.candidates[::-1]
    return RatioSweep(
        dram_ratio=tuple(item.dram_share for item in found),
        share_on_slow=tuple(item.share.value for item in found),
        loss_lower=tuple(item.loss_lower for item in found),
        loss_median=tuple(item.loss_median for item in found),
        loss_upper=tuple(item.loss_upper for item in found),
    )


def _sensitivity(case: Case) -> tuple[RatioSensitivity, ...]:
    """The safe end at both ends of what was assumed."""

    def name(changed: Case) -> str | None:
        safe = changed.choose().safe
        return safe.name if safe else None

    out = []
    low, high = latency_range(case.rho, measured=case.rho_measured)
    out.append(RatioSensitivity("rho", low, high, name(replace(case, rho=low)), name(replace(case, rho=high))))
    low, high = EXPONENTS
    changed = replace(case, exponents=(low,)), replace(case, exponents=(high,))
    out.append(RatioSensitivity("exponent", low, high, name(changed[0]), name(changed[1])))
    low, high = GROWTH_RANGE
    out.append(RatioSensitivity("growth", low, high, name(case.grown(low)), name(case.grown(high))))
    return tuple(out)


def _assumptions(case: Case | None, *, rho_measured: bool) -> tuple[RatioAssumption, ...]:
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
        *assume_slowdown(case.belief, rho=case.rho, rho_measured=rho_measured, device=case.asked.device),
    )


def _interleave(known: RatioInputs, service_class: ServiceClass) -> InterleaveWeights | None:
    """Weights for a service that bandwidth limits."""
    memory = known.hardware.memory
    if service_class.name not in ("bandwidth", "mixed") or memory.dram is None or memory.slow is None:
        return None
    rates = memory.dram.bandwidth_gb_per_s, memory.slow.bandwidth_gb_per_s
    share = balanced_share(*rates)
    weights = interleave_weights(share)
    return None if weights is None else InterleaveWeights(*weights, share, gain_bound(*rates))


def _notes(case: Case | None, service_class: ServiceClass, candidates: tuple[RatioCandidate, ...]) -> tuple[str, ...]:
    notes = []
    if candidates:
        notes.append(
            "Upper losses hold the uncertainty of the slowdown, of the share on slow memory and of what was not seen."
        )
    if candidates and all(view.bandwidth_ok is None for view in candidates):
        notes.append("Bandwidth is not checked: demand or the bandwidth of both tiers is not measured.")
    if service_class.microsecond_service:
        notes.append(
            "p99 is below a millisecond: such services lost throughput at every share on slow memory that was tried"
            " (Redis, MEMO). Ask that DRAM holds the hot memory, and measure the loss."
        )
    if case is not None and (untouched := case.known.heat.untouched.value):
        notes.append(
            f"{untouched:.0%} of the memory was idle for an hour and longer even at the peak: that much can be on slow"
            f" memory at almost no cost (Pond), a DRAM share of {1.0 - untouched:.2f}."
        )
    return tuple(notes)
