"""A replay's own swap traffic on a device: what is counted, how areas are sized and sampled, and what is refused."""

from dataclasses import asdict

import numpy as np
import pytest

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

from tierscope.domain.simulate import Costs, make_policy, make_workload, replay, split_machine
from tierscope.domain.simulate.endurance import drive_life_years
from tierscope.domain.simulate.replay import Outcome, SwapTraffic
from tierscope.domain.simulate.swap_devices import DevicePoint, SwapDeviceError
from tierscope.domain.simulate.swap_replay import DeviceUse, most_out, play_on_device
from tierscope.domain.simulate.sweep import SweepRun
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace, replay_run
from tierscope.usecases.simulate.basis import Basis
from tierscope.usecases.simulate.results import view_swap
from tierscope.usecases.simulate.runs import describe_run

QUICK = {"warm_up_writes_ratio": 1.0, "measured_writes_ratio": 0.5}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """One trace that swaps, on a block SSD and on a zoned one."""
    trace = make_workload("data_warehouse", seed=1, pages=20_000, intervals=60)
    machine = split_machine(trace.peak_units, 0.7)
    policies = [make_policy(name, {"swap_ratio": 0.5}) for name in ("swap_ssd", "swap_zns")]
    return {policy.name: replay(trace, policy, machine, with_swap=True) for policy in policies}


def played(outcome: Outcome, *where: object, **settings: float) -> DeviceUse:
    found = play_on_device(outcome, *where, settings=QUICK | settings)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_traffic_is_what_the_totals_say(outcomes: dict[str, Outcome]) -> None:
    for outcome in outcomes.values():
        traffic, totals = outcome.swap_traffic, outcome.totals()
        assert traffic is not None
        assert np.count_nonzero(traffic.step == 0) == totals.swapped_out_pages > 0
        assert np.count_nonzero(traffic.step == 1) == totals.swapped_in_pages > 0
        assert np.all(np.diff(traffic.interval.astype(np.int64)) >= 0)
        assert most_out(traffic) <= outcome.figures.others["swap_used"].max()


def test_most_pages_out_at_once_counts_a_page_once() -> None:
    steps = [(0, 0), (1, 0), (0, 2), (0, 2), (1, 1), (1, 2), (2, 0), (1, 0), (0, 0)]
    page, step = (np.array(column, np.uint32) for column in zip(*steps, strict=True))
    assert most_out(SwapTraffic(np.zeros(len(steps), np.uint32), page, step)) == 3
    assert most_out(SwapTraffic(*(np.zeros(0, np.uint32),) * 3)) == 0


def test_a_device_answers_for_the_area_of_the_policy_and_for_a_chosen_use(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["swap_ssd"]
    traffic = outcome.swap_traffic
    assert traffic is not None
    own, fuller = played(outcome), played(outcome, "zns", 0.8)
    assert own.point.device == "block_trim_coarse"
    assert own.area_bytes == outcome.machine.swap_pages * 4096
    assert own.point.utilisation == pytest.approx(most_out(traffic) / outcome.machine.swap_pages)
    assert fuller.point.utilisation == pytest.approx(0.8)
    assert fuller.area_bytes < own.area_bytes
    for use in (own, fuller):
        (tenant,) = use.point.tenants
        assert use.is_settled
        assert use.keeps_up_ratio is not None
        assert use.keeps_up_ratio.value == pytest.approx(1.0)
        assert use.point.write_amplification is not None
        assert use.point.write_amplification.value >= 1.0
        assert use.flash_writes_per_day is not None
        assert use.drive_life_years is not None
        assert tenant.swap_out_bytes_per_s is not None
        assert tenant.swap_in_p99_seconds is not None
        assert tenant.swap_in_p99_seconds.value >= 70e-6
        flash = tenant.swap_out_bytes_per_s.value * use.point.write_amplification.value
        assert use.flash_writes_per_day.value * use.area_bytes / 86_400 == pytest.approx(flash, rel=0.02)
        assert use.drive_life_years.value == pytest.approx(5.0 / use.flash_writes_per_day.value)


def test_a_sampled_area_keeps_the_rates_of_the_machine(
    outcomes: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = played(outcomes["swap_zns"])
    monkeypatch.setattr("tierscope.domain.simulate.swap_replay.MAX_SLOTS", 4_096)
    part = played(outcomes["swap_zns"])
    assert part.pages_ratio < 0.5 < whole.pages_ratio == 1.0
    rates = [use.point.tenants[0].swap_out_bytes_per_s for use in (whole, part)]
    assert rates[0] is not None
    assert rates[1] is not None
    assert rates[1].value == pytest.approx(rates[0].value, rel=0.1)


def test_zram_has_no_flash_and_a_slow_device_falls_behind(outcomes: dict[str, Outcome]) -> None:
    zram = played(outcomes["swap_ssd"], "zram")
    assert zram.flash_writes_per_day is None
    assert zram.drive_life_years is None
    assert zram.point.compression_ratio is not None
    slow = played(outcomes["swap_ssd"], "block", dies=1, program_ns=9e8, erase_ns=1e9, slots_per_page=1)
    assert slow.keeps_up_ratio is not None
    assert slow.keeps_up_ratio.value < 0.9


def test_what_is_too_small_or_cannot_be_says_so(outcomes: dict[str, Outcome]) -> None:
    small = make_workload("data_warehouse", seed=1, pages=2_000, intervals=30)
    machine = split_machine(small.peak_units, 0.7)
    use = play_on_device(replay(small, make_policy("swap_ssd"), machine, with_swap=True))
    assert use is not None
    assert use.point.error is not None
    assert "too few to be a device" in use.point.error
    assert play_on_device(replay(small, make_policy("swap_ssd"), machine)) is None
    assert play_on_device(replay(small, make_policy("first_touch"), machine, with_swap=True)) is None
    with pytest.raises(SwapDeviceError, match=r"at most 1, not 1\.5"):
        play_on_device(outcomes["swap_ssd"], utilisation=1.5)
    with pytest.raises(SwapDeviceError, match="there is no setting dice"):
        play_on_device(outcomes["swap_ssd"], settings={"dice": 1.0})
    with pytest.raises(SwapDeviceError, match="there is no swap device tape"):
        play_on_device(outcomes["swap_ssd"], "tape")  # type: ignore[arg-type]


def test_a_drive_lasts_as_long_as_its_rating_says() -> None:
    assert drive_life_years([0.0, 1.0, 2.0]).tolist() == [np.inf, 5.0, 2.5]
    assert drive_life_years([1.0], rated_writes_per_day=3.0, rated_amplification=2.0).tolist() == [30.0]


def test_a_run_of_a_sweep_has_its_device_as_figures_with_intervals() -> None:
    trace = make_workload("data_warehouse", seed=1, pages=20_000, intervals=40)
    run = SweepRun(0, "swap_zns", 0.7, {"swap_ratio": 0.5}, searched=False)
    outcome = replay_run([HostTrace.of_whole(trace)], run, Conditions(Costs()))
    view = view_swap(describe_run(outcome)["swap"], Basis(None, None))
    assert view is not None
    assert view.device == "zns"
    assert outcome.swap is not None
    assert view.used_ratio.value == outcome.swap.point.utilisation
    for figure in (view.write_amplification, view.swap_in_p99_us, view.drive_life_years):
        assert figure.status == "ok"
        assert figure.interval is not None
        assert figure.value is not None
        assert figure.interval.lo <= figure.value <= figure.interval.hi
    small = DeviceUse(DevicePoint("zns", 0.1, error="too few pages"), 1e6)
    refused = view_swap(asdict(small), Basis(None, None))
    assert refused is not None
    assert refused.write_amplification.reason == "too few pages"
    assert view_swap(None, Basis(None, None)) is None
