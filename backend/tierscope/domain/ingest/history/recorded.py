"""Recorded samples of one host, by whichever program."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

Column = dict[int, float]
"""Values by time in milliseconds since 1970."""
Name = tuple[str, tuple[tuple[str, str], ...]]
"""A metric and its own labels."""


@dataclass(slots=True)
class Recorded:
    """What a recording says of a host. `about`: labels of its info series: nodename, release, machine, version.

    `notes`: what it lacks or could not be taken of it, and whose doing that is.
    """

    program: str
    host: str
    about: dict[str, str]
    columns: dict[Name, Column] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, metric: str, at_ms: int, value: float, **labels: str) -> None:
        """Note one value."""
        self.columns.setdefault((metric, tuple(sorted(labels.items()))), {})[at_ms] = value

    def times_ms(self) -> list[int]:
        """All times, ascending."""
        return sorted({at_ms for column in self.columns.values() for at_ms in column})

    def series(self, labels: dict[str, str]) -> Iterator[tuple[list[tuple[str, str]], Column]]:
        """Each series with all of its labels, and that of its info; `labels` are given to each."""
        times = self.times_ms()
        info = (f"{self.program}_info", tuple(sorted(self.about.items())))
        for (metric, own), column in [*self.columns.items(), (info, dict.fromkeys(times, 1.0))]:
            if column:
                yield sorted({**labels, **dict(own), "__name__": metric}.items()), column

    def span(self) -> str:
        """From when to when, in words."""
        times = self.times_ms()
        if not times:
            return "nothing"
        first, last = (datetime.fromtimestamp(at_ms / 1000, tz=UTC) for at_ms in (times[0], times[-1]))
        return f"{len(times)} samples from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
