"""A machine as the files that its kernel shows, by the kernel's own formats."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GIB = 1 << 30
KIB = 1 << 10
KIB_PER_GIB = 1 << 20
NODES = "sys/devices/system/node"
TIERS = "sys/devices/virtual/memory_tiering"
DEMOTION = "sys/kernel/mm/numa/demotion_enabled"
BALANCING = "proc/sys/kernel/numa_balancing"
_LISTS = ("Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)")
_CFMWS = 1
_ACPI_HEADER_BYTES = 36
_MEMORY_DEVICE = 17
_SIZE_AT, _TYPE_AT, _EXTENDED_SIZE_AT = 0x0C, 0x12, 0x1C


@dataclass(frozen=True, slots=True)
class Node:
    """A NUMA node; `cpus` "" has none online. `latency_ns` and `mib_per_s`: ratings of firmware, if it gives them."""

    gib: float
    cpus: str = ""
    latency_ns: int | None = None
    mib_per_s: int | None = None
    distances: str = ""
    offline_cpus: bool = False


@dataclass(frozen=True, slots=True)
class Dax:
    """A dax device: where it hangs, the node of its memory, its driver ("" for none)."""

    path: str
    node: int
    gib: int
    driver: str = "kmem"
    start_gib: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Of demotion and of NUMA balancing as the kernel prints them; None where it has none."""

    demotion: str | None = None
    balancing: str | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """What a host's kernel shows. `tiers` by kernel number; None where it prints none."""

    release: str
    nodes: Mapping[int, Node]
    tiers: Mapping[int, str] | None = None
    settings: Settings = Settings()
    dax: tuple[Dax, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    bytes_files: Mapping[str, bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    vmstat: Mapping[str, int] = field(default_factory=dict)
    meminfo_gib: float | None = None
    """Size in /proc/meminfo, where it is not that of all nodes."""


NVDIMM = "devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/dax0.0"
CXL = "devices/platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0"
HMEM = "devices/platform/hmem.0"
E820 = "devices/platform/e820_pmem/ndbus0/region0/dax0.0"


def write_tree(machine: Machine, root: Path) -> None:
    """Write what the machine shows beneath `root`."""
    files = _host(machine) | _nodes(machine) | _tiers(machine) | dict(machine.files)
    for path, text in files.items():
        if not any(path.startswith(left_out) for left_out in machine.without):
            _write(root / path, text.encode())
    for path, raw in machine.bytes_files.items():
        _write(root / path, raw)
    for path, target in machine.links.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    for number, dax in enumerate(machine.dax):
        _write_dax(root, f"dax{number}.0", dax)


def cxl_region(name: str, start_gib: int, gib: int, ways: int) -> dict[str, str]:
    at = f"sys/bus/cxl/devices/{name}"
    return {
        f"{at}/resource": f"{start_gib * GIB:#x}\n",
        f"{at}/size": f"{gib * GIB:#x}\n",
        f"{at}/commit": "1\n",
        f"{at}/mode": "ram\n",
        f"{at}/interleave_ways": f"{ways}\n",
    }


def cxl_device(name: str, gib: int) -> dict[str, str]:
    """Files of a CXL memory device with volatile capacity."""
    at = f"sys/bus/cxl/devices/{name}"
    return {f"{at}/ram/size": f"{gib * GIB:#x}\n", f"{at}/pmem/size": "0x0\n"}


def pci_function(address: str, pci_class: int) -> dict[str, str]:
    """Files of a PCI function that no driver has taken."""
    return {f"sys/bus/pci/devices/{address}/class": f"{pci_class:#08x}\n"}


def memory_blocks(node: int, spans_gib: tuple[tuple[int, int], ...], block_gib: int = 2) -> dict[str, str]:
    """Blocks of a node, by the spans (start, length) of its physical memory."""
    files = {"sys/devices/system/memory/block_size_bytes": f"{block_gib * GIB:x}\n"}
    for start, length in spans_gib:
        for block in range(start // block_gib, (start + length) // block_gib):
            files[f"{NODES}/node{node}/memory{block}/state"] = "online\n"
    return files


def program(pid: int, comm: str, *arguments: str) -> dict[str, str]:
    """Files of a running program (proc(5))."""
    at = f"proc/{pid}"
    return {
        f"{at}/stat": f"{pid} ({comm}) S 1 {pid} {pid} 0 -1 0 {'0 ' * 44}\n",
        f"{at}/comm": f"{comm}\n",
        f"{at}/cmdline": "".join(f"{argument}\0" for argument in arguments),
        f"{at}/cgroup": "0::/tools\n",
        f"{at}/numa_maps": f"00400000 default file={arguments[0]} mapped=1 N0=1 kernelpagesize_kB=4\n",
    }


def cedt(start_gib: int, gib: int) -> bytes:
    """Firmware's table with one CXL window (CXL specification, CEDT, CFMWS)."""
    body = struct.pack("<BBHIQQ", _CFMWS, 0, 24, 0, start_gib * GIB, gib * GIB)
    return bytes(_ACPI_HEADER_BYTES) + body


def memory_module(memory_type: int, gib: int = 0) -> bytes:
    """A structure of SMBIOS for a slot with a module of this type (DMTF DSP0134, 7.18)."""
    raw = bytearray(0x28)
    raw[0], raw[_SIZE_AT], raw[_TYPE_AT] = _MEMORY_DEVICE, 1, memory_type
    if gib:
        struct.pack_into("<H", raw, _SIZE_AT, 0x7FFF)
        struct.pack_into("<I", raw, _EXTENDED_SIZE_AT, gib << 10)
    return bytes(raw)


def _write(path: Path, raw: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


def _host(machine: Machine) -> dict[str, str]:
    size = sum(node.gib for node in machine.nodes.values()) if machine.meminfo_gib is None else machine.meminfo_gib
    counters = {"pgscan_kswapd": 0, "pgscan_direct": 0, "pgrefill": 0, "pgsteal_kswapd": 0, "pgsteal_direct": 0}
    no_pressure = "avg10=0.00 avg60=0.00 avg300=0.00 total=0"
    counters |= {"workingset_refault_anon": 0, "workingset_refault_file": 0} | dict(machine.vmstat)
    files = {
        "proc/meminfo": "".join(f"{name}: {kib} kB\n" for name, kib in _sizes(size, lists_of=_total(machine)).items()),
        "proc/vmstat": "".join(f"{name} {value}\n" for name, value in counters.items()),
        "proc/uptime": "86400.00 86400.00\n",
        "proc/swaps": "Filename Type Size Used Priority\n/dev/vda2 partition 8388604 0 -2\n",
        "proc/pressure/memory": f"some {no_pressure}\nfull {no_pressure}\n",
        "proc/sys/kernel/osrelease": f"{machine.release}\n",
        "proc/sys/kernel/hostname": "host\n",
        "sys/fs/cgroup/cgroup.controllers": "memory\n",
        "sys/fs/cgroup/memory.stat": "anon 0\n",
    }
    if machine.settings.demotion is not None:
        files[DEMOTION] = f"{machine.settings.demotion}\n"
    if machine.settings.balancing is not None:
        files[BALANCING] = f"{machine.settings.balancing}\n"
    return files


def _total(machine: Machine) -> float:
    return sum(node.gib for node in machine.nodes.values()) or machine.meminfo_gib or 0.0


def _sizes(gib: float, lists_of: float | None = None) -> dict[str, int]:
    """A quarter free, half of it on the four lists of reclaim."""
    whole, listed = int(gib * KIB_PER_GIB), int((gib if lists_of is None else lists_of) * KIB_PER_GIB)
    return {"MemTotal": whole, "MemFree": whole // 4} | dict.fromkeys(_LISTS, listed // 8)


def _nodes(machine: Machine) -> dict[str, str]:
    if not machine.nodes:
        return {}
    files = {f"{NODES}/online": ",".join(map(str, machine.nodes)) + "\n"}
    for number, node in machine.nodes.items():
        at = f"{NODES}/node{number}"
        files[f"{at}/cpulist"] = f"{node.cpus}\n"
        files[f"{at}/distance"] = (node.distances or _distances(machine, number)) + "\n"
        files[f"{at}/meminfo"] = "".join(f"Node {number} {name}: {kib} kB\n" for name, kib in _sizes(node.gib).items())
        if node.offline_cpus:
            files[f"{at}/cpu{number * 64}/online"] = "0\n"
        ratings = {"read_latency": node.latency_ns, "read_bandwidth": node.mib_per_s}
        files |= {
            f"{at}/access1/initiators/{name}": f"{value}\n" for name, value in ratings.items() if value is not None
        }
    return files


def _distances(machine: Machine, number: int) -> str:
    return " ".join("10" if other == number else "20" for other in machine.nodes)


def _tiers(machine: Machine) -> dict[str, str]:
    return {f"{TIERS}/memory_tier{number}/nodelist": f"{nodes}\n" for number, nodes in (machine.tiers or {}).items()}


def _write_dax(root: Path, name: str, dax: Dax) -> None:
    device = root / "sys" / dax.path / name
    _write(device / "target_node", f"{dax.node}\n".encode())
    _write(device / "size", f"{dax.gib * GIB}\n".encode())
    if dax.start_gib is not None:
        _write(device / "resource", f"{dax.start_gib * GIB:#x}\n".encode())
    bus = root / "sys/bus/dax/devices"
    bus.mkdir(parents=True, exist_ok=True)
    (bus / name).symlink_to(Path("../../..") / dax.path / name)
    if dax.driver:
        (root / "sys/bus/dax/drivers" / dax.driver).mkdir(parents=True, exist_ok=True)
        up = Path(*[".."] * len(device.relative_to(root / "sys").parts))
        (device / "driver").symlink_to(up / "bus/dax/drivers" / dax.driver)
