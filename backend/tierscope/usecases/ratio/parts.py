"""Why an answer names so much DRAM: its parts with their evidence, and the day from which it is established."""

from tierscope.domain.base.figures import Figure
from tierscope.domain.ratio import HEADROOM, Choice, RatioGrade, reached_at
from tierscope.domain.ratio.grade import DAY, WEEK
from tierscope.domain.ratio.parts import Bounded, DramEnds, DramPart, PartName, split_dram
from tierscope.usecases.ratio.answers import RatioEnds, RatioPart, RatioParts
from tierscope.usecases.ratio.inputs import Case
from tierscope.usecases.ratio.sentence import ALL_DRAM, lasting, percent


def view_parts(
    case: Case, choice: Choice, fine: Choice, ends: RatioEnds, grade: RatioGrade, *, one: bool
) -> RatioParts | None:
    """The parts of the DRAM that the answer names; None where the memory of the work is not known, or it names none.

    Args:
        case: what was judged.
        choice: the choice among ratios that are sold.
        fine: the choice among all DRAM shares.
        ends: the ends of the answer.
        grade: how firm it is.
        one: whether the answer is one ratio, its safe one.
    """
    required, asked = case.known.heat.required.value, case.asked
    shown = choice.safe if one else choice.likely or choice.plausible
    if required is None or shown is None:
        return None
    near = fine.safe if one else fine.likely if choice.likely else fine.plausible
    least = Bounded(
        shown.dram_share if near is None else near.dram_share,
        ends.plausible_dram_ratio if fine.plausible is None else fine.plausible.dram_share,
        ends.safe_dram_ratio if fine.safe is None else fine.safe.dram_share,
    )
    parts = split_dram(
        required_bytes=required,
        hot_bytes=_bounded(case.known.heat.hot),
        hot_overlap=_bounded(case.known.jaccard),
        ends=DramEnds(shown.dram_share, least),
        growth=asked.growth,
    )
    seen = case.placement.seen
    return RatioParts(
        name=shown.name,
        dram_ratio=shown.dram_share,
        dram_bytes=shown.dram_share * required,
        lo_bytes=ends.plausible_dram_ratio * required,
        hi_bytes=ends.safe_dram_ratio * required,
        lo_name=ends.plausible or ALL_DRAM,
        hi_name=ends.safe or ALL_DRAM,
        parts=tuple(RatioPart(part.name, part.bytes, part.lo, part.hi, _why(part, case)) for part in parts),
        days=seen.days,
        days_needed=WEEK / DAY,
        established_at=None if grade == "established" else reached_at("established", seen),
    )


def _bounded(figure: Figure) -> Bounded | None:
    if figure.value is None:
        return None
    interval = figure.interval
    return Bounded(figure.value) if interval is None else Bounded(figure.value, interval.lo, interval.hi)


def _why(part: DramPart, case: Case) -> str:
    """Where a part is from, as a sentence."""
    heat, jaccard, asked = case.known.heat, case.known.jaccard, case.asked
    missing = None if part.bytes is not None else (heat.hot if heat.hot.value is None else jaccard).reason
    target = percent(asked.loss_target)
    over = f"over {lasting(case.placement.seen.days)} of page samples"
    less = part.bytes is not None and part.bytes < 0.0
    hosts = "of one host" if heat.hot.n_hosts == 1 else f"median of {heat.hot.n_hosts or 0} hosts"
    texts: dict[PartName, str] = {
        "hot": f"Touched within 2 minutes: 95th percentile, {hosts}.",
        "moving": "Becomes hot within the hour: two hot sets an hour apart overlap by"
        f" {percent(jaccard.value)} (Jaccard).",
        "loss_target": (
            f"May be on slow memory at a loss of {target}, {over}."
            if less
            else f"Needed beyond that for a loss of at most {target}, {over}."
        ),
        "sold_ratio": "Rounded up to the next ratio that machines have.",
        "headroom": f"{percent(HEADROOM)} of DRAM kept free for demotion (assumed).",
        "growth": f"For {percent(asked.growth)} of growth, as asked.",
    }
    return texts[part.name] if part.bytes is not None else f"Not measured: {missing or 'no figure'}"
