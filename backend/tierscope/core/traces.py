"""Spans of the service's own work, sent to a collector of OpenTelemetry where settings ask for it.

Until `start` was called with such settings, nothing of the SDK is imported and a span costs a comparison. Attributes
are numbers and kinds of work: never addresses, tokens, names of hosts, services or processes.
"""

import contextvars
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tierscope.core.errors import ConfigurationError
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

_SEND_SECONDS = 5.0
P = ParamSpec("P")
R = TypeVar("R")


class _Traces:
    """What this process sends with."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.provider: TracerProvider | None = None
        self.tracer: Tracer | None = None


_traces = _Traces()


def start(settings: Settings) -> None:
    """Sends spans from now on, if the settings ask for it; once per process.

    Raises:
        ConfigurationError: they do, and the packages of the extra `traces` are not installed.
    """
    otlp = settings.otlp
    if not otlp.traces or otlp.endpoint is None:
        return
    with _traces.lock:
        if _traces.provider is not None:
            return
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
            from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        except ImportError as error:
            raise ConfigurationError(
                "traces are switched on, and OpenTelemetry's SDK is not installed",
                next_step="Install tierscope[traces], or unset TIERSCOPE_OTLP__TRACES.",
            ) from error
        exporter = OTLPSpanExporter(
            endpoint=otlp.address("traces"), headers=otlp.plain_headers(), timeout=_SEND_SECONDS
        )
        provider = TracerProvider(resource=Resource(otlp.resource()), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        _traces.provider, _traces.tracer = provider, provider.get_tracer("tierscope")


def stop() -> None:
    """Sends what waits, and no more."""
    with _traces.lock:
        provider, _traces.provider, _traces.tracer = _traces.provider, None, None
    if provider is not None:
        provider.shutdown()


@contextmanager
def span(name: str, **numbers: int) -> Iterator[None]:
    """A span while the block lasts, below the one that is open; an error marks it, without its text."""
    tracer = _traces.tracer
    if tracer is None:
        yield
        return
    with tracer.start_as_current_span(
        name, attributes=numbers, record_exception=False, set_status_on_exception=False
    ) as opened:
        try:
            yield
        except BaseException as error:
            opened.set_attribute("error.type", type(error).__name__)
            raise


def record(name: str, numbers: Mapping[str, int], *, start_ns: int, end_ns: int, failed: bool) -> None:
    """A span of work that has ended, with no other above it; times are nanoseconds since 1970.

    Its attributes are `numbers` under `done.`, and whether it failed.
    """
    if _traces.tracer is not None:
        attributes = {f"done.{key}": number for key, number in numbers.items()}
        found = _traces.tracer.start_span(name, start_time=start_ns, attributes={**attributes, "failed": failed})
        found.end(end_ns)


def carried(work: Callable[P, R]) -> Callable[P, R]:
    """The same work, for another thread, below the span that is open here."""
    if _traces.tracer is None:
        return work
    context = contextvars.copy_context()

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return context.run(work, *args, **kwargs)

    return run
