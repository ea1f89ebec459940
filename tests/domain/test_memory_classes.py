"""Class before tier number: what the service makes of machines whose kernel ranks memory by what it does not know."""

from typing import Any

import pytest

from tierscope.domain.fleet.host_facts import read_facts
from tierscope.domain.knobs.machine import read_host
from tierscope.domain.ledger.machine import read_machine

GIB = 1 << 30
OFF = (
    {"path": "/sys/kernel/mm/numa/demotion_enabled", "value": "false"},
    {"path": "/proc/sys/kernel/numa_balancing", "value": "1"},
)


def make_body(lower: str, ranks: dict[int, int], parts: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """Node 0 with processors, node 1 without, of this class; both settings off."""
    tiers = {rank: [node for node, own in ranks.items() if own == rank] for rank in ranks.values()}
    return {
        "nodes": [
            {"id": 0, "cpulist": "0-31", "tier_class": "dram", "memory_bytes": 480 * GIB, "parts": list(parts)},
            {"id": 1, "cpulist": "", "tier_class": lower, "memory_bytes": 96 * GIB},
        ],
        "tiers": [{"rank": rank, "nodes": nodes} for rank, nodes in tiers.items()],
        "knobs": list(OFF),
    }


@pytest.mark.parametrize(
    ("lower", "off", "has_slow_tier"),
    [("cxl", True, True), ("pmem", True, True), ("unknown", None, True), ("hbm", False, False), ("gpu", False, False)],
)
def test_only_slower_memory_has_tiering_switched_off(lower: str, *, off: bool | None, has_slow_tier: bool) -> None:
    body = make_body(lower, {0: 0, 1: 1})
    assert read_facts(body).tiering_off is off
    assert read_host(body).has_slow_tier is has_slow_tier
    assert read_facts(body).dram_bytes == 480 * GIB


def test_memory_of_a_gpu_and_unknown_memory_in_the_tier_of_dram_are_no_dram() -> None:
    for lower in ("gpu", "unknown"):
        machine = read_machine(make_body(lower, {0: 0, 1: 0}))
        assert machine.top_bytes == 480 * GIB, lower
    assert read_machine(make_body("gpu", {0: 0, 1: 0})).slow_bytes is None


def test_hbm_is_of_the_top_tier_wherever_the_kernel_puts_it() -> None:
    for ranks in ({0: 0, 1: 1}, {0: 1, 1: 0}):
        tiers = read_machine(make_body("hbm", ranks)).tiers
        assert (tiers.top_nodes, tiers.slow_nodes) == ({0, 1}, frozenset())


def test_memory_that_a_device_brought_into_a_node_of_processors_is_no_dram() -> None:
    part = {"tier_class": "pmem", "bytes": 126 * GIB, "evidence": "dax0.0"}
    assert read_facts(make_body("cxl", {0: 0, 1: 1}, (part,))).dram_bytes == 354 * GIB
