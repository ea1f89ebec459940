"""What the service counts of itself: bounds of histograms, and the values of one look at the installation."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

TASK_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)
"""Upper bounds of the durations of tasks; one more bucket holds what took longer."""


def bucket_of(seconds: float) -> int:
    """The index of the bucket that a duration falls into, `len(TASK_SECONDS)` above all bounds."""
    return bisect_left(TASK_SECONDS, seconds)


@dataclass(frozen=True, slots=True)
class TaskRuns:
    """All runs of one task on all workers. `buckets[i]` of them took up to `TASK_SECONDS[i]` and no less bound fits."""

    task: str
    runs: int
    failures: int
    seconds: float
    buckets: tuple[int, ...]
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Buckets of one kind that workers rebuilt, and subjects where that failed."""

    kind: str
    buckets: int
    failures: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """One look at what the database holds. Keys of the mappings are label values in the order that names say."""

    hosts: Mapping[tuple[str, str], int]
    """By state and origin."""
    services: Mapping[str, int]
    """By origin."""
    marks_pending: int
    marks_oldest_seconds: float
    alerts: Mapping[tuple[str, str], int]
    """Open ones, by state and severity."""
    notifications: Mapping[str, int]
    """By status."""
    sweeps: Mapping[str, int]
    """By status."""
    tasks: tuple[TaskRuns, ...]
    rebuilt: tuple[Rebuilt, ...]
