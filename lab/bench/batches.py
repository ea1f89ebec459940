"""Batches on the true wire format, built ahead of a run so that building them is not measured."""

import hashlib
import secrets
import time
from dataclasses import dataclass

import numpy as np
import zstandard

from bench.recorded import Recorded
from tierscope.wire._generated import batch_pb2, counters_pb2

MINUTE_NS = 60 * 10**9


@dataclass(frozen=True, slots=True)
class Prepared:
    """One compressed batch, with the number of values in it."""

    body: bytes
    n_values: int


def prepare_host(recorded: Recorded, *, host_id: str, n_batches: int, samples_per_batch: int) -> list[Prepared]:
    """Batches of one host that end now, one sample a minute, looping the recording with counters that go on."""
    stream_id = secrets.token_bytes(16)
    compressor = zstandard.ZstdCompressor(level=3)
    total = n_batches * samples_per_batch
    values, present = _loop(recorded, total)
    last_ns = time.time_ns() // MINUTE_NS * MINUTE_NS
    ends = [last_ns - (total - 1 - i) * MINUTE_NS for i in range(total)]
    prepared = []
    for seq in range(n_batches):
        rows = slice(seq * samples_per_batch, (seq + 1) * samples_per_batch)
        batch = batch_pb2.Batch(
            schema_version=1,
            host_id=host_id,
            stream_id=stream_id,
            seq=seq,
            boot_id="bench",
            agent_version="0.1.0",
            origin=batch_pb2.ORIGIN_SIMULATED,
            sealed_wall_ns=time.time_ns(),
            strings=[""],
        )
        layout_hash = hashlib.sha256("".join(f"{key}\n" for key in recorded.keys).encode()).digest()[:16]
        if seq == 0:
            batch.layouts.append(counters_pb2.CounterLayout(hash=layout_hash, keys=recorded.keys))
        block = values[rows]
        deltas = np.concatenate([block[:1], np.diff(block, axis=0)])
        batch.counters.append(
            counters_pb2.CounterBlock(
                layout_hash=layout_hash,
                end_wall_ns=ends[rows],
                values=deltas.astype("<i8").tobytes(),
                validity=np.packbits(present[rows].ravel(), bitorder="little").tobytes(),
            )
        )
        body = compressor.compress(batch.SerializeToString())
        prepared.append(Prepared(body=body, n_values=int(present[rows].sum())))
    return prepared


def _loop(recorded: Recorded, total: int) -> tuple[np.ndarray, np.ndarray]:
    """`total` samples: what only ever grew in the recording goes on growing at each repeat, gauges start over."""
    n = len(recorded.values)
    span = recorded.values[-1] - recorded.values[0]
    grows = (np.diff(recorded.values, axis=0) >= 0).all(axis=0) & recorded.present.all(axis=0)
    index = np.arange(total)
    values = recorded.values[index % n] + (index // n)[:, None] * np.where(grows, span, 0)
    present = recorded.present[index % n]
    return np.where(present, values, 0), present
