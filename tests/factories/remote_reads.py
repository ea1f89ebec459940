"""Requests of Prometheus' remote read, written byte by byte."""

from collections.abc import Sequence

from factories.protobuf_bytes import field, in_snappy, number

Condition = tuple[int, str, str]
"""Type (0 `=`, 1 `!=`, 2 `=~`, 3 `!~`), label, value."""
HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Read-Version": "0.1.0",
}


def read_body(*queries: tuple[int, int, Sequence[Condition]], kinds: bytes | None = b"\x01\x00") -> bytes:
    """A compressed request: start and end in milliseconds and conditions of each query; answers that are taken."""
    message = b"".join(field(1, _query(*one)) for one in queries)
    return in_snappy(message if kinds is None else message + field(2, kinds))


def _query(start_ms: int, end_ms: int, conditions: Sequence[Condition]) -> bytes:
    times = b"\x08" + number(start_ms) + b"\x10" + number(end_ms)
    return times + b"".join(
        field(3, b"\x08" + number(kind) + field(2, label.encode()) + field(3, value.encode()))
        for kind, label, value in conditions
    )
