"""The tiles of an hour in one object: a line of JSON that says how long each body is, then the bodies."""

import json
from collections.abc import Sequence
from itertools import accumulate


def write_tile_bodies(rows: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The object of these rows' (cells, known), compressed as they are in rows."""
    lengths = [len(part) for row in rows for part in row]
    return json.dumps({"lengths": lengths}).encode() + b"\n" + b"".join(part for row in rows for part in row)


def read_tile_bodies(body: bytes, number: int) -> tuple[bytes, bytes]:
    """(cells, known) of a row."""
    head, _, rest = body.partition(b"\n")
    ends = list(accumulate(json.loads(head)["lengths"], initial=0))
    at = 2 * number
    return rest[ends[at] : ends[at + 1]], rest[ends[at + 1] : ends[at + 2]]
