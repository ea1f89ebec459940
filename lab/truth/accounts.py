"""What hosts of a fleet cost, by accounts of the judge's own; and the same question as the service is asked it."""

from typing import Any

DRAM_RATIOS = (0.8, 2 / 3, 0.5)
"""4:1, 2:1 and 1:1: hosts as they could be."""
PRICE_DATE = "2026-01-01"
DRAM_PER_GB, CXL_PER_GB, CONTROLLER, SSD_PER_GB, PER_KWH = 11.0, 7.0, 500.0, 0.3, 0.09
MACHINE, MACHINE_W = 9000.0, 350.0
DRAM_W_PER_GB, CXL_W_PER_GB, CONTROLLER_W, PUE = 0.12, 0.12, 15.0, 1.5
LIFE_YEARS = 5.0
HOURS_OF_YEAR = 8760.0


def annual_cost(dram_gb: float, cxl_gb: float) -> float:
    """Of one host in dollars, straight line: machine, memory, one controller where there is CXL memory, energy."""
    devices = 1.0 if cxl_gb > 0 else 0.0
    bought = MACHINE + dram_gb * DRAM_PER_GB + cxl_gb * CXL_PER_GB + devices * CONTROLLER
    watts = MACHINE_W + dram_gb * DRAM_W_PER_GB + cxl_gb * CXL_W_PER_GB + devices * CONTROLLER_W
    return bought / LIFE_YEARS + watts * PUE * HOURS_OF_YEAR / 1000.0 * PER_KWH


def saving(memory_gb: float, dram_ratio: float, loss: float) -> float:
    """Dollars a year and unit of work, against a host with all its memory in DRAM."""
    tiered = annual_cost(memory_gb * dram_ratio, memory_gb * (1.0 - dram_ratio))
    return annual_cost(memory_gb, 0.0) - tiered / (1.0 - loss)


def scenario(service_id: str, memory_gb: float, dram_ratio: float) -> dict[str, Any]:
    """The same hosts as a scenario whose only doubt is the loss."""

    def price(value: float) -> dict[str, Any]:
        return {"value": value, "source": "judge", "date": PRICE_DATE}

    return {
        "name": "judged",
        "skus": [{"name": "machine", "price": MACHINE, "watts": MACHINE_W}],
        "baseline": {"name": "all DRAM", "sku": "machine", "dram_gb": memory_gb},
        "options": [
            {
                "name": "tiered",
                "sku": "machine",
                "dram_gb": memory_gb * dram_ratio,
                "cxl": {"gb": memory_gb * (1.0 - dram_ratio), "devices": 1},
                "loss": {"kind": "service", "service": service_id, "dram_ratio": dram_ratio},
            }
        ],
        "prices": {
            "dram": price(DRAM_PER_GB),
            "cxl_media": price(CXL_PER_GB),
            "cxl_controller": price(CONTROLLER),
            "ssd": price(SSD_PER_GB),
            "electricity": price(PER_KWH),
        },
        "power": {
            "dram_w_per_gb": {"value": DRAM_W_PER_GB},
            "cxl_w_per_gb": {"value": CXL_W_PER_GB},
            "controller_w": {"value": CONTROLLER_W},
            "pue": {"value": PUE},
        },
        "finance": {"life_years": LIFE_YEARS},
    }
