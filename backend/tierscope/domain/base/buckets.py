"""Buckets of time: half-open (start, start + width], so that an interval belongs to the bucket in which it ends.

A sample with the end 12:10:00 speaks of the minute before it, and so belongs to the bucket that starts at 12:00.
Numbers of time are microseconds since the Unix epoch.
"""

from datetime import UTC, datetime, timedelta
from typing import overload

import numpy as np
import numpy.typing as npt

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
TEN_MINUTES_US = 600 * SECOND_US
HOUR_US = 3600 * SECOND_US
DAY_US = 86400 * SECOND_US
THIRTY_DAYS_US = 30 * DAY_US

Ints = npt.NDArray[np.int64]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@overload
def bucket_start(end_us: int, width_us: int) -> int: ...
@overload
def bucket_start(end_us: Ints, width_us: int) -> Ints: ...
def bucket_start(end_us: int | Ints, width_us: int) -> int | Ints:
    """Return the start of the bucket of an interval that ends at `end_us`."""
    return (end_us - 1) // width_us * width_us


def floor_to(at: datetime, width: timedelta) -> datetime:
    """The newest multiple of a width since the epoch that is not after a moment, in UTC."""
    return _EPOCH + (at - _EPOCH) // width * width


def hour_of(at: datetime) -> datetime:
    """The whole hour, in UTC, that a moment lies in."""
    return floor_to(at, timedelta(hours=1))


def day_of(at: datetime) -> datetime:
    """The midnight, in UTC, that the day of a moment begins with."""
    return floor_to(at, timedelta(days=1))


def segments(keys: Ints) -> tuple[Ints, Ints]:
    """Return (distinct keys, start of each run) of ascending `keys`."""
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, np.int64)
    return keys[starts], starts.astype(np.int64)
