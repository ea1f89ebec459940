"""The agent's queue on disk as a stranger reads it: which batches are in it now, and how to damage them.

Written from the format's description, not from the agent's code: a record is `TSr1`, the payload's length, a CRC-32 of
length, number and payload, the number, the payload; little-endian.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"TSr1"
HEADER_BYTES = 20


@dataclass(frozen=True, slots=True)
class Kept:
    """A sound record in a segment."""

    segment: Path
    offset: int
    seq: int
    payload: bytes


def segments(state_dir: Path) -> list[Path]:
    """Segment files of an agent, oldest first."""
    return sorted((state_dir / "spool").glob("*.segment"))


def records(segment: Path) -> Iterator[Kept]:
    """The sound records of a segment, from its beginning to the first damage."""
    data = segment.read_bytes()
    at = 0
    while len(data) - at >= HEADER_BYTES and data[at : at + 4] == MAGIC:
        length, checksum, seq = struct.unpack_from("<IIQ", data, at + 4)
        payload = data[at + HEADER_BYTES : at + HEADER_BYTES + length]
        if zlib.crc32(struct.pack("<IQ", length, seq) + payload) != checksum:
            return
        yield Kept(segment, at, seq, payload)
        at += HEADER_BYTES + length


def waiting(state_dir: Path) -> list[Kept]:
    """All sound records on disk. Those that are acknowledged may be among them until their segment is removed."""
    return [kept for segment in segments(state_dir) for kept in records(segment)]


def flip_a_bit(kept: Kept, position: int) -> None:
    """Flips one bit of a record's payload."""
    data = bytearray(kept.segment.read_bytes())
    data[kept.offset + HEADER_BYTES + position % len(kept.payload)] ^= 0x10
    kept.segment.write_bytes(data)


def cut_in_half(kept: Kept) -> None:
    """Ends the segment in the middle of a record."""
    data = kept.segment.read_bytes()
    kept.segment.write_bytes(data[: kept.offset + HEADER_BYTES + len(kept.payload) // 2])
