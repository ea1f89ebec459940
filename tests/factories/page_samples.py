"""Page samples of simulated hosts, sent as agents do: pages of known activity, of which a hash selects a share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from factories import batches
from tierscope.wire._generated import batch_pb2, heat_pb2

HOUR_NS = 60 * batches.MINUTE_NS
Backend = heat_pb2.HeatBackend


@dataclass(frozen=True)
class Memory:
    """Pages of a host: hashes, kinds, and accesses [pages, intervals] that a back end saw."""

    ids: np.ndarray
    kinds: np.ndarray
    accesses: np.ndarray

    def selected(self, ratio: float) -> np.ndarray:
        """Which pages a hash selects at a rate."""
        return self.ids.astype(np.float64) < ratio * 2.0**64


def make_memory(accesses: np.ndarray, *, kinds: np.ndarray | None = None, seed: int = 0) -> Memory:
    """Memory whose pages were accessed so often."""
    random = np.random.default_rng(seed)
    pages = len(accesses)
    ids = random.integers(0, 2**64, pages, dtype=np.uint64)
    return Memory(ids, np.full(pages, heat_pb2.PAGE_KIND_ANON) if kinds is None else kinds, accesses)


def add_samples(
    batch: batch_pb2.Batch,
    memory: Memory,
    *,
    end_ns: int,
    backend: Backend,
    ratio: float = 1.0,
    first: int = 0,
    count: int | None = None,
    missed: Sequence[int] = (),
    period_events: float = 0.0,
    group: str = "server",
    seen_only: bool = False,
    interval_ns: int = batches.MINUTE_NS,
) -> None:
    """Adds a block of intervals `first` to `first + count` that ends at `end_ns`; `missed` ones are of the block."""
    counts = memory.accesses[:, first:] if count is None else memory.accesses[:, first : first + count]
    k = counts.shape[1]
    kept = memory.selected(ratio) & (counts.any(axis=1) if seen_only else np.ones(len(counts), bool))
    rows = counts[kept].copy()
    rows[:, list(missed)] = 0
    counted = backend not in (heat_pb2.HEAT_BACKEND_ABIT_WALK, heat_pb2.HEAT_BACKEND_IDLE_PAGE)
    interval, page = np.nonzero(rows.T)
    m = int(kept.sum())
    batch.page_samples.add(
        backend=backend,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=interval_ns,
        service_ref=batches.intern(batch, "demo/cache"),
        group_ref=batches.intern(batch, group),
        sampled_ratio=ratio,
        counts=counted,
        period_events=period_events,
        end_wall_ns=[end_ns - (k - 1 - i) * interval_ns for i in range(k)],
        observed=[i not in missed for i in range(k)],
        page_ids=memory.ids[kept].astype("<u8").tobytes(),
        kind=memory.kinds[kept].tolist(),
        page_size_bytes=[4096] * m,
        first_interval=[0] * m,
        last_interval=[k - 1] * m,
        row_interval=interval.tolist(),
        row_page=page.tolist(),
        row_loads=(rows[page, interval] if counted else np.ones(len(page), int)).tolist(),
        row_stores=[0] * len(page),
    )
