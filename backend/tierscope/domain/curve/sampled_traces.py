"""Page traces sampled as hardware samples: what the agent's own fold says of them, beside what is true."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.classes import WINDOWS
from tierscope.domain.heat.unseen import PageCounts

if TYPE_CHECKING:
    from tierscope_simcore import PageTrace

Ints = npt.NDArray[np.int64]


def fold_sampled(
    trace: "PageTrace", *, period_events: float, core_groups: int, enabled_groups: int, seed: int
) -> PageCounts:
    """Sample the loads of a trace and count pages, [intervals, windows of 1, 2, 5 and 10, kinds anon, file, tmpfs].

    `enabled_groups` of `core_groups` sample at a time and take turns: their ratio is the duty ratio. Windows that begin
    before the trace hold what there is. Raises ValueError for settings that cannot be.
    """
    import tierscope_simcore  # noqa: PLC0415 - the rest of the product runs without it

    folded = tierscope_simcore.fold_sampled_trace(
        trace, period_events=period_events, core_groups=core_groups, enabled_groups=enabled_groups, seed=seed
    )
    distinct = folded.distinct_pages
    return PageCounts(
        samples=sum_windows(folded.load_samples),
        distinct=distinct,
        f1=folded.f1_pages,
        f2=folded.f2_pages,
        resident=np.broadcast_to(trace.resident_pages[:, None, :], distinct.shape),
    )


def sum_windows(values: Ints) -> Ints:
    """Sums [t, windows, kinds] of [t, kinds] over the windows that end with each interval."""
    total = np.concatenate([np.zeros((1, *values.shape[1:]), np.int64), values.cumsum(axis=0)])
    ends = np.arange(1, len(total))
    return np.stack([total[ends] - total[np.maximum(ends - window, 0)] for window in WINDOWS], axis=1)
