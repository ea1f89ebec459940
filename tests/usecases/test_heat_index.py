"""The loss of moving all memory of a kind, as predicted from what processors count."""

from datetime import timedelta

import pytest

from tierscope.core.clock import utc_now
from tierscope.domain.base.figures import Window
from tierscope.domain.heat.rows import Method
from tierscope.usecases.sensitivity.heat_index import HeatMix, view_heat_index
from tierscope.wire._generated import heat_pb2

METHOD = Method(heat_pb2.HEAT_BACKEND_DAMON_PAGES, heat_pb2.GRANULARITY_PAGE, 60_000_000_000)
ERROR = 1.645 * 0.053
"""Nine of ten predictions lie within this of what was measured."""


def test_a_loss_predicted_from_stalls_has_the_error_of_such_predictions() -> None:
    mix = HeatMix(METHOD, ((60.0, 40.0),) * 2, ((50.0, 50.0),) * 2, 600, stall=0.3, rho=2.0)
    anon, file = (
        found.loss for found in view_heat_index(mix, Window(utc_now() - timedelta(hours=1), utc_now())).moving
    )
    assert anon.value == pytest.approx(0.18 / 1.18)
    assert file.value == pytest.approx(0.12 / 1.12)
    for loss in (anon, file):
        assert loss.value is not None
        assert loss.interval is not None
        assert loss.interval.level == 0.9
        assert loss.interval.hi - loss.value == pytest.approx(ERROR, rel=1e-3)
        assert loss.interval.lo == pytest.approx(loss.value - ERROR, rel=1e-2)


def test_a_small_loss_is_never_predicted_below_zero() -> None:
    mix = HeatMix(METHOD, ((99.0, 1.0),) * 2, ((50.0, 50.0),) * 2, 600, stall=0.3, rho=2.0)
    file = view_heat_index(mix, Window(utc_now() - timedelta(hours=1), utc_now())).moving[1].loss
    assert file.interval is not None
    assert file.interval.lo == 0.0
