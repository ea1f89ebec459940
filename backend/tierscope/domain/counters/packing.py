"""Counter blocks: n samples of k keys. An hour of them is packed as two parts of a block: heads, and values by key."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.blocks import join_parts, pack_ints, split_parts, unpack_ints

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

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
        heads = (self.times_us[index], self.boots[index], self.boottimes_ns[index], self.flags[index])
        return Block(*heads, self.keys, self.values[index], self.present[index])


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
    names = ("boots", "boottimes_ns", "flags")
    boots, boottimes, flags = (np.concatenate([getattr(block, name) for block in blocks]) for name in names)
    joined = Block(times, boots, boottimes, flags, keys, values, present)
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
    """Pack samples of one layout; the keys are stored elsewhere."""
    n = len(block)
    heads = np.stack([block.times_us, block.boots, block.boottimes_ns, block.flags])
    present = None if block.present.all() else block.present.T
    values = pack_ints(block.values.T, present, dictionaries=False)
    return join_parts([(n, pack_ints(heads, dictionaries=False)), (len(block.keys), values)])


def unpack_block(body: bytes, keys: Sequence[str], wanted: Collection[str] | None = None) -> Block:
    """The block that `pack_block` was given, or some of its keys alone, in their order.

    Raises:
        ValueError: the body is not a packed block of as many keys.
    """
    (n, heads), (k, columns) = split_parts(body)
    if k != len(keys):
        raise ValueError("not a packed block of this layout")
    times_us, boots, boottimes_ns, flags = unpack_ints(heads, n)[0]
    places = None if wanted is None else [place for place, key in enumerate(keys) if key in wanted]
    values, present = unpack_ints(columns, n, places)
    names = tuple(keys) if places is None else tuple(keys[place] for place in places)
    return Block(times_us, boots, boottimes_ns, flags, names, values.T.copy(), present.T.copy())
