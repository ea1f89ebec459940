"""Swap devices: intervals over seeds, what is refused, and what a small device shows."""

import math

import pytest

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

from tierscope.core.errors import BadRequest
from tierscope.domain.simulate.swap_amplification import (
    MODELLED,
    amplification_at,
    simulated_rows,
)
from tierscope.domain.simulate.swap_devices import (
    LOADS,
    SWAP_DEVICES,
    Load,
    SwapDeviceError,
    SwapDeviceName,
    device_settings,
    estimate,
    interference,
    read_loads,
    simulate_device,
    tenants_at,
)
from tierscope.domain.simulate.swap_points import KEPT_LOADS, KEPT_UTILISATIONS, kept_points, simulate_point
from tierscope.usecases.simulate.swap_devices import SwapDeviceReads, WantedDevices, compare_swap_devices

SMALL = {
    "slots": 8_192.0,
    "dies": 4.0,
    "slots_per_page": 8.0,
    "write_buffer_slots": 256.0,
    "warm_up_writes_ratio": 2.0,
    "measured_writes_ratio": 1.0,
}


@pytest.mark.parametrize("device", SWAP_DEVICES)
def test_every_device_answers_with_the_seeds_it_was_run_with(device: str) -> None:
    found = simulate_device(device, 0.6, [LOADS["mixed"]], settings=SMALL)  # type: ignore[arg-type]
    assert found.error is None
    (tenant,) = found.tenants
    for figure in (tenant.swap_in_bytes_per_s, tenant.swap_in_p99_seconds):
        assert figure is not None
        assert figure.seeds == 3
        assert 0.0 < figure.lo <= figure.value <= figure.hi or figure.lo == 0.0
    assert (found.write_amplification is None) == (device == "zram")
    assert (found.compression_ratio is None) == (device not in ("zram", "zswap"))
    if found.write_amplification and found.host_amplification and found.device_amplification:
        parts = found.host_amplification.value * found.device_amplification.value
        assert found.write_amplification.value == pytest.approx(parts, rel=0.02)


def test_amplification_grows_with_use_and_falls_with_spare_flash() -> None:
    def amplified(use: float, spare: float) -> float:
        settings = SMALL | {"spare_ratio": spare}
        figure = simulate_device("zns", use, [LOADS["uniform_writes"]], settings=settings).write_amplification
        assert figure is not None
        return figure.value

    rising = [amplified(use, 0.07) for use in (0.3, 0.6, 0.9)]
    assert rising == sorted(rising)
    assert rising[0] < 1.2
    assert amplified(0.9, 0.5) < 0.7 * rising[-1]


def test_zones_per_cgroup_separate_a_reader_from_the_garbage_of_a_writer() -> None:
    _, shared = interference("zns", 0.7, settings=SMALL)
    _, own = interference("zns_per_tenant", 0.7, settings=SMALL)
    tails = [point.tenants[0].swap_in_p99_seconds for point in (shared, own)]
    assert tails[0] is not None
    assert tails[1] is not None
    assert tails[1].value < tails[0].value
    written = [point.tenants[0].written_ratio for point in (shared, own)]
    assert written[0] is not None
    assert written[1] is not None
    assert written[1].value <= written[0].value


def test_a_device_without_room_says_so_in_its_point() -> None:
    found = simulate_device("block", 1.0, [LOADS["mixed"]], settings=SMALL | {"spare_ratio": 0.0, "cutoff_ratio": 1.0})
    assert found.error is None or "full" in found.error
    over = tenants_at(1.0, [LOADS["mixed"]], SMALL["slots"])
    assert over[0]["pages"] - over[0]["frames"] == SMALL["slots"]


@pytest.mark.parametrize(
    ("use", "loads", "settings", "seeds", "cause"),
    [
        (0.0, [LOADS["mixed"]], {}, (1, 2, 3), "utilisation"),
        (0.5, [LOADS["mixed"]], {"slot": 1.0}, (1, 2, 3), "there is no setting slot"),
        (0.5, [LOADS["mixed"]], {"slots": 100.0}, (1, 2, 3), "whole clusters"),
        (0.5, [LOADS["mixed"]], {}, (1, 1, 1), "different seeds"),
        (0.5, [Load(0.5, local_ratio=1.0)], {}, (1, 2, 3), "share of pages in memory"),
        (0.5, [Load(2.0)], SMALL, (1, 2, 3), "store_ratio"),
    ],
)
def test_what_cannot_be_is_refused_with_its_cause(
    use: float, loads: list[Load], settings: dict[str, float], seeds: tuple[int, ...], cause: str
) -> None:
    with pytest.raises(SwapDeviceError, match=cause):
        simulate_device("block", use, loads, settings=settings, seeds=seeds)


def test_unknown_devices_and_loads_are_named() -> None:
    with pytest.raises(SwapDeviceError, match="there is no swap device tape; there are block, "):
        simulate_device("tape", 0.5, [LOADS["mixed"]])  # type: ignore[arg-type]
    with pytest.raises(SwapDeviceError, match="there is no load idle; there are read_only, "):
        read_loads(["mixed", "idle"])


def test_intervals_are_those_of_student_and_never_below_what_can_be() -> None:
    found = estimate([2.0, 3.0, 4.0])
    assert found is not None
    assert found.value == 3.0
    assert found.hi - found.value == pytest.approx(4.302653 * 1.0 / math.sqrt(3))
    assert estimate([1.0, 1.0, 4.0], floor=1.0) is not None
    bounded = estimate([1.0, 1.0, 4.0], floor=1.0)
    assert bounded is not None
    assert bounded.lo == 1.0
    assert estimate([1.0, None, 2.0]) is None
    assert estimate([1.0, 2.0]) is None
    assert device_settings({"dies": 4.0})["dies"] == 4.0


@pytest.mark.parametrize(
    ("device", "load", "use"),
    [("block_trim_coarse", "mixed", 0.9), ("zns", "read_mostly", 0.6), ("zram", "write_heavy", 0.3)],
)
def test_kept_points_are_what_the_model_says(device: SwapDeviceName, load: str, use: float) -> None:
    assert simulate_point(device, load, use) == kept_points()[device, load, use]


def test_kept_points_are_complete_and_the_command_and_the_chart_answer_with_them() -> None:
    kept = kept_points()
    assert len(kept) == len(SWAP_DEVICES) * len(KEPT_LOADS) * len(KEPT_UTILISATIONS)
    chart = SwapDeviceReads().curves("write_heavy")
    assert {one.load for one in chart.published} == {"write_heavy"}
    assert len(chart.points) == len(SWAP_DEVICES) * len(KEPT_UTILISATIONS)
    asked = compare_swap_devices(WantedDevices(("zns",), (0.7,), ("write_heavy",)))
    assert asked.points == (kept["zns", "write_heavy", 0.7],)
    with pytest.raises(BadRequest, match="no curves are kept of the load 'idle'"):
        SwapDeviceReads().curves("idle")


def test_amplification_lies_between_simulated_uses_and_is_held_within_them() -> None:
    for drive in MODELLED:
        rows = simulated_rows(drive)
        for row in rows:
            assert 1.0 <= row[2] <= row[1] <= row[3]
        found = amplification_at(drive, (rows[3][0] + rows[4][0]) / 2)
        assert found.value == pytest.approx((rows[3][1] + rows[4][1]) / 2)
        assert amplification_at(drive, 1.0).utilisation == rows[-1][0]
    with pytest.raises(ValueError, match=r"in 0\.\.1, not 1\.1"):
        amplification_at("zns", 1.1)
