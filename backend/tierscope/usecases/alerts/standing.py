"""The states of a rule's subjects, packed into one body per rule: what an evaluator needs to go on where it stood."""

import io
from dataclasses import fields

import numpy as np
import zstandard

from tierscope.domain.alerts.frame import Ints
from tierscope.domain.alerts.machine import States, start_states

_LEVEL = 3
_MAX_BYTES = 64 << 20


def pack_states(subject_ids: Ints, states: States) -> bytes:
    """The states of these subjects as bytes."""
    buffer = io.BytesIO()
    arrays = {part.name: getattr(states, part.name) for part in fields(states)}
    np.savez(buffer, allow_pickle=False, ids=subject_ids, **arrays)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(buffer.getvalue())


def unpack_states(body: bytes, subject_ids: Ints) -> tuple[States, Ints]:
    """The states of these subjects, those that are new at the start; and the ids of those that are gone."""
    raw = zstandard.ZstdDecompressor().decompress(body, max_output_size=_MAX_BYTES)
    with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
        ids = stored["ids"]
        kept = States(**{part.name: stored[part.name] for part in fields(States)})
    made = start_states(len(subject_ids))
    order = np.argsort(ids, kind="stable")
    at = np.searchsorted(ids, subject_ids, sorter=order) if len(ids) else np.zeros(len(subject_ids), np.int64)
    source = order[np.minimum(at, len(ids) - 1)] if len(ids) else at
    there = ids[source] == subject_ids if len(ids) else np.zeros(len(subject_ids), bool)
    for part in fields(States):
        getattr(made, part.name)[there] = getattr(kept, part.name)[source[there]]
    return made, ids[~np.isin(ids, subject_ids)]


def join_states(one: States, other: States) -> States:
    """The states of some subjects, followed by those of others."""
    return States(
        **{part.name: np.concatenate([getattr(one, part.name), getattr(other, part.name)]) for part in fields(States)}
    )
