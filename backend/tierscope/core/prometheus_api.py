"""A client of Prometheus' query API, for reading its history: names, raw samples, labels that it adds when it sends.

Only an operator's own command calls it, with an address that the operator gives; the service itself never does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import yaml

from tierscope.core.errors import OutgoingFailed, Unprocessable

ANSWER_SECONDS = 120.0
_UNPROCESSABLE = 422
_NEXT = "Check the address with `curl <address>/api/v1/status/buildinfo`."


@dataclass(frozen=True, slots=True)
class RawSeries:
    """A series with its samples as stored: milliseconds since 1970, and values."""

    labels: Mapping[str, str]
    times_ms: Sequence[int]
    values: Sequence[float]


class TooMuchAtOnce(Unprocessable):
    """The query asks for more samples than the server reads at once."""


class PrometheusApi:
    """One Prometheus, or something that answers its query API."""

    def __init__(self, address: str, *, headers: Mapping[str, str] | None = None) -> None:
        self._client = httpx.Client(base_url=address.rstrip("/"), timeout=ANSWER_SECONDS, headers=dict(headers or {}))

    def close(self) -> None:
        """Ends all connections."""
        self._client.close()

    def metric_names(self, selector: str, *, start_ms: int, end_ms: int) -> list[str]:
        """Names of the metrics that a selector means in a window."""
        params = {"match[]": selector, "start": start_ms / 1000, "end": end_ms / 1000}
        return [str(name) for name in self._get("/api/v1/label/__name__/values", params)]

    def raw_samples(self, selector: str, *, start_ms: int, end_ms: int) -> list[RawSeries]:
        """The samples of (start, end] as they are stored.

        Raises:
            TooMuchAtOnce: the server refuses so many; ask for less time.
        """
        span_ms = end_ms - start_ms
        data = self._get("/api/v1/query", {"query": f"{selector}[{span_ms}ms]", "time": f"{end_ms / 1000:.3f}"})
        return [_read_series(item, start_ms, end_ms) for item in data.get("result", ())]

    def external_labels(self) -> dict[str, str] | None:
        """The labels that it adds to all that it sends; None where it does not say."""
        try:
            data = self._get("/api/v1/status/config", {})
            loaded = yaml.safe_load(str(data["yaml"])) or {}
            labels = (loaded.get("global") or {}).get("external_labels") or {}
            return {str(name): str(value) for name, value in labels.items()}
        except (OutgoingFailed, Unprocessable, KeyError, TypeError, AttributeError, yaml.YAMLError):
            return None

    def _get(self, path: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        try:
            answer = self._client.get(path, params=dict(params))
            body = answer.json()
        except httpx.HTTPError as error:
            raise OutgoingFailed(f"{self._client.base_url}{path}: {error}", next_step=_NEXT) from error
        except ValueError as error:
            raise OutgoingFailed(f"{path} answered {answer.status_code} without JSON", next_step=_NEXT) from error
        if not isinstance(body, dict) or body.get("status") != "success":
            cause = str(body.get("error", "no reason")) if isinstance(body, dict) else "no object"
            if answer.status_code == _UNPROCESSABLE:
                raise TooMuchAtOnce(cause, next_step="Ask for less time or fewer series.")
            raise OutgoingFailed(f"{path} answered {answer.status_code}: {cause}", next_step=_NEXT)
        return body.get("data")


def _read_series(item: Mapping[str, Any], start_ms: int, end_ms: int) -> RawSeries:
    pairs = [(round(float(at) * 1000), float(value)) for at, value in item.get("values", ())]
    inside = [(at, value) for at, value in pairs if start_ms < at <= end_ms]
    labels = {str(name): str(value) for name, value in item.get("metric", {}).items()}
    return RawSeries(labels, [at for at, _ in inside], [value for _, value in inside])
