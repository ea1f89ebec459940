"""Batches as an agent would send them, built from plain values."""

import hashlib
from collections.abc import Sequence

import numpy as np
import zstandard

from tierscope.core.clock import utc_now
from tierscope.wire._generated import batch_pb2, heat_pb2, traces_pb2

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
STREAM = b"0123456789abcdef"
BOOT = "11111111-2222-3333-4444-555555555555"
KEYS = ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success", "node:0|meminfo|MemFree")

AGE, COUNTS, WINDOWS, GAPS = 9, 11, 4, 63


def now_ns() -> int:
    """The wall clock, cut to whole minutes."""
    return int(utc_now().timestamp()) // 60 * MINUTE_NS


def layout_hash(keys: Sequence[str]) -> bytes:
    return hashlib.sha256("".join(f"{key}\n" for key in keys).encode()).digest()[:16]


def make_batch(
    *,
    host_id: str = "h1",
    seq: int = 0,
    stream_id: bytes = STREAM,
    boot_id: str = BOOT,
    origin: batch_pb2.Origin = batch_pb2.ORIGIN_LIVE,
    sealed_wall_ns: int | None = None,
    sealed_boottime_ns: int = 0,
) -> batch_pb2.Batch:
    """A batch without data."""
    return batch_pb2.Batch(
        schema_version=1,
        host_id=host_id,
        stream_id=stream_id,
        seq=seq,
        boot_id=boot_id,
        agent_version="0.1.0",
        origin=origin,
        sealed_wall_ns=now_ns() if sealed_wall_ns is None else sealed_wall_ns,
        sealed_boottime_ns=sealed_boottime_ns,
        strings=[""],
    )


def add_layout(batch: batch_pb2.Batch, keys: Sequence[str] = KEYS) -> None:
    batch.layouts.add(hash=layout_hash(keys), keys=keys)


def add_counters(
    batch: batch_pb2.Batch,
    rows: Sequence[Sequence[int | None]],
    *,
    ends_ns: Sequence[int] | None = None,
    keys: Sequence[str] = KEYS,
    boottimes_ns: Sequence[int] = (),
    boot_ids: Sequence[str] = (),
    with_layout: bool = True,
) -> None:
    """Adds samples, delta-coded; None is a missing value."""
    if with_layout:
        add_layout(batch, keys)
    present = np.array([[value is not None for value in row] for row in rows])
    absolute = np.array([[value or 0 for value in row] for row in rows], dtype="<i8")
    deltas = np.vstack([absolute[:1], np.diff(absolute, axis=0)]).astype("<i8")
    base = batch.sealed_wall_ns - (len(rows) - 1) * MINUTE_NS
    batch.counters.add(
        layout_hash=layout_hash(keys),
        end_wall_ns=list(ends_ns) if ends_ns is not None else [base + i * MINUTE_NS for i in range(len(rows))],
        end_boottime_ns=list(boottimes_ns),
        values=deltas.tobytes(),
        validity=b"" if present.all() else np.packbits(present.ravel(), bitorder="little").tobytes(),
        boot_ids=list(boot_ids),
    )


def intern(batch: batch_pb2.Batch, text: str) -> int:
    table = list(batch.strings)
    if text not in table:
        batch.strings.append(text)
        return len(table)
    return table.index(text)


def add_heat(
    batch: batch_pb2.Batch, *, services: Sequence[str] = ("demo/cache",), ends_ns: Sequence[int] | None = None
) -> None:
    """Adds one row per service, all bytes in the first bucket."""
    n = len(services)
    wide = {
        "age_bytes": AGE,
        "never_bytes": AGE,
        "active_count_bytes": COUNTS,
        "active_lo_bytes": WINDOWS,
        "active_hi_bytes": WINDOWS,
    }
    columns = {name: (np.arange(n * width, dtype="<i8") * 4096).tobytes() for name, width in wide.items()}
    batch.heat.add(
        backend=heat_pb2.HEAT_BACKEND_REFERENCED,
        granularity=heat_pb2.GRANULARITY_VMA,
        interval_ns=MINUTE_NS,
        end_wall_ns=list(ends_ns) if ends_ns is not None else [batch.sealed_wall_ns] * n,
        service_ref=[intern(batch, service) for service in services],
        group_ref=[intern(batch, "server")] * n,
        kind=[heat_pb2.PAGE_KIND_ANON] * n,
        page_size_bytes=[4096] * n,
        tier_ref=[0] * n,
        validity=[(1 << 64) - 1] * n,
        resident_bytes=[1 << 20] * n,
        **columns,
    )


def add_gaps(batch: batch_pb2.Batch, *, service: str = "demo/cache") -> None:
    data = np.arange(GAPS, dtype="<i8").tobytes()
    batch.gaps.add(
        backend=heat_pb2.HEAT_BACKEND_TRACE,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=MINUTE_NS,
        end_wall_ns=batch.sealed_wall_ns,
        intervals=10,
        service_ref=[intern(batch, service)],
        group_ref=[intern(batch, "server")],
        kind=[heat_pb2.PAGE_KIND_FILE],
        closed_bytes=data,
        freed_bytes=data,
        open_bytes=data,
    )


def add_tiles(batch: batch_pb2.Batch, *, epoch_id: int = (1 << 63) + 7, rows: int = 3, with_epoch: bool = True) -> None:
    if with_epoch:
        batch.tile_epochs.add(
            epoch_id=epoch_id,
            service_ref=intern(batch, "demo/cache"),
            group_ref=intern(batch, "server"),
            backend=heat_pb2.HEAT_BACKEND_TRACE,
            granularity=heat_pb2.GRANULARITY_PAGE,
            interval_ns=MINUTE_NS,
            region_bytes=1 << 21,
            cell_log2_base=1.0905,
            cell_unit=1e-6,
            cell_measure="active_share",
            kind=[heat_pb2.PAGE_KIND_ANON] * rows,
            mapping_ref=[intern(batch, "anon-1")] * rows,
            offset_bytes=[i << 21 for i in range(rows)],
            size_bytes=[1 << 21] * rows,
            start_wall_ns=batch.sealed_wall_ns,
        )
    batch.tile_columns.add(epoch_id=epoch_id, end_wall_ns=batch.sealed_wall_ns, cells=bytes(range(rows)))


def add_page_sample(
    batch: batch_pb2.Batch, *, service: str = "demo/cache", pages: int = 3, intervals: int = 2
) -> traces_pb2.PageSampleBlock:
    """Adds a block in which every page is loaded in every interval; returns it."""
    ends = [batch.sealed_wall_ns - (intervals - 1 - i) * MINUTE_NS for i in range(intervals)]
    n = pages * intervals
    return batch.page_samples.add(
        backend=heat_pb2.HEAT_BACKEND_ABIT_WALK,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=MINUTE_NS,
        service_ref=intern(batch, service),
        group_ref=intern(batch, "server"),
        sampled_ratio=0.25,
        end_wall_ns=ends,
        observed=[True] * intervals,
        page_ids=np.arange(7, 7 + pages, dtype="<u8").tobytes(),
        kind=[heat_pb2.PAGE_KIND_ANON] * pages,
        page_size_bytes=[4096] * pages,
        first_interval=[0] * pages,
        last_interval=[intervals - 1] * pages,
        row_interval=np.repeat(np.arange(intervals), pages).tolist(),
        row_page=np.tile(np.arange(pages), intervals).tolist(),
        row_loads=[1] * n,
        row_stores=[0] * n,
    )


def add_inventory(batch: batch_pb2.Batch, *, services: Sequence[str] = ("cache",), hostname: str = "node-1") -> None:
    """Adds an inventory with two nodes, a knob that is absent, a finding and services of the namespace `demo`."""
    inventory = batch.inventory
    inventory.hostname, inventory.page_size_bytes = hostname, 4096
    inventory.cpus_online = 4
    inventory.nodes.add(id=0, memory_bytes=1 << 33, cpulist="0-3", tier_class="dram")
    inventory.nodes.add(id=1, tier_class="cxl")
    inventory.knobs.add(path="proc/sys/kernel/numa_balancing", unavailable="the kernel has no such setting")
    inventory.findings.add(id="demotion-off", severity="warning", cause="c", fix="f", confidence="certain")
    inventory.labels.add(key="rack", value="r1")
    for name in services:
        inventory.services.add(namespace="demo", name=name, rule="exe", processes=2, heat_measured=True)


def add_pods(batch: batch_pb2.Batch, *pods: str, service: str = "cache", unavailable: str = "") -> None:
    """Adds pods of the namespace `demo` to the inventory, each of a deployment and with a label, as a cluster tells."""
    batch.inventory.pods.unavailable = unavailable
    for name in pods:
        pod = batch.inventory.pods.pods.add(uid=f"uid-{name}", namespace="demo", name=name, labels_known=True)
        pod.owner_kind, pod.owner, pod.owner_source = "Deployment", name.rsplit("-", 2)[0], "api"
        pod.service_namespace, pod.service = "demo", service
        pod.labels.add(key="team", value="shop")


def add_self(batch: batch_pb2.Batch) -> None:
    """Adds the agent's report on itself."""
    report = batch.self
    report.end_wall_ns = batch.sealed_wall_ns
    report.window_ns = MINUTE_NS
    report.cpu_ns = 12_000_000
    report.rss_bytes = 9 << 20
    report.collectors.add(name="vmstat", cpu_ns=1_000_000, runs=1)


def full_batch(**options: object) -> batch_pb2.Batch:
    batch = make_batch(**options)  # type: ignore[arg-type]
    add_counters(batch, [[1, 2, 3], [4, None, 5]])
    add_heat(batch)
    add_gaps(batch)
    add_tiles(batch)
    add_page_sample(batch)
    add_inventory(batch)
    add_self(batch)
    return batch


def compress(batch: batch_pb2.Batch) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(batch.SerializeToString())
