"""Swap devices under load: write amplification, throughput and times of swap-in against use, with their intervals.

The model is compiled (`backend/simcore/swapdev`); docs/method/swap-devices.md says what it holds. Everything here is
simulated. Grounding: [S] source paper, [L] kernel or literature, [A] assumption of the product.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
import scipy

from tierscope.domain.base.compiled import compiled_core
from tierscope.domain.base.page_size import MODEL_PAGE_BYTES

SwapDeviceName = Literal[
    "block",
    "block_trim_fine",
    "block_trim_coarse",
    "zns",
    "zns_per_core",
    "zns_hot_cold",
    "zns_per_tenant",
    "zram",
    "zswap",
]
SWAP_DEVICES: tuple[SwapDeviceName, ...] = get_args(SwapDeviceName)
DEVICE_LABELS: Mapping[SwapDeviceName, str] = {
    "block": "Block SSD, no TRIM",
    "block_trim_fine": "Block SSD, TRIM of 8 slots",
    "block_trim_coarse": "Block SSD, TRIM of 512 slots (Linux)",
    "zns": "Zoned SSD, shared zones",
    "zns_per_core": "Zoned SSD, zones per core",
    "zns_hot_cold": "Zoned SSD, hot and cold zones",
    "zns_per_tenant": "Zoned SSD, zones per cgroup",
    "zram": "zram",
    "zswap": "zswap before a block SSD",
}
LEVEL = 0.95
SEEDS = (1, 2, 3)
MIN_SEEDS, MAX_SEEDS = 3, 9


class SwapDeviceError(ValueError):
    """A swap device, load or setting that cannot be simulated; the text says which one and what it may be."""


@dataclass(frozen=True, slots=True)
class DeviceSetting:
    """A number of the model: `default` in `unit`, and where it is from."""

    name: str
    default: float
    unit: str
    source: str


DEVICE_SETTINGS: tuple[DeviceSetting, ...] = (
    DeviceSetting("slots", 32_768, "slots of 4 KiB", "[A] 128 MiB stand for a drive: ratios decide, not sizes"),
    DeviceSetting("spare_ratio", 0.07, "ratio", "[A] 2^30 bytes of flash for 10^9 sold"),
    DeviceSetting("dies", 8, "dies", "[A]"),
    DeviceSetting("slots_per_page", 16, "slots", "[A] 16 KiB pages of four planes, programmed at once"),
    DeviceSetting("pages_per_block", 4, "program operations", "[A] small, so that a small drive has 64 superblocks"),
    DeviceSetting("read_ns", 60_000, "ns", "[A] TLC"),
    DeviceSetting("transfer_ns", 10_000, "ns", "[A] NVMe command and 4 KiB"),
    DeviceSetting("program_ns", 600_000, "ns", "[A] TLC"),
    DeviceSetting("erase_ns", 3_500_000, "ns", "[A] TLC"),
    DeviceSetting("write_buffer_slots", 1_024, "slots", "[A] 4 MiB"),
    DeviceSetting("trim_ns", 50_000, "ns", "[A] one TRIM command"),
    DeviceSetting("cutoff_ratio", 0.5, "ratio", "[L] vm_swap_full of mm/swap.h"),
    DeviceSetting("open_zones", 14, "zones", "[A] a zoned drive of 2021"),
    DeviceSetting("copy_ns", 2_000, "ns", "[A] the host's time to copy a slot or a page"),
    DeviceSetting("median_ratio", 3.0, "ratio", "[A] compression of the median page"),
    DeviceSetting("ratio_log_sd", 0.5, "log ratio", "[A] spread of that"),
    DeviceSetting("same_filled_ratio", 0.1, "ratio", "[A] pages that repeat one word"),
    DeviceSetting("compress_ns", 3_000, "ns", "[A] lz4, one page"),
    DeviceSetting("decompress_ns", 1_500, "ns", "[A] lz4, one page"),
    DeviceSetting("same_filled_ns", 300, "ns", "[A] check or fill a page"),
    DeviceSetting("pool_ratio", 0.2, "ratio", "[L] max_pool_percent of zswap, of the tenants' memory"),
    DeviceSetting("cpus", 8, "CPUs", "[A]"),
    DeviceSetting("warm_up_writes_ratio", 4.0, "ratio", "[A] flash is written four times before anything counts"),
    DeviceSetting("measured_writes_ratio", 2.0, "ratio", "[A]"),
)


@dataclass(frozen=True, slots=True)
class Load:
    """How a tenant uses its memory: shares of accesses and pages, threads, time between two accesses of a thread."""

    store_ratio: float
    hot_pages_ratio: float = 0.2
    hot_accesses_ratio: float = 0.8
    local_ratio: float = 0.3
    threads: int = 16
    access_us: float = 1.0


LOADS: Mapping[str, Load] = {
    "read_only": Load(0.0),
    "read_mostly": Load(0.05),
    "mixed": Load(0.5),
    "write_heavy": Load(1.0),
    "uniform_writes": Load(1.0, hot_accesses_ratio=0.0),
}
"""Loads by name: 80 % of accesses to 20 % of pages [A], 30 % of pages fit into memory [A]."""
IDLE_US = 1e6


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean over seeds with the 95 % interval of that mean (Student's t); `lo` and `hi` are bounded by what can be."""

    value: float
    lo: float
    hi: float
    seeds: int


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """What a tenant sees. Null without swap-ins, or where a pool has no such figure."""

    swap_in_bytes_per_s: Estimate | None
    swap_out_bytes_per_s: Estimate | None
    swap_in_p50_seconds: Estimate | None
    swap_in_p99_seconds: Estimate | None
    swap_in_p999_seconds: Estimate | None
    written_ratio: Estimate | None
    """Evicted pages that had to be written."""


@dataclass(frozen=True, slots=True)
class DevicePoint:
    """A device at one use. Amplifications are null where nothing was written; `error`: why there are no figures.

    `flash_bytes_per_s`: writes to flash; null without flash.
    """

    device: SwapDeviceName
    utilisation: float
    write_amplification: Estimate | None = None
    host_amplification: Estimate | None = None
    device_amplification: Estimate | None = None
    used_ratio: Estimate | None = None
    busy_ratio: Estimate | None = None
    flash_bytes_per_s: Estimate | None = None
    compression_ratio: Estimate | None = None
    trims_per_swap_out: Estimate | None = None
    tenants: tuple[TenantFigures, ...] = ()
    error: str | None = None


def device_settings(given: Mapping[str, float] | None = None) -> dict[str, float]:
    """All settings of the model, those given in place of their defaults.

    Raises:
        SwapDeviceError: a setting that is not known.
    """
    settings = {setting.name: setting.default for setting in DEVICE_SETTINGS}
    unknown = sorted(set(given or {}) - set(settings))
    if unknown:
        raise SwapDeviceError(f"there is no setting {unknown[0]}; there are {', '.join(settings)}")
    return settings | dict(given or {})


def tenants_at(utilisation: float, loads: Sequence[Load], slots: float) -> list[dict[str, float]]:
    """Tenants of equal size whose pages beyond memory take this share of the device together.

    Raises:
        SwapDeviceError: a share or a load that leaves no pages.
    """
    if not (0.0 < utilisation <= 1.0):
        raise SwapDeviceError(f"a utilisation is above 0 and at most 1, not {utilisation:g}")
    tenants = []
    for load in loads:
        if not 0.0 < load.local_ratio < 1.0:
            raise SwapDeviceError(f"the share of pages in memory is between 0 and 1, not {load.local_ratio:g}")
        swapped = math.floor(utilisation * slots / len(loads))
        pages = round(swapped / (1.0 - load.local_ratio))
        tenants.append(
            {
                "pages": pages,
                "frames": pages - swapped,
                "threads": load.threads,
                "store_ratio": load.store_ratio,
                "hot_pages_ratio": load.hot_pages_ratio,
                "hot_accesses_ratio": load.hot_accesses_ratio,
                "access_ns": load.access_us * 1e3,
            }
        )
    return tenants


def simulate_device(
    device: SwapDeviceName,
    utilisation: float,
    loads: Sequence[Load],
    *,
    settings: Mapping[str, float] | None = None,
    seeds: Sequence[int] = SEEDS,
) -> DevicePoint:
    """Run a device with its tenants, once for each seed. A device that is too full gives a point with its error.

    Raises:
        SwapDeviceError: a setting, load or utilisation that cannot be, or fewer than three seeds.
        RuntimeError: the compiled core is not built, or is older than this program.
    """
    read_devices([device])
    if not MIN_SEEDS <= len(set(seeds)) <= MAX_SEEDS:
        raise SwapDeviceError(f"an interval needs {MIN_SEEDS} to {MAX_SEEDS} different seeds")
    numbers = device_settings(settings)
    tenants = tenants_at(utilisation, loads, numbers["slots"])
    frames = sum(tenant["frames"] for tenant in tenants)
    numbers["pool_bytes"] = numbers.pop("pool_ratio") * frames * MODEL_PAGE_BYTES
    core = compiled_core("SwapDeviceFull", "swap devices are simulated by")
    runs = []
    for seed in seeds:
        try:
            runs.append(core.run_swap_device(device, numbers, tenants, seed=seed))
        except core.SwapDeviceFull as error:
            return DevicePoint(device, utilisation, error=str(error))
        except ValueError as error:
            raise SwapDeviceError(str(error)) from error
    return point_of(device, utilisation, runs)


def read_devices(names: Sequence[str]) -> tuple[SwapDeviceName, ...]:
    """Devices by their names.

    Raises:
        SwapDeviceError: a name that is not known.
    """
    unknown = [name for name in names if name not in SWAP_DEVICES]
    if unknown:
        raise SwapDeviceError(f"there is no swap device {unknown[0]}; there are {', '.join(SWAP_DEVICES)}")
    return cast("tuple[SwapDeviceName, ...]", tuple(names))


def read_loads(names: Sequence[str]) -> list[Load]:
    """Loads by their names.

    Raises:
        SwapDeviceError: a name that is not known.
    """
    unknown = [name for name in names if name not in LOADS]
    if unknown:
        raise SwapDeviceError(f"there is no load {unknown[0]}; there are {', '.join(LOADS)}")
    return [LOADS[name] for name in names]


def interference(
    device: SwapDeviceName,
    utilisation: float,
    *,
    settings: Mapping[str, float] | None = None,
    seeds: Sequence[int] = SEEDS,
) -> tuple[DevicePoint, DevicePoint]:
    """A read-only tenant beside one that is idle, then beside one that writes. Each holds half of what is swapped."""
    reader, writer = LOADS["read_only"], LOADS["write_heavy"]
    idle = Load(writer.store_ratio, threads=1, access_us=IDLE_US)
    alone = simulate_device(device, utilisation, (reader, idle), settings=settings, seeds=seeds)
    return alone, simulate_device(device, utilisation, (reader, writer), settings=settings, seeds=seeds)


Run = tuple[dict[str, float | None], list[dict[str, float | None]]]


def point_of(device: SwapDeviceName, utilisation: float, runs: Sequence[Run]) -> DevicePoint:
    """Figures of a device at a use over the runs of its seeds."""
    found = [run[0] for run in runs]

    def ratio(part: str, whole: str) -> Estimate | None:
        return estimate([_over(one[part], one[whole]) for one in found])

    return DevicePoint(
        device,
        utilisation,
        write_amplification=estimate([one["write_amplification"] for one in found], floor=1.0),
        host_amplification=estimate([one["host_amplification"] for one in found], floor=1.0),
        device_amplification=estimate([one["device_amplification"] for one in found], floor=1.0),
        used_ratio=estimate([one["used_ratio"] for one in found]),
        busy_ratio=estimate([one["busy_ratio"] for one in found]),
        flash_bytes_per_s=estimate([_flash_bytes_per_s(one) for one in found]),
        compression_ratio=estimate([_over(_bytes(one["pool_pages"]), one["pool_bytes"]) for one in found]),
        trims_per_swap_out=ratio("trims", "swap_writes"),
        tenants=tuple(_tenant(runs, number) for number in range(len(runs[0][1]))),
    )


def _flash_bytes_per_s(found: Mapping[str, float | None]) -> float | None:
    has_flash = found["busy_ratio"] is not None
    return _over(_bytes(found["flash_writes"]), _seconds(found["elapsed_ns"])) if has_flash else None


def _tenant(runs: Sequence[Run], number: int) -> TenantFigures:
    seen = [(run[0]["elapsed_ns"], run[1][number]) for run in runs]

    def rate(name: str) -> Estimate | None:
        return estimate([_over(_bytes(one[name]), _seconds(elapsed)) for elapsed, one in seen])

    def time(name: str) -> Estimate | None:
        return estimate([_seconds(one[name]) for _, one in seen])

    return TenantFigures(
        swap_in_bytes_per_s=rate("swap_ins"),
        swap_out_bytes_per_s=rate("swap_outs"),
        swap_in_p50_seconds=time("swap_in_p50_ns"),
        swap_in_p99_seconds=time("swap_in_p99_ns"),
        swap_in_p999_seconds=time("swap_in_p999_ns"),
        written_ratio=estimate([_over(one["swap_outs"], one["evictions"]) for _, one in seen]),
    )


def estimate(values: Sequence[float | None], *, floor: float = 0.0) -> Estimate | None:
    """Mean and interval over seeds; None where any seed has no value."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(known) < MIN_SEEDS:
        return None
    mean, n = float(np.mean(known)), len(known)
    half = float(scipy.special.stdtrit(n - 1, (1.0 + LEVEL) / 2.0)) * float(np.std(known, ddof=1)) / math.sqrt(n)
    return Estimate(mean, max(mean - half, min(floor, mean)), mean + half, n)


def _over(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _bytes(pages: float | None) -> float | None:
    return None if pages is None else pages * MODEL_PAGE_BYTES


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns * 1e-9
