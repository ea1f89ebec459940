"""A receiver of Prometheus remote write 1.0 that counts how often each value of one series arrives."""

import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from factories.loopback import KeepAliveHandler, listening


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def snappy_inflate(data: bytes) -> bytes:
    """Snappy's block format: literals, and copies of what came before."""
    size, at = _varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length > 60:
                extra = length - 60
                length = int.from_bytes(data[at : at + extra], "little") + 1
                at += extra
            out += data[at : at + length]
            at += length
            continue
        if tag & 3 == 1:
            length, offset = ((tag >> 2) & 7) + 4, (tag >> 5) << 8 | data[at]
            at += 1
        else:
            width = 2 if tag & 3 == 2 else 4
            length, offset = (tag >> 2) + 1, int.from_bytes(data[at : at + width], "little")
            at += width
        for _ in range(length):
            out.append(out[-offset])
    assert len(out) == size, f"snappy: {len(out)} bytes, {size} announced"
    return bytes(out)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a protobuf message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 1:
            yield tag >> 3, data[at : at + 8]
            at += 8
        else:
            length, at = _varint(data, at)
            yield tag >> 3, data[at : at + length]
            at += length


def values_of(message: bytes, name: str) -> Iterator[float]:
    """The values of all samples of a metric in a WriteRequest."""
    for number, series in _fields(message):
        if number != 1 or not isinstance(series, bytes):
            continue
        labels: dict[bytes, bytes] = {}
        samples: list[float] = []
        for part, content in _fields(series):
            found = dict(_fields(content)) if isinstance(content, bytes) else {}
            if part == 1:
                labels[bytes(found.get(1, b""))] = bytes(found.get(2, b""))
            elif part == 2:
                value = found.get(1)
                samples.append(struct.unpack("<d", value)[0] if isinstance(value, bytes) else 0.0)
        if labels.get(b"__name__") == name.encode():
            yield from samples


@dataclass(slots=True)
class Receiver:
    """A running receiver."""

    metric: str
    port: int = 0
    arrivals: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def receiving(metric: str) -> Iterator[Receiver]:
    """A receiver on a free port."""
    receiver = Receiver(metric)

    class Handler(KeepAliveHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            values = [round(value) for value in values_of(snappy_inflate(body), receiver.metric)]
            with receiver.lock:
                receiver.arrivals.update(values)
            self.send_response(204)
            self.end_headers()

    with listening(Handler) as receiver.port:
        yield receiver
