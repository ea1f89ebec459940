"""What the DRAM of an answer is made of: parts that add up to it exactly."""

from dataclasses import dataclass
from typing import Literal

from tierscope.domain.ratio.choice import HEADROOM

PartName = Literal["hot", "moving", "loss_target", "sold_ratio", "headroom", "growth"]


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value with its ends; None where they are not known."""

    value: float
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True, slots=True)
class DramEnds:
    """DRAM shares of the answer that is shown, and of the ends between which it lies, each 0..1 of the memory.

    `least` is the smallest share that keeps the target, whether such a ratio is sold or not.
    """

    sold: float
    least: Bounded


@dataclass(frozen=True, slots=True)
class DramPart:
    """A part of the DRAM of one host, in bytes. `bytes` None where it is not measured: `loss_target` holds it then."""

    name: PartName
    bytes: float | None
    lo: float | None
    hi: float | None


def split_dram(
    *, required_bytes: float, hot_bytes: Bounded | None, hot_overlap: Bounded | None, ends: DramEnds, growth: float
) -> tuple[DramPart, ...]:
    """The parts of `ends.sold` of the memory; their sum is that many bytes.

    Hot memory and what becomes hot within the lag of `hot_overlap` (Jaccard J of two hot sets of one size: their union
    is 2 / (1 + J) of it) come first; `loss_target` is what the target needs beyond them, negative where it bears that
    some of them are on slow memory. `headroom` is kept free for demotion, `growth` is for growth (0.1 = 10 %).

    Args:
        required_bytes: memory of the work on one host.
        hot_bytes: memory that is hot within 2 minutes; None where it is not measured.
        hot_overlap: Jaccard of hot sets an hour apart; None where it is not measured.
        ends: DRAM shares of the answer.
        growth: growth that DRAM must bear.
    """
    usable_ratio = (1.0 - HEADROOM) / (1.0 + growth)
    sold, least = ends.sold, min(ends.least.value, ends.sold)
    moving = None if hot_bytes is None or hot_overlap is None else _moving(hot_bytes, hot_overlap)
    held = (hot_bytes.value if hot_bytes else 0.0) + (moving.value if moving else 0.0)

    def beyond(share: float | None) -> float | None:
        return None if share is None else share * usable_ratio * required_bytes - held

    dram = sold * required_bytes
    free, grown = HEADROOM * dram, (1.0 - HEADROOM) * dram * growth / (1.0 + growth)
    need = least * usable_ratio * required_bytes - held
    rest = (
        DramPart("loss_target", need, beyond(ends.least.lo), beyond(ends.least.hi)),
        DramPart("sold_ratio", (sold - least) * usable_ratio * required_bytes, None, None),
        DramPart("headroom", free, None, None),
        DramPart("growth", grown, None, None),
    )
    return (_part("hot", hot_bytes), _part("moving", moving), *rest)


def _moving(hot: Bounded, overlap: Bounded) -> Bounded:
    """Bytes that two hot sets of one size hold beyond one of them; the less they overlap, the more."""

    def beyond(jaccard: float | None) -> float | None:
        return None if jaccard is None else hot.value * (1.0 - jaccard) / (1.0 + jaccard)

    value = beyond(overlap.value)
    assert value is not None
    return Bounded(value, beyond(overlap.hi), beyond(overlap.lo))


def _part(name: PartName, found: Bounded | None) -> DramPart:
    return DramPart(name, None, None, None) if found is None else DramPart(name, found.value, found.lo, found.hi)
