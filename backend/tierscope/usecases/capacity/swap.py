"""Cold memory of a plan on swap: what advice says of each service, and what that comes to for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Protocol

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, absent
from tierscope.domain.capacity.swap import SwapDevice, shared_life_years
from tierscope.usecases.base.money import YearlyMoney

PlanDevice = Literal["as_found", "block", "zns", "zram"]
LOSS_TARGET = 0.01
"""Of advice on swap where a plan names none."""
MOST_JUDGED = 20
"""Services that a plan asks advice for, the largest ones: each takes tenths of a second."""


@dataclass(frozen=True, slots=True)
class SwapOfService:
    """Whether a plan holds cold memory of a service on swap; figures are those of its swap advice, at the best age."""

    service: str
    service_id: str
    held: Annotated[bool, Described("Its cold memory is on swap in the plan: there it pays or may pay.")]
    device: SwapDevice
    verdict: Literal["pays", "may_pay", "does_not_pay", "keep_out"] | None
    why: str
    age_seconds: Annotated[float | None, Described("How long memory was cold before it goes there.")]
    swap_bytes: Figure | None
    pool_bytes: Annotated[Figure | None, Described("DRAM that it takes where it is compressed there.")]
    wait_ratio: Annotated[Figure | None, Described("Seconds that threads wait for swap-ins in a second.")]
    loss_ratio: Figure | None
    drive_life_years: Figure | None
    cost_per_year: YearlyMoney | None
    saving_per_year: YearlyMoney | None


class SwapAdvice(Protocol):
    """Who judges swap for a service."""

    def advise(self, service_id: str, *, device: SwapDevice | None, loss_target: float) -> SwapOfService:
        """The advice. Raises NotFound where there is no such service."""
        ...


@dataclass(frozen=True, slots=True)
class PlanSwap:
    """What the plan holds on swap now, over all services that it holds there. Nothing held: no costs and no waits."""

    device: PlanDevice
    loss_target: float
    swap_bytes: Annotated[Figure, Described("Sum over services; ends are sums of ends.")]
    pool_bytes: Figure
    wait_ratio: Figure
    drive_life_years: Annotated[Figure, Described("Of drives that hold all of it: writes and sizes add up.")]
    cost_per_year: YearlyMoney | None
    saving_per_year: YearlyMoney | None
    keep_out: Annotated[tuple[str, ...], Described("Services to keep out of swap: `memory.swap.max` 0.")]
    services: tuple[SwapOfService, ...]
    not_judged: Annotated[int, Described("Services beyond the 20 largest; their memory stays in DRAM and on CXL.")]


def sum_swap(device: PlanDevice, loss_target: float, services: Sequence[SwapOfService], not_judged: int) -> PlanSwap:
    """The plan's swap from what advice says of its services."""
    held = [one for one in services if one.held]
    sizes = [one.swap_bytes for one in held if one.swap_bytes is not None]
    return PlanSwap(
        device=device,
        loss_target=loss_target,
        swap_bytes=_sum("capacity.swap_bytes/1", "bytes", sizes),
        pool_bytes=_sum("capacity.swap_pool_bytes/1", "bytes", [one.pool_bytes for one in held if one.pool_bytes]),
        wait_ratio=_sum("capacity.swap_wait_ratio/1", "ratio", [one.wait_ratio for one in held if one.wait_ratio]),
        drive_life_years=_life(held),
        cost_per_year=_money([one.cost_per_year for one in held if one.cost_per_year]),
        saving_per_year=_money([one.saving_per_year for one in held if one.saving_per_year]),
        keep_out=tuple(one.service for one in services if one.verdict == "keep_out"),
        services=tuple(services),
        not_judged=not_judged,
    )


_NOTHING = "The plan holds nothing on swap: advice on each service says why."


def _sum(definition: str, unit: str, parts: Sequence[Figure]) -> Figure:
    if not parts:
        return absent(definition, unit, "not_enough_data", _NOTHING)
    return _of(definition, unit, parts, *(sum(end) for end in zip(*map(_ends, parts), strict=True)))


def _life(held: Sequence[SwapOfService]) -> Figure:
    """Of one kind of drive for all; the shorter end is that of the shorter lives."""
    definition, unit = "capacity.swap_life_years/1", "years"
    pairs = [(one.swap_bytes, one.drive_life_years) for one in held]
    worn = [(size, life) for size, life in pairs if size is not None and life is not None and life.value is not None]
    if not worn:
        alone = next((life for _, life in pairs if life is not None), None)
        if alone is None:
            return absent(definition, unit, "not_enough_data", _NOTHING)
        return replace(alone, definition=definition)
    sizes = [_ends(size)[0] for size, _ in worn]
    lives = [life for _, life in worn]
    ends = [shared_life_years(sizes, years) for years in zip(*map(_ends, lives), strict=True)]
    return _of(definition, unit, lives, *ends)


def _of(definition: str, unit: str, parts: Sequence[Figure], value: float, low: float, high: float) -> Figure:
    windows = [part.window for part in parts if part.window is not None]
    return Figure(
        definition,
        "ok",
        value,
        unit,
        window=windows[0] if windows else None,
        interval=Interval(low, high, None, "range"),
        grade="early",
        grounding=parts[0].grounding,
    )


def _ends(figure: Figure) -> tuple[float, float, float]:
    value = figure.value or 0.0
    return (value, value, value) if figure.interval is None else (value, figure.interval.lo, figure.interval.hi)


def _money(parts: Sequence[YearlyMoney]) -> YearlyMoney | None:
    if not parts:
        return None
    ends = Interval(sum(one.interval.lo for one in parts), sum(one.interval.hi for one in parts), None, "range")
    return YearlyMoney(sum(one.value for one in parts), ends, parts[0].currency)
