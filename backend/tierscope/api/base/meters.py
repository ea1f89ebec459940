"""The registry of this process's metrics."""

from tierscope.api.base.request_meters import RequestMeters
from tierscope.usecases.ingest.meters import IngestMeters
from tierscope.usecases.operate.telemetry.process import make_registry


class Meters:
    """The registry of this process's metrics, and what counts in it before the application starts."""

    def __init__(self) -> None:
        self.registry = make_registry()
        self.requests = RequestMeters(self.registry)
        self.ingest = IngestMeters(self.registry)
