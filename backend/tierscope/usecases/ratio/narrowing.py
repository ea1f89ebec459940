"""By how much each next step would narrow an answer: the same judgement with one doubt removed."""

from collections.abc import Sequence
from dataclasses import replace

from tierscope.domain.ratio import Choice
from tierscope.domain.ratio.grade import DAY, HOSTS, WEEK
from tierscope.domain.slowdown import Point, ShareOnSlow
from tierscope.usecases.ratio.answers import RatioNarrowing, RatioStep
from tierscope.usecases.ratio.inputs import Case
from tierscope.usecases.ratio.next_steps import AB_SHARES, AB_STANDARD_ERROR


def weigh_steps(case: Case, fine: Choice, steps: Sequence[RatioStep]) -> tuple[RatioStep, ...]:
    """The steps with what each would narrow the answer to, alone; the widest narrowing first.

    What cannot be foretold (a replay, bandwidth, gaps) keeps its place before them: it decides whether one ratio can be
    named at all.
    """
    low, high = _ends(fine)
    weighed = []
    for step in steps:
        changed = _after(case, step)
        found = None
        if changed is not None and high > low:
            least, most = _ends(changed.choose_share())
            found = RatioNarrowing(least, most, 1.0 - (most - least) / (high - low))
        weighed.append(replace(step, narrows=found))
    return tuple(sorted(weighed, key=lambda step: -1.0 if step.narrows is None else -step.narrows.narrowed_ratio))


def _after(case: Case, step: RatioStep) -> Case | None:
    """What would be known once a step is done and its measurement comes out as expected today; None: not foretold."""
    seen = case.placement.seen
    if step.what == "ab_test":
        share = sum(AB_SHARES) / len(AB_SHARES)
        loss = case.belief.loss_median(ShareOnSlow.exactly(share))
        return replace(case, points=(*case.points, Point(share, loss, AB_STANDARD_ERROR)))
    if step.what == "bench":
        return replace(case, rho_measured=True)
    if step.what == "hosts":
        return replace(case, placement=replace(case.placement, seen=replace(seen, n_hosts=HOSTS)))
    if step.what == "time":
        days = 1.0 if step.raises_to == "provisional" else WEEK / DAY
        return replace(case, placement=replace(case.placement, seen=replace(seen, days=max(days, seen.days))))
    return None


def _ends(choice: Choice) -> tuple[float, float]:
    """DRAM shares of the plausible and of the safe end; all DRAM where there is none."""
    ends = (choice.plausible, choice.safe)
    low, high = (1.0 if end is None else end.dram_share for end in ends)
    return low, high
