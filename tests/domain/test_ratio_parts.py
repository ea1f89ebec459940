"""What the DRAM of an answer is made of adds up to it, whatever was measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tierscope.domain.ratio.parts import Bounded, DramEnds, split_dram

GIB = float(1 << 30)


def amounts(**changed: object) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Parts in GiB by name, of 100 GiB with 30 GiB hot, at half the memory in DRAM."""
    given_ = {
        "required_bytes": 100 * GIB,
        "hot_bytes": Bounded(30 * GIB, 28 * GIB, 32 * GIB),
        "hot_overlap": Bounded(0.6, 0.5, 1.0),
        "ends": DramEnds(0.5, Bounded(0.45, 0.25, 0.60)),
        "growth": 0.0,
        **changed,
    }

    def gib(value: float | None) -> float | None:
        return None if value is None else value / GIB

    return {part.name: (gib(part.bytes), gib(part.lo), gib(part.hi)) for part in split_dram(**given_)}  # type: ignore[arg-type]


def test_the_worked_example() -> None:
    found = amounts()
    assert found["hot"] == (30.0, 28.0, 32.0)
    assert found["moving"] == pytest.approx((30 * 0.4 / 1.6, 0.0, 30 * 0.5 / 1.5))
    assert found["loss_target"] == pytest.approx((0.98 * 45 - 37.5, 0.98 * 25 - 37.5, 0.98 * 60 - 37.5))
    assert found["sold_ratio"][0] == pytest.approx(0.98 * 5)
    assert found["headroom"][0] == pytest.approx(1.0)
    assert found["growth"][0] == 0.0


def test_what_was_not_measured_is_null_and_the_loss_target_holds_it() -> None:
    without = amounts(hot_overlap=None)
    assert without["moving"] == (None, None, None)
    assert without["loss_target"][0] == pytest.approx(0.98 * 45 - 30)
    nothing = amounts(hot_bytes=None)
    assert (nothing["hot"][0], nothing["moving"][0]) == (None, None)
    assert nothing["loss_target"][0] == pytest.approx(0.98 * 45)


def test_growth_takes_its_part_of_dram() -> None:
    found = amounts(growth=0.25)
    assert found["growth"][0] == pytest.approx(0.98 * 50 * 0.2)
    assert found["headroom"][0] == pytest.approx(1.0)


@given(
    st.floats(1e6, 1e13),
    st.none() | st.floats(0.0, 1e13),
    st.none() | st.floats(0.0, 1.0),
    st.floats(0.01, 1.0),
    st.floats(0.01, 1.0),
    st.floats(0.0, 2.0),
)
def test_parts_add_up_to_the_dram(
    required: float, hot: float | None, overlap: float | None, sold: float, least: float, growth: float
) -> None:
    found = split_dram(
        required_bytes=required,
        hot_bytes=None if hot is None else Bounded(hot),
        hot_overlap=None if overlap is None else Bounded(overlap),
        ends=DramEnds(sold, Bounded(least)),
        growth=growth,
    )
    total = sum(part.bytes for part in found if part.bytes is not None)
    assert_allclose(total, sold * required, rtol=1e-9, atol=1e-9 * max(required, hot or 0.0))
    assert all(
        part.bytes is None or part.bytes >= -1e-6 * max(required, hot or 0.0)
        for part in found
        if part.name != "loss_target"
    )
