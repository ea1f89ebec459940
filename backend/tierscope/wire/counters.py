"""Counter layouts and blocks."""

from itertools import pairwise

import numpy as np

from tierscope.core.errors import Unreadable
from tierscope.domain.base.names import escaped_name, escaped_text
from tierscope.domain.counters.schema import HASH_BYTES, schema_hash
from tierscope.domain.ingest.batch import Bits, CounterBlock, Int64, Layout
from tierscope.wire import checks
from tierscope.wire._generated import counters_pb2

MAX_BOOT_ID_BYTES = 64


def decode_layout(message: counters_pb2.CounterLayout, *, max_keys: int) -> Layout:
    """Checks that keys are sorted, unique, well formed and what the hash says.

    Services in them are escaped as everywhere; order and hash stay as they came, because values are found by place.
    """
    if not 0 < len(message.keys) <= max_keys:
        raise Unreadable(f"a layout of {len(message.keys)} keys, accepted is 1..{max_keys}")
    keys = tuple(message.keys)
    encoded = [checks.check_text(key, "layout key").encode() for key in keys]
    if any(before >= after for before, after in pairwise(encoded)):
        raise Unreadable("the keys of a layout are not sorted, or repeat")
    for key in keys:
        if key.count("|") < 2 or "\n" in key:  # noqa: PLR2004 - scope|source|name
            raise Unreadable(f"layout key {key[:80]!r} is not <scope>|<source>|<name>")
    if schema_hash(keys) != message.hash:
        raise Unreadable("the hash of a layout does not fit its keys")
    return Layout(hash=message.hash, keys=tuple(_plain_key(key) for key in keys))


def _plain_key(key: str) -> str:
    scope, bar, rest = key.partition("|")
    return escaped_name(scope) + bar + escaped_text(rest)


def decode_counters(message: counters_pb2.CounterBlock, *, max_keys: int) -> CounterBlock:
    """Undoes the delta coding. The width is what the bytes say; ingest compares it with the layout."""
    if len(message.layout_hash) != HASH_BYTES:
        raise Unreadable(f"counters.layout_hash has {len(message.layout_hash)} bytes, {HASH_BYTES} are needed")
    n = len(message.end_wall_ns)
    if n == 0:
        raise Unreadable("a counter block without samples")
    width, rest = divmod(len(message.values), n * 8)
    if rest or not 0 < width <= max_keys:
        raise Unreadable(f"counters.values has {len(message.values)} bytes, which are not {n} rows of 1..{max_keys}")
    wall = checks.wall_times(checks.column(message.end_wall_ns, "counters.end_wall_ns", n), "counters.end_wall_ns")
    return CounterBlock(
        layout_hash=message.layout_hash,
        end_wall_ns=wall,
        end_boottime_ns=checks.boottimes(message.end_boottime_ns, "counters.end_boottime_ns", n),
        values=_undo_deltas(checks.matrix(message.values, "counters.values", n, width)),
        present=_validity(message.validity, n, width),
        boot_ids=_boot_ids(message, n),
    )


def _undo_deltas(deltas: Int64) -> Int64:
    # Differences wrap like the sums: int64 addition in numpy is modulo 2^64.
    return deltas if len(deltas) == 1 else np.cumsum(deltas, axis=0, dtype=np.int64)


def _validity(data: bytes, n: int, width: int) -> Bits | None:
    if not data:
        return None
    expected = (n * width + 7) // 8
    if len(data) != expected:
        raise Unreadable(f"counters.validity has {len(data)} bytes, {n} x {width} bits need {expected}")
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=n * width, bitorder="little")
    return bits.view(np.bool_).reshape(n, width)


def _boot_ids(message: counters_pb2.CounterBlock, n: int) -> tuple[str, ...] | None:
    if not message.boot_ids:
        return None
    checks.check_length(len(message.boot_ids), n, "counters.boot_ids")
    return tuple(checks.check_text(text, "counters.boot_ids", max_bytes=MAX_BOOT_ID_BYTES) for text in message.boot_ids)
