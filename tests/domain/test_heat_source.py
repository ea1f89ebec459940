"""Weights of a service and of the fleet, and pages of one size apart: from series and from columns alike."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from factories.heat_rows import HOUR_US, METHOD, STRATA, draw_row
from tierscope.domain.heat import make_rule
from tierscope.domain.heat.column_source import ColumnSource
from tierscope.domain.heat.columns import make_columns
from tierscope.domain.heat.joined import JoinedSources
from tierscope.domain.heat.rows import HeatRow, HeatSeries, coarsen, fold_rows
from tierscope.domain.heat.source import HeatSource, SeriesSource
from tierscope.domain.heat.summary import weighted_share

GB = 10**9
HUGE = 2 << 20
READINGS: list[Callable[[list[HeatSeries]], HeatSource]] = [
    lambda series: SeriesSource(tuple(series)),
    lambda series: ColumnSource(make_columns(series)),
]
pytestmark = pytest.mark.parametrize("reading", READINGS, ids=["series", "columns"])


def interval(hot_bytes: int, cold_bytes: int) -> HeatRow:
    """One interval of anonymous memory, some of it active now and the rest 20 intervals ago."""
    drawn = draw_row(np.random.default_rng(1), HOUR_US, strata=STRATA[:1])
    age = np.zeros(9, np.int64)
    age[0], age[6] = hot_bytes, cold_bytes
    counts = np.zeros(11, np.int64)
    counts[0], counts[10] = cold_bytes, hot_bytes
    active = np.full(4, hot_bytes, np.int64)
    return dataclasses.replace(
        drawn,
        resident_bytes=np.array([hot_bytes + cold_bytes], np.int64),
        age_bytes=age,
        never_bytes=np.zeros(9, np.int64),
        active_count_bytes=counts,
        active_lo_bytes=active,
        active_hi_bytes=active,
    )


def hour(host_id: int, row: HeatRow) -> HeatSeries:
    series = fold_rows(host_id, [row])
    assert series is not None
    return coarsen(series, HOUR_US)


def test_the_fleet_weighs_by_memory_and_the_median_does_not(reading: Callable[[list[HeatSeries]], HeatSource]) -> None:
    """Analytics A6: host A has 50 of 100 GB hot, host B 60 of 300."""
    source = reading([hour(1, interval(50 * GB, 50 * GB)), hour(2, interval(60 * GB, 240 * GB))])
    for scheme in ("recency", "frequency", "cold_age"):
        rule = make_rule(scheme)
        weighted, median = weighted_share(source.classes(rule), 0, source.resident()), source.share(rule, 0)
        assert weighted is not None
        assert median is not None
        assert weighted.estimate.value == pytest.approx(0.275, abs=2e-5)
        assert median.estimate.value == pytest.approx(0.35, abs=2e-5)
        fleet = JoinedSources([source])
        over_hosts = fleet.host_median(rule, 0)
        assert over_hosts is not None
        assert over_hosts.estimate.value == pytest.approx(0.35, abs=2e-5)
        assert fleet.classes(rule).value[0] / fleet.resident() == pytest.approx(0.275, abs=2e-5)


def test_the_median_of_many_hosts_knows_no_more_than_each_of_them(
    reading: Callable[[list[HeatSeries]], HeatSource],
) -> None:
    """Each host saw 10 of 100 GB hot, and may have missed 60 more: so may their median."""
    row = dataclasses.replace(interval(10 * GB, 90 * GB), active_hi_bytes=np.full(4, 70 * GB, np.int64))
    rule = make_rule("recency")
    for n_hosts in (2, 9):
        source = reading([hour(host, row) for host in range(1, n_hosts + 1)])
        for found in (source.share(rule, 0), JoinedSources([source]).host_median(rule, 0)):
            assert found is not None
            assert found.estimate.value == pytest.approx(0.1, abs=2e-5)
            assert (found.estimate.lo, found.estimate.hi) == pytest.approx((0.1, 0.7), abs=2e-5)
        cold = source.share(rule, 2)
        assert cold is not None
        assert (cold.estimate.lo, cold.estimate.hi) == pytest.approx((0.3, 0.9), abs=2e-5)


def test_a_host_with_two_services_counts_once_in_the_median(
    reading: Callable[[list[HeatSeries]], HeatSource],
) -> None:
    rule = make_rule("recency")
    one = reading([hour(1, interval(10 * GB, 0))])
    other = reading([hour(1, interval(0, 30 * GB)), hour(2, interval(20 * GB, 20 * GB))])
    median = JoinedSources([one, other]).host_median(rule, 0)
    assert median is not None
    assert median.n_hosts == 2
    assert median.estimate.value == pytest.approx((0.25 + 0.5) / 2, abs=2e-5)


def test_huge_pages_are_kept_apart_and_bounded(reading: Callable[[list[HeatSeries]], HeatSource]) -> None:
    rng = np.random.default_rng(2)
    rows = [draw_row(rng, HOUR_US) for _ in range(3)]
    source = reading([hour(host, row) for host, row in enumerate(rows)])
    assert source.sizes == {4096, HUGE}
    base, huge = source.pick(size=4096), source.pick(size=HUGE)
    assert base is not None
    assert huge is not None
    assert source.pick(size=1 << 30) is None
    assert base.resident() + huge.resident() == pytest.approx(source.resident(), rel=1e-6)
    place = [size for _, size, _ in STRATA].index(HUGE)
    active = sum(int(row.active_lo_bytes.reshape(-1, 4)[place, 1]) for row in rows)
    assert row_subpages(rows, place) > 0
    found = huge.huge_pages()
    assert found is not None
    assert found.hot_bytes == pytest.approx(active, rel=1e-5)
    assert found.hot_bytes_lower == pytest.approx(min(row_subpages(rows, place), active), rel=1e-5)
    assert base.huge_pages() is None
    assert METHOD.family == "abit"


def row_subpages(rows: list[HeatRow], place: int) -> int:
    """Bytes of sub-pages that were seen active."""
    return sum(int(row.subpage_active_bytes[place]) for row in rows if row.subpage_active_bytes is not None)


def test_a_part_of_memory_lies_in_the_classes_within_bounds(reading: Callable[[list[HeatSeries]], HeatSource]) -> None:
    row = dataclasses.replace(interval(60 * GB, 40 * GB), written_bytes=np.full(4, 70 * GB, np.int64))
    rule = make_rule("recency")
    parts = reading([hour(1, row), hour(2, interval(5 * GB, 5 * GB))]).class_parts("written_bytes", 1, rule)
    assert parts is not None
    # 30 GB of the 70 find no room outside hot memory, 10 none outside cold memory.
    assert (parts.lo / GB).tolist() == pytest.approx([30, 0, 10, 0], abs=0.01)
    assert (parts.hi / GB).tolist() == pytest.approx([60, 0, 40, 0], abs=0.01)


def test_a_part_that_is_all_of_the_memory_has_no_doubt(reading: Callable[[list[HeatSeries]], HeatSource]) -> None:
    row = dataclasses.replace(interval(60 * GB, 40 * GB), written_bytes=np.full(4, 100 * GB, np.int64))
    parts = reading([hour(1, row)]).class_parts("written_bytes", 0, make_rule("recency"))
    assert parts is not None
    assert (parts.lo / GB).tolist() == pytest.approx([60, 0, 40, 0], abs=0.01)
    assert (parts.hi / GB).tolist() == pytest.approx([60, 0, 40, 0], abs=0.01)


def test_a_part_that_no_host_knows_is_none(reading: Callable[[list[HeatSeries]], HeatSource]) -> None:
    row = dataclasses.replace(interval(60 * GB, 40 * GB), written_bytes=None)
    assert reading([hour(1, row)]).class_parts("written_bytes", 0, make_rule("recency")) is None
