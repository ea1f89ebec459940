"""Columns that rules judge of fairness, against the fair shares that pages show."""

import numpy as np
import pytest

from tierscope.domain.fairness.shares import fair_bytes
from tierscope.domain.fairness.shortfall import shortfall_columns
from tierscope.domain.ledger import COLUMN_KEYS, Ledger

GIB = float(1 << 30)


def ledger(times_s: list[float], **columns: list[float]) -> Ledger:
    n = len(times_s)
    values, present = np.zeros((n, len(COLUMN_KEYS)), np.int64), np.zeros((n, len(COLUMN_KEYS)), bool)
    for name, line in columns.items():
        values[:, COLUMN_KEYS.index(name)], present[:, COLUMN_KEYS.index(name)] = line, True
    return Ledger(np.array(times_s), np.full(n, 60.0), values, present, np.zeros(n, np.int8))


def test_what_a_service_lacks_and_loses_is_told_of_the_services_seen_together() -> None:
    one = ledger(
        [60.0, 120.0, 180.0],
        top_resident_bytes=[GIB] * 3,
        slow_resident_bytes=[3 * GIB] * 3,
        demoted_pages=[500, 500, 500],
        promoted_pages=[10, 0, 0],
    )
    other = ledger(
        [60.0, 120.0],
        top_resident_bytes=[3 * GIB] * 2,
        slow_resident_bytes=[GIB] * 2,
        demoted_pages=[0, 0],
        promoted_pages=[900, 200],
    )
    first, second = shortfall_columns([one, other])
    shares = fair_bytes(np.zeros(2), np.array([4 * GIB, 4 * GIB]), np.array(4 * GIB))
    assert first["fair_top_bytes"][:2] == pytest.approx(shares[0])
    assert first["below_fair_bytes"].tolist() == [GIB, GIB, 0.0], "alone it holds all that is held"
    assert first["demoted_for_others_pages"].tolist() == [500.0, 200.0, 0.0]
    assert second["below_fair_bytes"].tolist() == [0.0, 0.0]
    assert second["demoted_for_others_pages"].tolist() == [0.0, 0.0]


def test_what_is_not_counted_is_not_known() -> None:
    (only,) = shortfall_columns([ledger([60.0], top_resident_bytes=[GIB])])
    assert all(np.isnan(values).all() for values in only.values())
