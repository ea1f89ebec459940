"""Verdicts from memory are those that would be found anew."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tierscope.domain.ledger import COLUMN_INDEX, COLUMN_KEYS, Context, Ledger, judge
from tierscope.usecases.ledger import judged
from tierscope.usecases.ledger.judged import judge_again

GIB = 2**30
CONTEXT = Context(dram_bytes=float(GIB), slow_bytes=float(GIB))
EXCHANGE = {"promoted_pages": 30_000, "demoted_pages": 30_000, "top_resident_bytes": GIB, "slow_resident_bytes": GIB}


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    judged._verdicts.clear()
    yield
    judged._verdicts.clear()


def hour(**columns: int) -> Ledger:
    n = 60
    values, present = np.zeros((n, len(COLUMN_KEYS)), np.int64), np.zeros((n, len(COLUMN_KEYS)), bool)
    for key, value in (EXCHANGE | columns).items():
        values[:, COLUMN_INDEX[key]], present[:, COLUMN_INDEX[key]] = value, True
    return Ledger(60.0 * np.arange(1.0, n + 1), np.full(n, 60.0), values, present, np.zeros(n, np.int8))


def test_the_same_rows_are_judged_once() -> None:
    first = judge_again(hour(), CONTEXT)
    assert first == judge(hour(), CONTEXT)
    assert judge_again(hour(), CONTEXT) is first


def test_a_changed_value_is_judged_anew() -> None:
    before = judge_again(hour(), CONTEXT)
    changed = hour()
    changed.values[30, COLUMN_INDEX["promoted_pages"]] += 1
    assert judge_again(changed, CONTEXT) is not before
    still = hour(promoted_pages=0, demoted_pages=0)
    assert judge_again(still, CONTEXT) == judge(still, CONTEXT) != before


def test_a_missing_value_is_not_a_zero() -> None:
    zero = hour(promoted_pages=0, demoted_pages=0)
    missing = hour(promoted_pages=0, demoted_pages=0)
    for key in ("promoted_pages", "demoted_pages"):
        missing.present[:, COLUMN_INDEX[key]] = False
    assert judge_again(zero, CONTEXT) != judge_again(missing, CONTEXT) == judge(missing, CONTEXT)


def test_another_machine_is_judged_anew() -> None:
    for context in (CONTEXT, replace(CONTEXT, balancing=0), replace(CONTEXT, one_tier=True)):
        assert judge_again(hour(), context) == judge(hour(), context)
    assert judge_again(hour(), CONTEXT) is not judge_again(hour(), replace(CONTEXT, balancing=0))


def test_throughput_is_looked_at_each_time() -> None:
    rising = replace(CONTEXT, throughput=np.linspace(1.0, 2.0, 60))
    assert judge_again(hour(), rising) == judge(hour(), rising)
    assert not len(judged._verdicts)
