"""Requests of Prometheus' remote write, made as a sender makes them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
Series = tuple[Mapping[str, str], Sequence[tuple[int, float]]]
"""Labels, and (milliseconds, value) of each sample."""


def write_body(*series: Series) -> bytes:
    """A compressed request of these series."""
    core = pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    columns = [
        (
            sorted(labels.items()),
            np.array([at_ms for at_ms, _ in samples], np.int64),
            np.array([value for _, value in samples], np.float64),
        )
        for labels, samples in series
    ]
    body: bytes = core.write_request(columns)
    return body


def named(metric: str, instance: str = "db1:9100", **labels: str) -> dict[str, str]:
    """Labels of a series of node_exporter."""
    return {"__name__": metric, "instance": instance, "job": "node", **labels}
