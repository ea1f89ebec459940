"""The verdict: one word for what a host's tier moves do, with the evidence that decided and what spoke against it.

Where the share of slow accesses was measured it decides good or bad, and counters say why (`outcome.py`). Elsewhere
counters have to do (`rules.py`), and nothing is called healthy that the scanner did not look at.
"""

from dataclasses import replace

from tierscope.domain.base.page_size import NOT_KNOWN
from tierscope.domain.ledger.evidence import MIN_INTERVALS, gather, steady_intervals
from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.measured import Evidence
from tierscope.domain.ledger.outcome import judge_outcome, measured_outcome
from tierscope.domain.ledger.rules import BY_COUNTERS, PRESSURE, SHORT_INTERVALS, SHORT_PASSES
from tierscope.domain.ledger.told import Case, Rule, Undecided, first_told, is_fault, stands
from tierscope.domain.ledger.words import Context, Sign, Verdict, Word

__all__ = ["Context", "Sign", "Verdict", "Word", "judge", "steady_intervals"]

FULL_PASS = 1.0
"""Passes of the scanner over the slow memory from which few hot pages found are few there [A]."""
RESTED = 2 / 3
"""Share of the window without scanning from which what was found is no sample of it [A]."""
FEW_OUTSIDE = 0.08
"""Hot pages found outside the top tier, over its size, below which they are few [A]: the estimate can be too low."""


def judge(ledger: Ledger, context: Context | None = None) -> Verdict:
    """Judge a window of the ledger. Needs at least five intervals with differences."""
    context = context or Context()
    found = _judge(ledger, context)
    if context.doubts and found.confidence == "certain" and found.word != "not_known":
        return replace(found, explanation=f"{found.explanation} {context.doubts[0]}", confidence="likely")
    return found


def _judge(ledger: Ledger, context: Context) -> Verdict:
    if int(ledger.present.any(axis=1).sum()) < MIN_INTERVALS:
        return Verdict("not_known", f"Fewer than {MIN_INTERVALS} intervals with counters in the window.", "certain")
    blind = ledger.total("promoted_pages") is None and ledger.total("demoted_pages") is None
    unsent = None if context.unsent is None else f"Whether pages move between tiers is not known. {context.unsent}"
    if context.page_bytes is None:
        return Verdict("not_known", (unsent if blind else None) or NOT_KNOWN, "certain")
    case = Case(gather(ledger, context), context, ledger)
    undecided: list[tuple[Rule, Undecided]] = []
    for each in PRESSURE:
        pressed = each(case)
        if isinstance(pressed, Verdict):
            return stands(pressed, undecided)
        if pressed is not None:
            undecided.append((each, pressed))
    outcome = measured_outcome(ledger, context)
    if outcome is not None:
        return stands(judge_outcome(case, outcome), undecided)
    if blind and unsent is not None and context.has_slow_tier is not False:
        return Verdict("not_known", unsent, "certain")
    found = first_told(BY_COUNTERS, case, undecided)
    return _as_sure_as_it_is_long(case.seen, _only_what_was_seen(case.seen, found))


def _as_sure_as_it_is_long(seen: Evidence, found: Verdict) -> Verdict:
    """Counters alone of a short window, or of less than a pass of the scanner, say what is possible."""
    short = seen.intervals < SHORT_INTERVALS or (_passes(seen) or 0.0) < SHORT_PASSES
    return replace(found, confidence="possible") if short and found.confidence == "likely" else found


def _passes(seen: Evidence) -> float | None:
    return None if seen.looked is None or seen.sizes is None else seen.looked.passes(seen.sizes)


def _only_what_was_seen(seen: Evidence, found: Verdict) -> Verdict:
    """A good word needs a full pass that found few hot pages, or throughput that rose: else it is not known."""
    if found.word not in ("healthy", "harmless_demotion") or seen.sizes is None or not seen.sizes.slow_pages:
        return found
    if any(sign.name == "throughput_gain" for sign in found.evidence):
        return found
    passes, looked = _passes(seen), seen.looked
    if looked is None or passes is None:
        return found
    outside = max(looked.outside(seen.sizes) or 0.0, looked.outside_late(seen.sizes) or 0.0)
    rested = looked.paused > RESTED
    if passes >= FULL_PASS and not rested and outside < FEW_OUTSIDE:
        return found
    why = f"The scanner went over {passes:.0%} of the slow memory in the window"
    if rested:
        why += f" and rested for {looked.paused:.0%} of it"
    elif passes >= FULL_PASS:
        why = f"Hot pages worth {outside:.0%} of the top tier may be outside of it"
    text = (
        f"{why}, and nothing measured how many accesses are slow. Counters of the memory controllers, page samples by "
        "tier or a longer window would tell."
    )
    signs = (*found.evidence, Sign("scan_passes", passes, "passes"))
    runner_up = found.runner_up if found.runner_up is not None and is_fault(found.runner_up) else None
    return Verdict("not_known", text, "certain", signs, found.against, runner_up)
