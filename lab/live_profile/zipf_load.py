"""A steady zipf load on a redis-server whose hot keys move once.

Keys are loaded in order, so that neighbours in rank are near each other in memory; rank 0 lies at a tenth of the keys
at first and at six tenths after the move. `python -m live_profile.zipf_load --port 7379 --seconds 2400` fills a server
on this host and loads it.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from redis import Redis

BATCH = 100
FIRST_CENTRE = 0.1
SECOND_CENTRE = 0.6


@dataclass(frozen=True, slots=True)
class Load:
    keys: int = 1_000_000
    value_bytes: int = 500
    operations_per_s: int = 4_000
    set_ratio: float = 0.15
    zipf_exponent: float = 0.99
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Done:
    second: int
    operations: int
    hot_centre: float


def fill(server: Redis, load: Load) -> None:
    """Store all keys in order."""
    value = bytes(load.value_bytes)
    for first in range(0, load.keys, 10_000):
        pipe = server.pipeline(transaction=False)
        for key in range(first, min(first + 10_000, load.keys)):
            pipe.set(_name(key), value)
        pipe.execute()


def run(server: Redis, load: Load, *, seconds: int, sleep: Callable[[float], None] = time.sleep) -> Iterator[Done]:
    """Yield once a second; the hot keys move at half time. A server that is too slow gets less, as the answer says."""
    random = np.random.default_rng(load.seed)
    cumulated = _zipf(load)
    value = bytes(load.value_bytes)
    started = time.monotonic()
    for second in range(seconds):
        centre = FIRST_CENTRE if second < seconds // 2 else SECOND_CENTRE
        done = 0
        while done < load.operations_per_s and time.monotonic() < started + second + 1:
            keys = keys_of(np.searchsorted(cumulated, random.random(BATCH)), load, centre)
            writes = random.random(BATCH) < load.set_ratio
            pipe = server.pipeline(transaction=False)
            for key, write in zip(keys.tolist(), writes.tolist(), strict=True):
                _ = pipe.set(_name(key), value) if write else pipe.get(_name(key))
            pipe.execute()
            done += BATCH
        sleep(max(0.0, started + second + 1 - time.monotonic()))
        yield Done(second, done, centre)


def keys_of(ranks: np.ndarray, load: Load, centre: float) -> np.ndarray:
    """The keys of these ranks: neighbours of the centre first, on both sides in turn."""
    distance = (ranks + 1) // 2
    side = np.where(ranks % 2 == 0, -1, 1)
    keys: np.ndarray = (int(centre * load.keys) + side * distance) % load.keys
    return keys


def draw_keys(random: np.random.Generator, count: int, load: Load) -> np.ndarray:
    """So many keys as they are asked for before the hot ones move."""
    return keys_of(np.searchsorted(_zipf(load), random.random(count)), load, FIRST_CENTRE)


def _zipf(load: Load) -> np.ndarray:
    weights = 1.0 / np.arange(1, load.keys + 1) ** load.zipf_exponent
    cumulated: np.ndarray = np.cumsum(weights / weights.sum())
    return cumulated


def _name(key: int) -> str:
    return f"key:{key:010d}"


def main() -> None:
    """Fill a server on this host and load it for a bounded time."""
    usual = Load()
    parser = argparse.ArgumentParser(prog="python -m live_profile.zipf_load", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="of a redis-server on 127.0.0.1 without data of worth")
    parser.add_argument("--seconds", type=int, default=2400)
    parser.add_argument("--keys", type=int, default=usual.keys)
    parser.add_argument("--value-bytes", type=int, default=usual.value_bytes)
    parser.add_argument("--operations", type=int, default=usual.operations_per_s, help="per second")
    asked = parser.parse_args()
    load = Load(keys=asked.keys, value_bytes=asked.value_bytes, operations_per_s=asked.operations)
    server = Redis(host="127.0.0.1", port=asked.port)
    fill(server, load)
    print(f"filled with {load.keys} keys", flush=True)
    done = sum(second.operations for second in run(server, load, seconds=asked.seconds))
    print(f"{done} operations in {asked.seconds} s")


if __name__ == "__main__":
    main()
