"""How much DRAM a service needs: what ratio advice says of its memory, and never less than its hot bytes with headroom.

Without advice it is the hot bytes with headroom alone: the rule by which TPP sizes DRAM.
"""

from dataclasses import dataclass

HEADROOM_RATIO = 0.1


@dataclass(frozen=True, slots=True)
class Advised:
    """The DRAM share of all memory that stored advice holds for enough at a loss target."""

    dram_ratio: float
    loss_target: float


def dram_need(
    resident: float | None, hot: float | None, advised: Advised | None, headroom: float = HEADROOM_RATIO
) -> float | None:
    """Bytes of DRAM, at most all that is resident; None where neither heat nor advice tells."""
    floor = None if hot is None else hot * (1.0 + headroom)
    share = None if advised is None or resident is None else advised.dram_ratio * resident
    known = [value for value in (floor, share) if value is not None]
    if not known:
        return None
    need = max(known)
    return need if resident is None else min(need, max(resident, hot or 0.0))
