"""Requests of Prometheus' remote read, written byte by byte."""

from __future__ import annotations

from collections.abc import Sequence

Condition = tuple[int, str, str]
"""Type (0 `=`, 1 `!=`, 2 `=~`, 3 `!~`), label, value."""
HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Read-Version": "0.1.0",
}


def read_body(*queries: tuple[int, int, Sequence[Condition]], kinds: bytes | None = b"\x01\x00") -> bytes:
    """A compressed request: start and end in milliseconds and conditions of each query; answers that are taken."""
    message = b"".join(_field(1, _query(*one)) for one in queries)
    return in_snappy(message if kinds is None else message + _field(2, kinds))


def in_snappy(message: bytes) -> bytes:
    """The block format of snappy, with literals alone."""
    parts = [message[at : at + 60] for at in range(0, len(message), 60)]
    return _varint(len(message)) + b"".join(bytes([(len(part) - 1) << 2]) + part for part in parts)


def _query(start_ms: int, end_ms: int, conditions: Sequence[Condition]) -> bytes:
    times = b"\x08" + _varint(start_ms) + b"\x10" + _varint(end_ms)
    return times + b"".join(
        _field(3, b"\x08" + _varint(kind) + _field(2, label.encode()) + _field(3, value.encode()))
        for kind, label, value in conditions
    )


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(found) + bytes([value])
