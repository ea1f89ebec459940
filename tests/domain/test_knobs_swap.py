"""Advice on swap devices: by what the host says of them, and what the model makes of their use."""

from dataclasses import replace
from typing import Any

import pytest

from tierscope.domain.knobs.advice import advise
from tierscope.domain.knobs.facts import Facts, Flows, Heat
from tierscope.domain.knobs.machine import read_host
from tierscope.domain.simulate.swap_amplification import amplification_at

FLASH = {"name": "/dev/nvme0n1p2", "kind": "partition", "size_bytes": 1000, "used_bytes": 800, "rotational": False}


def facts(*swaps: dict[str, Any], out: float = 50.0, back: float = 5.0, used: float | None = None) -> Facts:
    """A host without a slower tier and with these swap areas."""
    host = read_host({"swaps": list(swaps)})
    total, full = (sum(swap[key] for swap in swaps) for key in ("size_bytes", "used_bytes"))
    ratio = used if used is not None else full / total if total else None
    flows = Flows(swapped_out_pages_per_s=out, swapped_in_pages_per_s=back, swap_used_ratio=ratio)
    return Facts(replace(host, has_slow_tier=False), flows, Heat(), None)


def titles(given: Facts) -> list[str]:
    return [advice.title for advice in advise(given).advice]


def test_a_block_device_over_half_full_tells_what_it_writes_to_flash() -> None:
    (advice,) = advise(facts(FLASH)).advice
    assert advice.rule == "F11"
    found = {evidence.metric: evidence.value for evidence in advice.evidence}
    assert found["swap space in use"] == 0.8
    assert found["write amplification of the swap device, simulated at its use"] == amplification_at("block", 0.8).value
    assert "at 80% use" in advice.effect
    assert "memory.swap.max" in (advice.note or "")


def test_what_is_not_swapped_to_or_not_known_has_no_simulated_amplification() -> None:
    for given in (facts(FLASH, out=0.0), facts({**FLASH, "rotational": None})):
        (advice,) = advise(given).advice
        assert [evidence.metric for evidence in advice.evidence] == ["swap space in use"]
        assert "is not counted" in advice.effect


@pytest.mark.parametrize(("used", "expected"), [(600, []), (900, ["Give swap more room"])])
def test_a_zoned_device_has_no_cut_off_and_wants_room_when_reclaim_copies_much(used: int, expected: list[str]) -> None:
    given = facts({**FLASH, "zoned": "host-managed", "used_bytes": used})
    assert titles(given) == expected
    for advice in advise(given).advice:
        assert "Above half use" not in (advice.note or "")


def test_zram_has_neither_flash_nor_a_cut_off() -> None:
    assert titles(facts({**FLASH, "kind": "zram"})) == []


def test_a_rotating_disk_is_no_place_for_pages_that_come_back() -> None:
    disk = {**FLASH, "rotational": True}
    assert titles(facts(disk)) == ["Take swap off the rotating disk"]
    assert titles(facts({**disk, "used_bytes": 100}, back=0.0)) == []


def test_a_device_without_trim_is_told_that_little_is_lost() -> None:
    (advice,) = advise(facts({**FLASH, "discard": False})).advice
    assert "takes no TRIM" in (advice.note or "")
    (advice,) = advise(facts({**FLASH, "discard": True})).advice
    assert "takes no TRIM" not in (advice.note or "")


def test_an_inventory_without_swap_lists_no_drives() -> None:
    assert read_host(None).swap_drives == ()
    assert read_host({"swaps": [{"name": "file", "kind": "file"}]}).swap_drives[0].used_ratio is None
