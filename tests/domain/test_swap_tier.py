"""When swap pays: flows in steady state, verdicts with what binds them, and ends that hold the middle."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.knobs.swap_tier import ColdMemory, SwapAge, SwapTerms, judge_swap_tier, weigh_cxl
from tierscope.domain.tco.scenario import GIB, Finance, Range

TERMS = SwapTerms(
    dram=Range(10.0, 9.0, 11.0),
    ssd=Range(0.2, 0.1, 0.3),
    finance=Finance(5.0, 0.0, "straight_line"),
    device="zns",
    cores=8.0,
    loss_target=0.01,
)


def cold_memory(rate_per_minute: float, *, lags: int = 30, gib: float = 64.0, band: float = 0.0) -> ColdMemory:
    """Memory that is accessed again at a constant rate, watched by the minute."""
    share = 1.0 - np.exp(-rate_per_minute * np.arange(1, lags + 1))
    lo, hi = np.clip(share - band, 0.0, 1.0), np.clip(share + band, 0.0, 1.0)
    held = gib * GIB
    return ColdMemory(Range(held, held * (1 - band), held * (1 + band)), 60.0, share, lo, hi)


def ordered(one: Range) -> bool:
    return one.low <= one.value <= one.high


def test_a_constant_rate_brings_back_that_share_of_what_is_out_whatever_the_age() -> None:
    found = judge_swap_tier(cold_memory(0.01), TERMS)
    for age in found.ages:
        assert age.back_bytes_per_s.value == pytest.approx(age.out_bytes.value * 0.01 / 60.0, rel=0.01)
    first = found.ages[0]
    assert first.out_bytes.value == pytest.approx(64 * GIB)
    assert first.loss.value == pytest.approx(first.back_bytes_per_s.value * 80e-6 / 4096 / 8.0)
    assert [age.age_seconds for age in found.ages] == [60.0 * lag for lag in range(31)]


def test_memory_that_stays_cold_pays_and_memory_that_comes_back_is_kept_out() -> None:
    calm = judge_swap_tier(cold_memory(1e-5), TERMS)
    assert calm.verdict == "pays"
    assert calm.best.age_seconds == 0.0
    freed, drive = 64 * 10.0 / 5.0, 2 * 64 * GIB / 1e9 * 0.2 / 5.0
    assert calm.best.saving_per_year.value == pytest.approx(freed - drive, rel=0.01)
    busy = judge_swap_tier(cold_memory(0.5), TERMS)
    assert (busy.verdict, busy.binding) == ("keep_out", "loss")
    assert busy.best.loss.high == min(age.loss.high for age in busy.ages)


def test_a_loss_target_chooses_a_later_age_and_says_that_it_binds() -> None:
    mixed = cold_memory(0.0)
    share = 0.9 * (1.0 - np.exp(-0.5 * np.arange(1, 31)))
    mixed = replace(mixed, share=share, share_lo=share, share_hi=share)
    ages = judge_swap_tier(mixed, replace(TERMS, loss_target=0.5)).ages
    target = (ages[3].loss.high + ages[5].loss.high) / 2
    found = judge_swap_tier(mixed, replace(TERMS, loss_target=target))
    assert found.verdict in ("pays", "may_pay")
    assert found.best.age_seconds >= 180.0
    assert found.best.loss.high <= target < ages[0].loss.high


def test_prices_wear_and_latency_each_bind() -> None:
    calm = cold_memory(1e-5)
    dear = judge_swap_tier(calm, replace(TERMS, ssd=Range(9.0, 8.0, 10.0)))
    assert (dear.verdict, dear.binding) == ("does_not_pay", "price")
    unsure = judge_swap_tier(calm, replace(TERMS, ssd=Range(2.0, 0.1, 9.0)))
    assert (unsure.verdict, unsure.binding) == ("may_pay", "uncertainty")
    worn = judge_swap_tier(cold_memory(0.02), replace(TERMS, ssd=Range(2.0, 2.0, 2.0), cores=1e4))
    assert (worn.verdict, worn.binding) == ("does_not_pay", "endurance")
    assert worn.best.drive_life_years is not None
    assert worn.best.drive_life_years.value < 5.0
    quick = judge_swap_tier(calm, replace(TERMS, latency_p99_s=2e-4))
    assert (quick.verdict, quick.binding) == ("keep_out", "latency")
    assert judge_swap_tier(calm, replace(TERMS, latency_p99_s=2e-3)).verdict == "pays"


def test_compressed_memory_frees_all_but_its_pool_and_wears_nothing() -> None:
    busy = cold_memory(0.02)
    flash = judge_swap_tier(busy, replace(TERMS, cores=1e3)).best
    found = judge_swap_tier(busy, replace(TERMS, device="zram", cores=1e3)).best
    assert (found.age_seconds, found.out_bytes) == (flash.age_seconds, flash.out_bytes)
    assert found.drive_life_years is None
    assert found.pool_bytes.value == pytest.approx(found.out_bytes.value / 3.0)
    assert flash.pool_bytes.value == 0.0
    assert found.cost_per_year.value == pytest.approx(found.pool_bytes.value / GIB * 10.0 / 5.0)
    assert found.saving_per_year.value == pytest.approx(found.out_bytes.value * 2 / 3 / GIB * 10.0 / 5.0)
    assert found.wait_ratio.value == pytest.approx(flash.wait_ratio.value * 4.0 / 80.0)
    assert found.loss.value == pytest.approx(found.wait_ratio.value / 1e3)
    # A price that may be four times as high is that of what is freed and of what the pool takes alike.
    unsure = replace(TERMS, device="zram", cores=1e3, dram=Range(10.0, 5.0, 40.0))
    assert judge_swap_tier(busy, unsure).verdict == "pays"
    quick = replace(TERMS, device="zram", cores=1e3, latency_p99_s=2e-4)
    assert judge_swap_tier(busy, quick).verdict == "pays", "fifty swap-ins of compressed memory fit in 200 us"


def parts(age: SwapAge) -> tuple[Range, ...]:
    life = () if age.drive_life_years is None else (age.drive_life_years,)
    held = (age.out_bytes, age.pool_bytes, age.back_bytes_per_s, age.wait_ratio, age.loss)
    return (*held, age.cost_per_year, age.saving_per_year, *life)


@given(
    st.floats(0.0, 3.0),
    st.integers(3, 20),
    st.floats(0.0, 0.3),
    st.sampled_from(["block", "zns", "zram"]),
    st.floats(0.1, 1e3),
)
def test_ends_hold_the_middle_and_later_ages_hold_less(
    per_minute: float, lags: int, band: float, device: str, cores: float
) -> None:
    terms = replace(TERMS, device=device, cores=cores)  # type: ignore[arg-type]
    found = judge_swap_tier(cold_memory(per_minute, lags=lags, band=band), terms)
    assert len(found.ages) == lags + 1
    for age in found.ages:
        assert all(ordered(part) for part in parts(age)), age
        assert 0.0 <= age.loss.high <= 1.0
    held = [age.out_bytes.value for age in found.ages]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(held))
    if found.verdict != "keep_out":
        assert found.best.loss.high <= terms.loss_target


def test_cxl_beside_swap_is_judged_by_cost_among_what_keeps_the_target() -> None:
    media, controller = Range(2.0, 1.0, 3.0), Range(384.0, 384.0, 384.0)
    calm = judge_swap_tier(cold_memory(1e-5), TERMS)
    beside = weigh_cxl(calm, TERMS, media, controller)
    assert beside.cost_per_year.value == pytest.approx(64 * (2.0 + 1.0) / 5.0)
    assert beside.saving_per_year.value == pytest.approx(64 * (10.0 - 3.0) / 5.0)
    drive = 64 * 10.0 / 5.0 - calm.best.saving_per_year.value
    assert beside.swap_cost_per_year.value == pytest.approx(drive)
    assert beside.cheaper == "swap", "a drive at 0.2 a GB, twice the size, against 3 a GB"
    free = weigh_cxl(calm, TERMS, Range(0.0, 0.0, 0.0), Range(0.0, 0.0, 0.0))
    assert free.cheaper == "cxl"
    busy = judge_swap_tier(cold_memory(0.5), TERMS)
    assert busy.verdict == "keep_out"
    kept = weigh_cxl(busy, TERMS, media, controller)
    assert (kept.cheaper, kept.loss.high <= TERMS.loss_target) == ("cxl", True), "swap does not keep the target"
    strict = replace(TERMS, loss_target=1e-9)
    assert weigh_cxl(judge_swap_tier(cold_memory(0.5), strict), strict, media, controller).cheaper is None
    wide = weigh_cxl(calm, TERMS, Range(2.0, 0.0, 3.0), Range(0.0, 0.0, 0.0))
    assert wide.cheaper is None, "their costs overlap"
    for found in (beside.cost_per_year, beside.swap_cost_per_year, beside.saving_per_year, beside.loss):
        assert ordered(found)
