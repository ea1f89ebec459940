"""Scenarios of cost: the worked example, and random ones with every kind of memory."""

import random
from collections.abc import Mapping

from tierscope.domain.tco.scenario import (
    POSITIVE_INPUTS,
    SHARED_INPUTS,
    Design,
    Expander,
    Finance,
    Fleet,
    LogOdds,
    Range,
    Scenario,
    SharedName,
    Sku,
    Swap,
    Zswap,
)

EXAMPLE_VALUES: Mapping[SharedName, float] = {
    "dram": 10.0,
    "cxl_media": 4.0,
    "cxl_controller": 300.0,
    "electricity": 0.09,
    "pue": 1.5,
    "dram_w_per_gb": 0.15,
    "cxl_w_per_gb": 0.15,
    "controller_w": 20.0,
}


def exact(values: Mapping[SharedName, float]) -> dict[SharedName, Range]:
    """Certain inputs; those that are left out cost nothing."""
    return {name: Range.exactly(values.get(name, 1.0 if name in POSITIVE_INPUTS else 0.0)) for name in SHARED_INPUTS}


def worked_example() -> Scenario:
    """768 GB of DRAM against 512 GB with 256 GB behind CXL, loss 0.5 %, 1,000 hosts: the worked example."""
    sku = Sku("plain", 10_000.0, 0.0)
    baseline = Design("today", sku, 768.0, None, None, None, None, Range.exactly(0.0))
    option = Design("CXL", sku, 512.0, Expander(256.0, 1), None, None, None, Range.exactly(0.005))
    finance, fleet = Finance(5.0, 0.08, "straight_line"), Fleet(1000, 0.0, 1)
    return Scenario("worked example", "USD", baseline, (option,), exact(EXAMPLE_VALUES), finance, fleet)


def random_scenario(seed: int) -> Scenario:
    """A baseline and three options of every kind of memory, with ranges on everything."""
    dice = random.Random(seed)  # noqa: S311 - a seeded test

    def between(low: float, high: float) -> Range:
        return random_range(low, high, dice)

    inputs: dict[SharedName, Range] = {
        "dram": between(4.0, 40.0),
        "cxl_media": between(1.0, 40.0),
        "ddr4_reused": between(0.0, 8.0),
        "cxl_controller": between(200.0, 1200.0),
        "ssd": between(0.05, 0.4),
        "electricity": between(0.05, 0.3),
        "dram_w_per_gb": between(0.05, 0.3),
        "cxl_w_per_gb": between(0.05, 0.3),
        "ddr4_w_per_gb": between(0.05, 0.3),
        "controller_w": between(8.0, 30.0),
        "pue": between(1.05, 1.8),
        "drive_writes_per_day": between(0.3, 3.0),
        "drive_years": between(3.0, 5.0),
        "waf_ssd": between(1.5, 4.0),
        "waf_zns": between(1.0, 1.2),
        "waf_rated": between(1.0, 1.5),
    }

    finance = Finance(dice.uniform(3.0, 7.0), dice.uniform(0.0, 0.15), dice.choice(["straight_line", "crf"]))
    fleet = Fleet(dice.randint(1, 20_000), dice.uniform(-0.1, 0.5), dice.randint(1, 7))
    designs = [random_design(name, dice) for name in ("today", "first", "second", "third")]
    linked = dice.random() < 0.3
    if linked:
        inputs["cxl_media"] = inputs["dram"]
    return Scenario(f"seed {seed}", "USD", designs[0], tuple(designs[1:]), inputs, finance, fleet, linked=linked)


def random_design(name: str, dice: random.Random) -> Design:
    """A host with some of all kinds of memory."""
    dram = dice.uniform(128.0, 1024.0)
    size = dice.uniform(500.0, 8000.0)
    cxl = Expander(dice.uniform(64.0, 512.0), dice.randint(1, 4)) if dice.random() < 0.7 else None
    ddr4 = Expander(dice.uniform(64.0, 512.0), dice.randint(1, 4)) if dice.random() < 0.5 else None
    swap = Swap(
        zoned=dice.random() < 0.5,
        gb=size,
        used_gb=dice.uniform(0.0, size / 10),
        swap_out_mb_per_s=random_range(1.0, 200.0, dice),
        paid="capex" if dice.random() < 0.5 else "wear",
        watts=dice.uniform(0.0, 12.0),
    )
    zswap = Zswap(dram * dice.uniform(0.0, 0.3), dice.uniform(1.0, 4.0), dice.uniform(0.0, 0.05))
    loss = (
        random_range(0.0, 0.2, dice)
        if dice.random() < 0.5
        else LogOdds(dice.uniform(0.001, 0.1), dice.uniform(0.1, 2.0), dice.uniform(0.1, 1.0))
    )
    return Design(
        name,
        Sku(f"sku of {name}", dice.uniform(5e3, 2e4), dice.uniform(200.0, 600.0)),
        dram,
        cxl,
        ddr4,
        swap if dice.random() < 0.7 else None,
        zswap if dice.random() < 0.6 else None,
        loss,
        dice.choice([0.0, dice.uniform(0.0, 500.0)]),
        "more" if dice.random() < 0.4 else "same",
        dice.choice([1.0, dice.uniform(0.8, 2.5)]),
    )


def random_range(low: float, high: float, dice: random.Random) -> Range:
    """A value between two ends, with a range around it."""
    ends = sorted(dice.uniform(low, high) for _ in range(3))
    return Range(ends[1], ends[0], ends[2])
