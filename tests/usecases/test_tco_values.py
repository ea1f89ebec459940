"""Parts of a what-if that need no installation: where scenarios differ, what a belief about a loss becomes."""

import math

from tierscope.usecases.tco.losses import believed
from tierscope.usecases.tco.reads import find_differences
from tierscope.usecases.tco.scenario_documents import ExpanderDocument
from tierscope.usecases.tco.scenarios import starting_point

START = starting_point().spec


def test_what_one_scenario_has_and_another_lacks_differs() -> None:
    wider = START.options[0].model_copy(update={"cxl": ExpanderDocument(gb=512.0, devices=4)})
    other = START.model_copy(update={"options": [wider]})
    found = {row.path: row.values for row in find_differences([START, other])}
    assert found["options[0].cxl.devices"] == ("2", "4")
    assert found["options[1].name"] == ("CXL, reused DDR4", None)


def test_a_loss_of_nothing_is_certain() -> None:
    assert believed(None, 0.0, 0.02).is_certain
    assert believed(None, 0.01, 0.01).is_certain
    assert math.isclose(believed(None, 0.01, 0.05).high, 0.05)


def test_both_bounds_of_a_belief_are_its_percentiles() -> None:
    loss = believed(0.0002, 0.01, 0.05)
    assert math.isclose(loss.low, 0.0002)
    assert math.isclose(loss.value, 0.01)
    assert math.isclose(loss.high, 0.05)
    assert believed(0.0, 0.01, 0.05).low > 0.0
