"""What one API process counts while it takes batches in: it counts for itself alone and begins at zero with it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram

from tierscope.core.errors import TierscopeError
from tierscope.domain.ingest.batch import Batch
from tierscope.storage.ingest import Stored

COMMIT_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
COMMIT_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)


class IngestMeters:
    """Batches, bytes, refusals by cause, commits."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._batches = Counter(
            "tierscope_ingest_batches",
            "Batches that were answered with success, by whether they were new.",
            ["result"],
            registry=registry,
        )
        self._refused = Counter(
            "tierscope_ingest_refused_batches",
            "Batches that were not stored, by cause: the last part of the problem's type.",
            ["cause"],
            registry=registry,
        )
        self._body = Counter(
            "tierscope_ingest_body_bytes", "Bytes of batches that were read, as sent.", registry=registry
        )
        self._inflated = Counter(
            "tierscope_ingest_inflated_bytes", "Bytes of decoded batches, once inflated.", registry=registry
        )
        self._rows = Counter(
            "tierscope_ingest_rows", "Rows that were stored, by what they hold.", ["kind"], registry=registry
        )
        self._late = Counter(
            "tierscope_ingest_late_points", "Points that came too late: acknowledged, not stored.", registry=registry
        )
        self._aside = Counter(
            "tierscope_ingest_set_aside_points", "Points that were quarantined rather than stored.", registry=registry
        )
        self._commit_seconds = Histogram(
            "tierscope_ingest_commit_seconds",
            "Duration of the transaction that stores a group of batches.",
            buckets=COMMIT_SECONDS,
            registry=registry,
        )
        self._commit_batches = Histogram(
            "tierscope_ingest_commit_batches",
            "Batches that shared one commit.",
            buckets=COMMIT_BATCHES,
            registry=registry,
        )
        for result in ("accepted", "duplicate"):
            self._batches.labels(result)

    def read(self, body_bytes: int) -> None:
        """A body was read."""
        self._body.inc(body_bytes)

    def decoded(self, batch: Batch) -> None:
        """A body turned out to be a batch."""
        self._inflated.inc(batch.inflated_bytes)

    def stored(self, stored: Stored) -> None:
        """A batch was acknowledged."""
        self._batches.labels("duplicate" if stored.duplicate else "accepted").inc()
        for kind, count in stored.rows.items():
            self._rows.labels(kind).inc(count)
        self._late.inc(stored.too_late)
        self._aside.inc(stored.set_aside)

    def refused(self, error: TierscopeError) -> None:
        """A batch was not stored."""
        self._refused.labels(error.slug).inc()

    @contextmanager
    def commit(self, batches: int) -> Iterator[None]:
        """Times the commit of so many batches, one that fails too."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._commit_seconds.observe(time.perf_counter() - start)
            self._commit_batches.observe(batches)
