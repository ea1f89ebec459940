"""Counter blocks, and how an hour of them is packed: columns, differences, then zstd outside of this module.

A block holds n samples of k keys. Packing stores each key's column as first value and differences, missing values as
a bitmap, so that slow counters become runs of zeros. Unpacking gives back exactly what went in.
"""

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_HEAD = struct.Struct("<4sII")
_MAGIC = b"TSC1"
NO_BOOTTIME = -1


@dataclass(frozen=True, slots=True)
class Block:
    """n samples in order of time over `keys`. `values` [n, k] is 0 where not `present`."""

    times_us: Ints
    boots: Ints
    boottimes_ns: Ints
    flags: Ints
    keys: tuple[str, ...]
    values: Ints
    present: Bools

    def __len__(self) -> int:
        return len(self.times_us)

    def rows(self, index: Ints | Bools | slice) -> "Block":
        """Some of the samples."""
        return Block(
            self.times_us[index],
            self.boots[index],
            self.boottimes_ns[index],
            self.flags[index],
            self.keys,
            self.values[index],
            self.present[index],
        )


def empty_block(keys: Sequence[str] = ()) -> Block:
    """A block without samples."""
    none = np.zeros(0, np.int64)
    return Block(
        none, none, none, none, tuple(keys), np.zeros((0, len(keys)), np.int64), np.zeros((0, len(keys)), bool)
    )


def join_blocks(blocks: Sequence[Block]) -> Block:
    """Join blocks over the union of their keys, in order of time. Of samples with one time the last given wins."""
    blocks = [block for block in blocks if len(block)]
    if not blocks:
        return empty_block()
    if len({block.keys for block in blocks}) == 1:
        keys = blocks[0].keys
        values = np.concatenate([block.values for block in blocks])
        present = np.concatenate([block.present for block in blocks])
    else:
        keys = tuple(sorted({key for block in blocks for key in block.keys}))
        values, present = _widen(blocks, keys)
    times = np.concatenate([block.times_us for block in blocks])
    joined = Block(
        times,
        np.concatenate([block.boots for block in blocks]),
        np.concatenate([block.boottimes_ns for block in blocks]),
        np.concatenate([block.flags for block in blocks]),
        keys,
        values,
        present,
    )
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    last = np.concatenate((ordered[1:] != ordered[:-1], [True]))
    if last.all() and (order[1:] > order[:-1]).all():
        return joined
    return joined.rows(order[last])


def _widen(blocks: Sequence[Block], keys: tuple[str, ...]) -> tuple[Ints, Bools]:
    place = {key: i for i, key in enumerate(keys)}
    n = sum(len(block) for block in blocks)
    values, present = np.zeros((n, len(keys)), np.int64), np.zeros((n, len(keys)), bool)
    at = 0
    for block in blocks:
        columns = [place[key] for key in block.keys]
        values[at : at + len(block), columns] = block.values
        present[at : at + len(block), columns] = block.present
        at += len(block)
    return values, present


def pack_block(block: Block) -> bytes:
    """Pack samples of one layout; the keys are stored elsewhere. The result compresses well."""
    n, k = block.values.shape
    heads = np.stack([block.times_us, block.boots, block.boottimes_ns, block.flags])
    columns = np.where(block.present, block.values, 0).T
    bits = np.packbits(~block.present.T, axis=None) if not block.present.all() else np.zeros(0, np.uint8)
    return b"".join([_HEAD.pack(_MAGIC, n, k), _differenced(heads), _differenced(columns), bits.tobytes()])


def unpack_block(body: bytes, keys: Sequence[str]) -> Block:
    """The block that `pack_block` was given.

    Raises:
        ValueError: the body is not a packed block of as many keys.
    """
    n, k = _read_head(body, keys)
    at = _HEAD.size
    heads = _summed(body, at, 4, n)
    at += 4 * n * 8
    values = _summed(body, at, k, n).T.copy()
    at += k * n * 8
    present = np.ones((n, k), bool)
    if at < len(body):
        missing = np.unpackbits(np.frombuffer(body, np.uint8, offset=at), count=n * k).astype(bool)
        present = ~missing.reshape(k, n).T
    return Block(heads[0], heads[1], heads[2], heads[3], tuple(keys), values, present)


def unpack_keys(body: bytes, keys: Sequence[str], wanted: Collection[str]) -> Block:
    """Some columns of a packed block of `keys`, in their order, without making the others.

    Raises:
        ValueError: the body is not a packed block of as many keys.
    """
    n, k = _read_head(body, keys)
    places = [place for place, key in enumerate(keys) if key in wanted]
    heads = _summed(body, _HEAD.size, 4, n)
    at = _HEAD.size + 4 * n * 8
    raw = np.frombuffer(body, np.uint8, count=k * n * 8, offset=at).reshape(8, k, n)[:, places]
    steps = np.ascontiguousarray(raw.transpose(1, 2, 0)).view("<i8").reshape(len(places), n)
    values = np.cumsum(steps, axis=1, dtype=np.int64)
    present = np.ones((len(places), n), bool)
    at += k * n * 8
    if at < len(body):
        missing = np.unpackbits(np.frombuffer(body, np.uint8, offset=at), count=n * k).astype(bool)
        present = ~missing.reshape(k, n)[places]
    names = tuple(keys[place] for place in places)
    return Block(heads[0], heads[1], heads[2], heads[3], names, values.T.copy(), present.T.copy())


def _read_head(body: bytes, keys: Sequence[str]) -> tuple[int, int]:
    magic, n, k = _HEAD.unpack_from(body)
    if magic != _MAGIC or k != len(keys):
        raise ValueError("not a packed block of this layout")
    return n, k


def _differenced(columns: Ints) -> bytes:
    """Differences along rows, bytes shuffled so that equal high bytes lie together."""
    steps = np.diff(columns, axis=1, prepend=np.zeros((len(columns), 1), np.int64)) if columns.size else columns
    raw = np.ascontiguousarray(steps, "<i8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(raw.T).tobytes()


def _summed(body: bytes, at: int, rows: int, n: int) -> Ints:
    raw = np.frombuffer(body, np.uint8, count=rows * n * 8, offset=at).reshape(8, -1)
    steps = np.ascontiguousarray(raw.T).view("<i8").reshape(rows, n)
    total: Ints = np.cumsum(steps, axis=1, dtype=np.int64)
    return total
