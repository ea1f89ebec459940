"""Takes metrics of OpenTelemetry: translates them into series of Prometheus, and stores them as remote write does."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tierscope.core.errors import TooLarge
from tierscope.core.settings import Settings
from tierscope.storage.ingest.sample_core import load_core
from tierscope.usecases.ingest.remote_write import RemoteWrite
from tierscope.wire.otlp import SPLIT, Accepted, Translated, decode_json, decode_protobuf, inflate_gzip, translate

NAMELESS = (
    "stored, but {n} data points name no host, so that they are mixed with those of every other sender: add the"
    " processor resourcedetection with the detector system to the collector, or the attribute host.name to the resource"
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of a request: data points that were refused, and why; what else the sender should know.

    `reason` is None where all are stored and name whom they are about.
    """

    rejected_points: int
    reason: str | None


class OtlpMetrics:
    """Reads one request after another: reading takes memory, and threads would not make it faster."""

    def __init__(self, remote_write: RemoteWrite, *, settings: Settings) -> None:
        self._remote_write = remote_write
        self._settings = settings
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="otlp-read")

    def stop(self) -> None:
        """Ends once what is being read has been read."""
        self._reader.shutdown(wait=True)

    def admit(self) -> None:
        """Refuses a request before its body is read.

        Raises:
            Busy: the queue is full.
        """
        self._remote_write.admit()

    async def submit(self, body: bytes, *, gzip: bool, json: bool) -> Exported:
        """Stores an `ExportMetricsServiceRequest`; returns once it is committed.

        Raises:
            TooLarge: it inflates to more than is allowed, or has too many samples or labels.
            Unreadable: it is not a request.
            TierscopeError: it could not be stored; it can be sent again.
        """
        self.admit()
        loop = asyncio.get_running_loop()
        translated, parts = await loop.run_in_executor(self._reader, self._read, body, gzip, json)
        left_out: Counter[str] = Counter()
        cause = None
        for part in parts:
            try:
                taken = await self._remote_write.submit(part)
            except TooLarge as error:
                raise TooLarge(error.detail, next_step=SPLIT) from error
            left_out += Counter(taken.left_out)
            cause = cause or taken.labels_reason
        nameless = translated.nameless
        warning = NAMELESS.format(n=nameless) if nameless else None
        if not translated.refused and not left_out:
            return Exported(0, warning)
        # One data point may be many samples, of which the store counts each.
        rejected_points = translated.refused.total() + min(left_out.total(), translated.points)
        reasons = ", ".join(f"{count} {reason}" for reason, count in (translated.refused + left_out).items())
        problem = f"left out: {reasons}" + (f": {cause}" if cause else "")
        return Exported(rejected_points, problem if warning is None else f"{problem}; {warning}")

    def _read(self, body: bytes, gzip: bool, json: bool) -> tuple[Translated, list[bytes]]:  # noqa: FBT001 - as `submit` has them
        if gzip:
            body = inflate_gzip(body, cap_bytes=self._settings.otlp.inflated_bytes)
        window = self._remote_write.window()
        accepted = Accepted(
            oldest_ms=window.oldest_ms,
            newest_ms=window.newest_ms,
            samples=self._settings.remote_write.samples_per_request,
            promoted=self._settings.otlp.promoted_attributes,
            too_old=window.too_old,
            too_new=window.too_new,
        )
        parts: list[bytes] = []
        request = decode_json(body) if json else decode_protobuf(body)
        write = load_core().write_request
        return translate(request, accepted, lambda columns: parts.append(write(columns))), parts
