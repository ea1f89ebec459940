"""Recordings of the corpus as the replay needs them, and which of them a rule of the simulator may be made on."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpus.packing import unpack
from corpus.plan import LOADS
from corpus.truth import hides_armed, read_log
from validation import recordings
from validation.recordings import (
    DATA,
    HUGE_UNITS,
    PAGES_PER_MIB,
    WANTED,
    Load,
    Recording,
    counters_of,
    fallen_back,
    is_one_tier,
    knobs_of,
    machine_of,
    reclaim_of,
    seconds,
)

CORPUS = DATA / "kernel-corpus"
HOT_PROBABILITY = 0.95
_FOR_VERDICTS = frozenset(
    load.name
    for load in LOADS
    if any(act.is_filled for act in load.acts)
    or load.balancing != 2
    or load.promote_limit_mib_per_s is not None
    or load.swap_ratio
)


def names() -> tuple[str, ...]:
    """All recordings that are replayed.

    A replay knows one load, and none beside that fills the slow node. Recordings under settings of their own are made
    for verdicts alone.
    """
    found = sorted(path.name.removesuffix(".tar.zst") for path in CORPUS.glob("*.tar.zst"))
    return tuple(name for name in found if not any(f"-{load}-" in name for load in _FOR_VERDICTS))


def is_left_out(name: str) -> bool:
    """Whether a recording is kept for the report: the first byte of its name's SHA-256 is odd.

    Rules and settings of the simulator are made on the others alone. This rule stood before any recording of the corpus
    was replayed.
    """
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def read(name: str) -> Recording:
    return read_archive(CORPUS / f"{name}.tar.zst")


def read_archive(path: Path) -> Recording:
    """A recording as `make corpus` makes them, which says in `meta.json` what its load did; or any other."""
    files = unpack(path, WANTED)
    meta = json.loads(files["meta.json"])
    if "load" not in meta:
        return recordings.read_archive(path)
    events, rows = files["events.log"], read_log(files["workload.log"])
    begun = float(events.split(" load begins")[0].rsplit("\n", 1)[-1])
    load = _load(meta, fill_s=rows[0]["ts"] - rows[0]["t"] - begun)
    if load.page_units > 1:
        load = replace(load, fallen_back=fallen_back(files))
    hot_by_act = [_hot_pages(meta, act["hot_ratio"]) for act in meta["load"]["acts"]]
    log = seconds(rows, [hot_by_act[int(row["act"])] for row in rows], hides_armed=hides_armed(meta["kernel"]))
    knobs = knobs_of(events)
    return Recording(
        name=path.name.removesuffix(".tar.zst"),
        knobs=knobs,
        one_tier=is_one_tier(files),
        group=(),
        load=load,
        machine=machine_of(files, log, load),
        log=log,
        counters=counters_of(files),
        reclaim=reclaim_of(files),
    )


def _hot_pages(meta: Mapping[str, Any], ratio: float) -> int:
    """Hot pages of an act; the load is told whole MiB."""
    return round(int(meta["memory"]["dram_mib"]) * ratio) * PAGES_PER_MIB


def _load(meta: Mapping[str, Any], *, fill_s: float) -> Load:
    said = meta["load"]
    units = HUGE_UNITS if said["is_huge"] else 1
    return Load(
        pages_by_kind=(round(meta["memory"]["dram_mib"] * said["memory_ratio"]) * PAGES_PER_MIB // units * units, 0, 0),
        distribution="hotcold",
        hot_probability=HOT_PROBABILITY,
        moves_on=len(said["acts"]) > 1 or said["acts"][0]["move_s"] > 0,
        fill_s=max(fill_s, 1.0),
        page_units=units,
        heat_units=units,
        flooded=any(act["is_flooded"] for act in said["acts"]),
    )
