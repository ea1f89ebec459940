"""Calls to the collector of OpenTelemetry that settings name."""

import httpx

from tierscope.core.errors import OutgoingFailed
from tierscope.core.outgoing import OutgoingCalls
from tierscope.core.settings import Settings

CALL_SECONDS = 5.0
"""A collector is near. One that hangs holds a worker no longer."""
_PORTS = {"http": 80, "https": 443}


class OtlpCollector:
    """Sends protobuf to a collector. Whoever writes the settings may name an internal one."""

    def __init__(self, settings: Settings) -> None:
        """Reads the settings, which name an endpoint."""
        self._address = settings.otlp.address("metrics")
        url = httpx.URL(self._address)
        place = f"{url.host}:{url.port or _PORTS[url.scheme]}"
        self._headers = settings.otlp.plain_headers()
        self._calls = OutgoingCalls(
            settings.outgoing.model_copy(
                update={"allow": (*settings.outgoing.allow, place), "total_seconds": CALL_SECONDS}
            )
        )

    def send_metrics(self, body: bytes) -> None:
        """Sends an `ExportMetricsServiceRequest` once.

        Raises:
            OutgoingFailed: the collector did not answer within `CALL_SECONDS`, or did not take it.
        """
        headers = {**self._headers, "Content-Type": "application/x-protobuf"}
        answer = self._calls.send("POST", self._address, body=body, headers=headers)
        if not answer.ok:
            raise OutgoingFailed(f"the collector answered {answer.status_code} to metrics")
