"""Kinds of hosts to plan with: whole memory modules in slots, whole CXL devices, processors."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sku:
    """One kind. All modules of a host have one size; they are added `dimm_step` at a time from `dimms_min` on."""

    name: str
    dram_slots: int
    dimm_bytes: tuple[int, ...]
    dimms_min: int = 1
    dimm_step: int = 1
    cxl_devices_max: int = 0
    cxl_device_bytes: int = 0
    cores: float | None = None
    price: float | None = None

    @property
    def dram_most(self) -> int:
        """Bytes of DRAM with the largest modules in as many slots as the steps allow."""
        return max((dimms * size for dimms in self.dimm_counts() for size in self.dimm_bytes), default=0)

    @property
    def cxl_most(self) -> int:
        """Bytes of CXL memory with all devices."""
        return self.cxl_devices_max * self.cxl_device_bytes

    def dimm_counts(self) -> range:
        """How many modules a host can have."""
        return range(self.dimms_min, self.dram_slots + 1, self.dimm_step)

    def fit_memory(self, dram: float, total: float) -> tuple[int, int] | None:
        """The least memory that holds `dram` in DRAM and `total` in all, as (DRAM bytes, devices); None if none does.

        DRAM is kept small first, then devices: bytes beyond what must be in DRAM go to CXL where there is room.
        """
        options = sorted({dimms * size for dimms in self.dimm_counts() for size in self.dimm_bytes})
        for installed in options:
            if installed < dram:
                continue
            rest = max(total - installed, 0.0)
            if rest == 0:
                return installed, 0
            devices = math.ceil(rest / self.cxl_device_bytes) if self.cxl_device_bytes else 0
            if self.cxl_device_bytes and devices <= self.cxl_devices_max:
                return installed, devices
        return None
