"""Takes over the history that a Prometheus holds: raw samples in bounded chunks, oldest first, each stored once.

What is imported passes through remote write, so that it becomes the same series as what Prometheus sends from now on,
and counts once where both overlap.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.core.errors import Unprocessable
from tierscope.core.prometheus_api import PrometheusApi, RawSeries, TooMuchAtOnce
from tierscope.domain.counters.senders import CADVISOR_COUNTERS
from tierscope.domain.ingest.prometheus.selector import Condition, parse_selector
from tierscope.storage.ingest.sample_core import load_core
from tierscope.usecases.ingest.remote_write import RemoteWrite

CHUNK_MS = 3_600_000
SMALLEST_MS = 60_000
REQUEST_SAMPLES = 50_000
DEFAULT_MATCH = (
    '{__name__=~"node_.+|tierscope_.+|kernel_(vmstat|all)_.+|kernel_boot_time|mem_.+|pressure_total'
    f'|system_(memory|linux_memory|paging)_.+|{"|".join(CADVISOR_COUNTERS)}"}}'
)
"""What gives hosts and their services counters, by whichever program."""


@dataclass(slots=True)
class Imported:
    """What was stored: samples, series that had any, and samples that were left out."""

    samples: int = 0
    left_out: int = 0
    done_ms: int = 0


class PrometheusHistory:
    """One import."""

    def __init__(
        self, api: PrometheusApi, remote_write: RemoteWrite, *, matches: Sequence[str], labels: Mapping[str, str]
    ) -> None:
        """`labels` are those that this Prometheus adds to what it sends.

        Raises:
            Unprocessable: a selector is none.
        """
        self._api = api
        self._remote_write = remote_write
        self._labels = labels
        try:
            self._matches = [parse_selector(match) for match in matches or (DEFAULT_MATCH,)]
        except ValueError as error:
            raise Unprocessable(f"--match: {error}", next_step='Write it as `name{label="value"}`.') from error

    async def run(self, start_ms: int, end_ms: int, progress: Callable[[Imported], None]) -> Imported:
        """Import (start, end], hour by hour; `progress` is told after each hour is stored.

        Raises:
            TierscopeError: Prometheus or the store does not answer; what `progress` was told is stored.
        """
        done = Imported(done_ms=start_ms)
        while done.done_ms < end_ms:
            until = min(done.done_ms - done.done_ms % CHUNK_MS + CHUNK_MS, end_ms)
            for conditions in self._matches:
                names = await asyncio.to_thread(
                    self._api.metric_names, _render(conditions), start_ms=done.done_ms, end_ms=until
                )
                for name in names:
                    selector = _render((Condition("__name__", "=", name), *conditions))
                    await self._take(selector, done.done_ms, until, done)
            done.done_ms = until
            progress(done)
        return done

    async def _take(self, selector: str, start_ms: int, end_ms: int, done: Imported) -> None:
        try:
            found = await asyncio.to_thread(self._api.raw_samples, selector, start_ms=start_ms, end_ms=end_ms)
        except TooMuchAtOnce:
            if end_ms - start_ms <= SMALLEST_MS:
                raise
            middle = (start_ms + end_ms) // 2
            await self._take(selector, start_ms, middle, done)
            await self._take(selector, middle, end_ms, done)
            return
        for group in _grouped(found):
            columns = [
                (
                    sorted({**self._labels, **series.labels}.items()),
                    np.array(series.times_ms, np.int64),
                    np.array(series.values, np.float64),
                )
                for series in group
            ]
            taken = await self._remote_write.submit(load_core().write_request(columns))
            done.samples += taken.samples
            done.left_out += sum(taken.left_out.values())


def _grouped(found: Sequence[RawSeries]) -> Iterator[list[RawSeries]]:
    """Series in groups of at most `REQUEST_SAMPLES` samples; a longer series is cut."""
    group: list[RawSeries] = []
    size = 0
    for series in found:
        for at in range(0, len(series.times_ms), REQUEST_SAMPLES):
            end = at + REQUEST_SAMPLES
            part = RawSeries(series.labels, series.times_ms[at:end], series.values[at:end])
            if group and size + len(part.times_ms) > REQUEST_SAMPLES:
                yield group
                group, size = [], 0
            group.append(part)
            size += len(part.times_ms)
    if group:
        yield group


def _render(conditions: Sequence[Condition]) -> str:
    parts = (f'{c.label}{c.operator}"{_quoted(c.value)}"' for c in conditions)
    return "{" + ",".join(parts) + "}"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
