"""Requests of Prometheus' remote write, made as a sender makes them."""

import struct
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from factories.protobuf_bytes import field, in_snappy, number

HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
HEADERS_V2 = {
    "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "2.0.0",
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


def write_body_v2(*series: Series) -> bytes:
    """A request of these series by remote write 2.0, with metadata, an exemplar and a time of creation for each.

    Written by hand, as the specification says it, and in snappy's format without any compression.
    """
    symbols = [""]

    def refer(text: str) -> bytes:
        if text not in symbols:
            symbols.append(text)
        return number(symbols.index(text))

    written = b""
    for labels, samples in series:
        references = b"".join(refer(name) + refer(value) for name, value in sorted(labels.items()))
        inner = field(1, references)
        for at_ms, value in samples:
            inner += field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + number(at_ms % (1 << 64)))
        inner += field(4, field(1, references[:2]) + b"\x11" + struct.pack("<d", 1.0) + b"\x18\x01")
        inner += field(5, b"\x08\x02\x18" + refer("what it tells") + b"\x20" + refer("pages"))
        written += field(5, inner + b"\x30" + number(1_700_000_000_000))
    message = b"".join(field(4, symbol.encode()) for symbol in symbols) + written
    return in_snappy(message)


def write_histogram(labels: Mapping[str, str], at_ms: int, *, version: int) -> bytes:
    """A request of one series with a native histogram and a sample of 1, by a major version of the protocol."""
    texts = [text for pair in sorted(labels.items()) for text in pair]
    sample = field(2, b"\x09" + struct.pack("<d", 1.0) + b"\x10" + number(at_ms))
    histogram = b"\x08\x03" + b"\x19" + struct.pack("<d", 0.5) + b"\x78" + number(at_ms)
    if version == 1:
        pairs = zip(texts[::2], texts[1::2], strict=True)
        named = b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in pairs)
        return in_snappy(field(1, named + sample + field(4, histogram)))
    symbols = b"".join(field(4, text.encode()) for text in ["", *texts])
    references = b"".join(number(i + 1) for i in range(len(texts)))
    return in_snappy(symbols + field(5, field(1, references) + sample + field(3, histogram)))
