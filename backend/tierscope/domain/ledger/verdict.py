"""The verdict: one word for what a host's tier moves do, with the evidence that decided and what spoke against it.

Where the share of slow accesses was measured it decides good or bad, and counters say why (`outcome.py`). Elsewhere
counters have to do (`rules.py`), and nothing is called healthy that the scanner did not look at.
"""

from dataclasses import replace

from tierscope.domain.base.page_size import NOT_KNOWN
from tierscope.domain.ledger.evidence import MIN_INTERVALS, Evidence, gather, steady_intervals
from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.outcome import judge_outcome, measured_outcome
from tierscope.domain.ledger.rules import (
    LIMIT_BEFORE_SWAP,
    LIMIT_OF_RECLAIM,
    SHORT_INTERVALS,
    SHORT_PASSES,
    judge_exchange,
    judge_limit,
    judge_one_tier,
    judge_one_way,
    judge_refused,
    judge_stalled,
    judge_still,
    judge_swap,
)
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
    if int(ledger.present.any(axis=1).sum()) < MIN_INTERVALS:
        return Verdict("not_known", f"Fewer than {MIN_INTERVALS} intervals with counters in the window.", "certain")
    blind = ledger.total("promoted_pages") is None and ledger.total("demoted_pages") is None
    unsent = None if context.unsent is None else f"Whether pages move between tiers is not known. {context.unsent}"
    if context.page_bytes is None:
        return Verdict("not_known", (unsent if blind else None) or NOT_KNOWN, "certain")
    seen = gather(ledger, context.page_bytes, context.huge_pages)
    pressed = (
        judge_limit(seen, context, LIMIT_BEFORE_SWAP)
        or judge_swap(seen, context)
        or judge_limit(seen, context, LIMIT_OF_RECLAIM)
    )
    if pressed is not None:
        return pressed
    outcome = measured_outcome(ledger, context)
    if outcome is not None:
        return judge_outcome(seen, context, ledger, outcome)
    if blind and unsent is not None:
        return Verdict("not_known", unsent, "certain")
    if blind and seen.slow_pages:
        return Verdict("not_known", "Memory is on a slower tier, and the kernel counts no tier moves here.", "certain")
    found = (
        judge_one_tier(context)
        or judge_still(seen, context)
        or judge_refused(seen, context)
        or judge_exchange(seen, context, ledger)
        or judge_stalled(seen)
        or judge_one_way(seen)
    )
    return _as_sure_as_it_is_long(seen, _only_what_was_seen(seen, found))


def _as_sure_as_it_is_long(seen: Evidence, found: Verdict) -> Verdict:
    """Counters alone of a short window, or of less than a pass of the scanner, say what is possible."""
    short = seen.intervals < SHORT_INTERVALS or (seen.passes or 0.0) < SHORT_PASSES
    return replace(found, confidence="possible") if short and found.confidence == "likely" else found


def _only_what_was_seen(seen: Evidence, found: Verdict) -> Verdict:
    """A good word needs a full pass that found few hot pages, or throughput that rose: else it is not known."""
    if found.word not in ("healthy", "harmless_demotion") or not seen.slow_pages:
        return found
    if any(sign.name == "throughput_gain" for sign in found.evidence):
        return found
    passes, outside = seen.passes, max(seen.hot_outside or 0.0, seen.hot_outside_late or 0.0)
    looked, rested = passes is None or passes >= FULL_PASS, seen.scan_paused > RESTED
    if looked and not rested and outside < FEW_OUTSIDE:
        return found
    why = f"The scanner went over {passes or 0.0:.0%} of the slow memory in the window"
    if rested:
        why += f" and rested for {seen.scan_paused:.0%} of it"
    elif looked:
        why = f"Hot pages worth {outside:.0%} of the top tier may be outside of it"
    text = (
        f"{why}, and nothing measured how many accesses are slow. Counters of the memory controllers, page samples by "
        "tier or a longer window would tell."
    )
    signs = (*found.evidence, *(() if passes is None else (Sign("scan_passes", passes, "passes"),)))
    return Verdict("not_known", text, "certain", signs, found.against, found.word)
