"""What an inventory says of a host's memory hardware: measured latency and bandwidth, CXL links, unmovable memory.

The body is the contract's Inventory with its field names; an agent of an earlier release leaves parts of it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from tierscope.domain.base.described import Described

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BenchFigure:
    """One measured figure: median and spread (10th and 90th percentile) of its repetitions."""

    name: Annotated[str, Described("idle_latency | load_latency | store_writeback_latency | read_bandwidth | ...")]
    unit: Annotated[str, Described("ns | bytes_per_s")]
    threads: int
    block_bytes: int | None
    pattern: str | None
    median: float
    p10: float
    p90: float
    repetitions: int
    disturbed: Annotated[bool, Described("The spread says that something else ran.")]


@dataclass(frozen=True, slots=True)
class LoadedPoint:
    """Latency under one load; the spread is None where it was not measured."""

    bandwidth_bytes_per_s: float
    latency_ns: float
    latency_p10_ns: float | None
    latency_p90_ns: float | None
    threads: int
    write_ratio: float
    disturbed: bool


@dataclass(frozen=True, slots=True)
class BenchSkip:
    """A figure that was not measured, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeBench:
    """What `tierscope-agent bench` measured from the processors of one node to the memory of another."""

    measured_at: datetime
    cpu_node: int
    memory_node: int
    method: str
    buffer_bytes: int | None
    huge_page_bytes: int | None
    figures: tuple[BenchFigure, ...]
    loaded: tuple[LoadedPoint, ...]
    skipped: tuple[BenchSkip, ...]


@dataclass(frozen=True, slots=True)
class CxlDevice:
    """A CXL memory device with its link. `degraded`: the link is below its best; None where it does not say."""

    name: str
    ram_bytes: int | None
    numa_node: int | None
    serial: str | None
    pci_address: str | None
    firmware_version: str | None
    link_gigatransfers_per_s: float | None
    link_width: int | None
    max_link_gigatransfers_per_s: float | None
    max_link_width: int | None
    degraded: bool | None
    aer_correctable: int | None
    aer_nonfatal: int | None
    aer_fatal: int | None


@dataclass(frozen=True, slots=True)
class Unmovable:
    """Memory of a node that no tier move can take away. None where the kernel does not say."""

    node: int
    hugetlb_bytes: int | None
    mlocked_bytes: int | None
    pinned_pages: int | None


@dataclass(frozen=True, slots=True)
class Hardware:
    """All of it. `hypervisor`: none, or what the host runs under or runs; None where unknown."""

    hypervisor: str | None
    benches: tuple[NodeBench, ...]
    cxl_devices: tuple[CxlDevice, ...]
    unmovable: tuple[Unmovable, ...]


def read_hardware(body: Body | None) -> Hardware:
    """Read an inventory; None reads as one that says nothing."""
    body = body or {}
    return Hardware(
        hypervisor=body.get("hypervisor") or None,
        benches=tuple(_bench(item) for item in body.get("benches") or ()),
        cxl_devices=tuple(_cxl(item) for item in body.get("cxl_devices") or ()),
        unmovable=tuple(
            Unmovable(item["node"], item.get("hugetlb_bytes"), item.get("mlocked_bytes"), item.get("pinned_pages"))
            for item in body.get("unmovable") or ()
        ),
    )


def _bench(item: Body) -> NodeBench:
    return NodeBench(
        measured_at=datetime.fromtimestamp(item["measured_wall_ns"] / 1e9, tz=UTC),
        cpu_node=item["cpu_node"],
        memory_node=item["memory_node"],
        method=item.get("method") or "",
        buffer_bytes=item.get("buffer_bytes") or None,
        huge_page_bytes=item.get("huge_page_bytes"),
        figures=tuple(_figure(figure) for figure in item.get("figures") or ()),
        loaded=tuple(_loaded(point) for point in item.get("loaded") or ()),
        skipped=tuple(BenchSkip(skip["name"], skip["reason"]) for skip in item.get("skipped") or ()),
    )


def _figure(item: Body) -> BenchFigure:
    return BenchFigure(
        name=item["name"],
        unit=item["unit"],
        threads=item["threads"],
        block_bytes=item.get("block_bytes") or None,
        pattern=item.get("pattern") or None,
        median=item["median"],
        p10=item["p10"],
        p90=item["p90"],
        repetitions=item["repetitions"],
        disturbed=item["disturbed"],
    )


def _loaded(item: Body) -> LoadedPoint:
    return LoadedPoint(
        bandwidth_bytes_per_s=item["bandwidth_bytes_per_s"],
        latency_ns=item["latency_ns"],
        latency_p10_ns=item.get("latency_p10_ns") or None,
        latency_p90_ns=item.get("latency_p90_ns") or None,
        threads=item["threads"],
        write_ratio=item["write_ratio"],
        disturbed=bool(item.get("disturbed")),
    )


def _cxl(item: Body) -> CxlDevice:
    speed, width = item.get("link_decigigatransfers"), item.get("link_width")
    best_speed, best_width = item.get("max_link_decigigatransfers"), item.get("max_link_width")
    below = [
        now < best for now, best in ((speed, best_speed), (width, best_width)) if now is not None and best is not None
    ]
    return CxlDevice(
        name=item["name"],
        ram_bytes=item.get("ram_bytes"),
        numa_node=item.get("numa_node"),
        serial=item.get("serial") or None,
        pci_address=item.get("pci_address") or None,
        firmware_version=item.get("firmware_version") or None,
        link_gigatransfers_per_s=None if speed is None else speed / 10,
        link_width=width,
        max_link_gigatransfers_per_s=None if best_speed is None else best_speed / 10,
        max_link_width=best_width,
        degraded=any(below) if below else None,
        aer_correctable=item.get("aer_correctable"),
        aer_nonfatal=item.get("aer_nonfatal"),
        aer_fatal=item.get("aer_fatal"),
    )
