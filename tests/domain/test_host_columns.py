"""Hosts in columns add up as hosts one by one do."""

import numpy as np
import pytest

from tierscope.domain.fleet.host_columns import Amount, HostColumns
from tierscope.domain.ledger.figures import RateSum

NAN = float("nan")
NO = np.zeros(4, bool)


def four_hosts() -> HostColumns:
    """One that counts, one that is stale, one that counts something else, one that restarted; ids are not in order."""
    return HostColumns(
        host_ids=np.array([7, 3, 9, 5]),
        states=np.zeros(4, np.int64),
        simulated=NO,
        imported=NO,
        retired=NO,
        summed=~NO,
        fresh=np.array([True, False, True, True]),
        broken=np.array([False, True, False, True]),
        one_tier=NO,
        tiering_off=NO,
        by_others=NO,
        memory_bytes=np.array([1, -1, 2, 3]),
        verdicts=np.array([1, 0, 1, 2]),
        words=("not_known", "spill", "healthy"),
        starts_s=np.array([10.0, 1.0, 2.0, 20.0]),
        ends_s=np.array([70.0, 500.0, 400.0, 80.0]),
        page_bytes=np.array([4096.0, 4096.0, 4096.0, NAN]),
        amounts={
            "promoted": Amount(
                np.array([600.0, 1e6, NAN, -60.0]), np.array([60.0, 60.0, 0.0, 60.0]), np.array([6.0, 6.0, 0.0, 3.0])
            )
        },
    )


def test_only_fresh_hosts_that_count_are_added_up() -> None:
    (found,) = four_hosts().add_up(["promoted"], np.arange(4))
    assert found == RateSum(3, 2, 10.0, 540.0, 120.0, 9, 10.0, 80.0, broken=True)


def test_restarts_of_stale_hosts_do_not_count() -> None:
    (found,) = four_hosts().add_up(["promoted"], np.array([0, 1]))
    assert found == RateSum(1, 1, 10.0, 600.0, 60.0, 6, 10.0, 70.0)


def test_hosts_that_do_not_count_have_no_rate() -> None:
    (found,) = four_hosts().add_up(["promoted"], np.array([2]))
    assert found == RateSum(n_hosts=1)


def test_no_hosts_add_up_to_nothing() -> None:
    assert four_hosts().add_up(["promoted"], np.zeros(0, np.int64)) == [RateSum()]


def test_bytes_are_not_known_where_the_size_of_pages_is_not() -> None:
    found = four_hosts().in_bytes(["promoted"]).amounts["promoted"].total
    np.testing.assert_array_equal(found, [600 * 4096.0, 4096e6, NAN, NAN])


@pytest.mark.parametrize(("asked", "places"), [([3, 9, 4, 7], [1, 2, -1, 0]), ([100, 0], [-1, -1]), ([], [])])
def test_hosts_are_found_by_id(asked: list[int], places: list[int]) -> None:
    np.testing.assert_array_equal(four_hosts().places(np.array(asked, np.int64)), places)


def test_some_hosts_keep_their_columns() -> None:
    some = four_hosts().of(np.array([2, 0]))
    np.testing.assert_array_equal(some.host_ids, [9, 7])
    np.testing.assert_array_equal(some.amounts["promoted"].seconds, [0.0, 60.0])
    np.testing.assert_array_equal(some.has_verdict("spill"), [True, True])
