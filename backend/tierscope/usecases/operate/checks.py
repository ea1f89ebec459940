"""One finding of `tierscope doctor`, and what counts as wrong."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Result = Literal["ok", "warning", "failed"]

OLDEST_SERVER = 150_000
SKEW_SECONDS = 2.0
"""Between two clocks that hosts are judged by."""
LEAST_FREE_BYTES = 2 << 30
LEAST_FREE_RATIO = 0.1
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Check:
    """One part. `next_step` is empty where nothing is to be done."""

    name: str
    result: Result
    detail: str
    next_step: str = ""


def check_disk(place: Path, name: str) -> Check:
    """Room on the disk of a directory, or of the nearest one above it that exists."""
    existing = next(path for path in (place, *place.parents) if path.exists())
    usage = shutil.disk_usage(existing)
    detail = f"{usage.free / _GIB:.1f} of {usage.total / _GIB:.1f} GiB free at {existing}"
    if usage.free < LEAST_FREE_BYTES or usage.free < LEAST_FREE_RATIO * usage.total:
        return Check(name, "warning", detail, "make room before it is full: writes stop then, and agents spool")
    return Check(name, "ok", detail)
