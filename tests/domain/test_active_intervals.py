"""What accessed bits say of the share on slow memory, against recorded traces in which every access was counted."""

from dataclasses import replace

import numpy as np
import pytest

from fixtures.page_traces import TRACES
from tierscope.domain.ratio import ACTIVE_SD
from tierscope.domain.simulate import compile_trace, make_policy, of_page_trace, split_machine
from tierscope.domain.simulate import replay as play
from tierscope.domain.simulate.trace import TraceColumns
from tierscope.domain.slowdown import LEVEL, ShareOnSlow
from tierscope.storage.curve.page_traces import read_recorded
from tierscope.usecases.simulate.placements import STAND_IN_SD

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

DRAM_SHARES = (0.2, 1 / 3, 0.5, 2 / 3, 0.8)


def shares(columns: TraceColumns, policy: str) -> list[float]:
    """Share of accesses on slow memory at each DRAM share, after a quarter of warming up."""
    trace = compile_trace(columns)
    found = []
    for share in DRAM_SHARES:
        outcome = play(trace, make_policy(policy), split_machine(trace.peak_units, share))
        local = outcome.totals(columns.intervals // 4).local_ratio
        assert local is not None
        found.append(1.0 - local)
    return found


@pytest.mark.parametrize("name", ["redis-zipf", "sqlite"])
def test_the_interval_of_active_intervals_holds_the_share_of_counted_accesses(name: str) -> None:
    counted = of_page_trace(read_recorded(TRACES / f"{name}.parquet").trace)
    bits = replace(counted, row_accesses=np.ones_like(counted.row_accesses))
    truths, said = shares(counted, "hot_page_selection_auto"), shares(bits, "tpp")
    stated = [ShareOnSlow(share, share, share, LEVEL).widened(STAND_IN_SD) for share in said]
    assert all(truth < share.lo for truth, share in zip(truths, stated, strict=True)), "without it none is held"
    wide = [share.widened(0.0, less_sd=ACTIVE_SD) for share in stated]
    assert all(share.lo <= truth <= share.hi for truth, share in zip(truths, wide, strict=True))
    assert [share.hi for share in wide] == [share.hi for share in stated], "they are never too few"
