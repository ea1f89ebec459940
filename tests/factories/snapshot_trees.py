"""Recorded snapshot trees with something changed in their files, as another host would have recorded them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import zstandard

from factories.kernel_lab import RECORDINGS
from factories.ustar import files_of

PAGE_BYTES = 4096
KIB = 1024
_COUNTED = ("proc/vmstat", "sys/devices/system/node/node0/vmstat", "sys/devices/system/node/node1/vmstat")
_SNAPSHOT = re.compile(r"^[^/]+/(\d+)/(.+)$")
_PROCESS = re.compile(r"^proc/\d+/")
_COUNTERS = re.compile(
    r"^(_recorder|proc/(vmstat|zoneinfo|meminfo|swaps|pressure/.*)|sys/devices/system/node/node\d+/(vmstat|meminfo|numastat)"
    r"|sys/fs/cgroup/.*memory\.(events|numa_stat|stat))$"
)
_MEMFREE = re.compile(r"(MemFree:\s+)(\d+)")


def unpack(name: str, to: Path, *, step: int = 1) -> Path:
    """Unpacks the recording `name` under `to`, one snapshot in `step`, and returns its root.

    Only what a ledger and settings are read from, and settings of the newest snapshot alone, where they are looked for:
    the files of processes and of every other setting are most of a recording.
    """
    raw = zstandard.ZstdDecompressor().stream_reader((RECORDINGS / f"{name}.tar.zst").read_bytes())
    files = [(found, body) for path, body in files_of(raw.read()) if (found := _SNAPSHOT.match(path))]
    stamps = sorted({int(found[1]) for found, _ in files})
    chosen = {str(stamp) for stamp in stamps[::-1][::step]}
    folders = set()
    for found, body in files:
        newest = found[1] == str(stamps[-1])
        if found[1] in chosen and (_COUNTERS.match(found[2]) or (newest and not _PROCESS.match(found[2]))):
            file = to / found[0]
            if file.parent not in folders:
                file.parent.mkdir(parents=True, exist_ok=True)
                folders.add(file.parent)
            file.write_bytes(body)
    return to / name


class Tree:
    """A copy of a recording whose files can be changed. Files are shared with the original until they are written."""

    def __init__(self, original: Path, to: Path) -> None:
        shutil.copytree(original, to, copy_function=os.link)
        self.path = to

    @property
    def snapshots(self) -> list[Path]:
        """The snapshots in order of time."""
        return sorted((path for path in self.path.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))

    def edit(self, file: str, change: Callable[[str, float], str]) -> Tree:
        """Rewrites one file of each snapshot that has it: `change(text, seconds since the first snapshot)`."""
        first = int(self.snapshots[0].name)
        for snapshot in self.snapshots:
            path = snapshot / file
            if path.exists():
                text = change(path.read_text(), float(int(snapshot.name) - first))
                path.unlink()
                path.write_text(text)
        return self

    def put(self, file: str, text: str) -> Tree:
        """Adds one file to each snapshot."""
        for snapshot in self.snapshots:
            (snapshot / file).parent.mkdir(parents=True, exist_ok=True)
            (snapshot / file).write_text(f"{text}\n")
        return self

    def knob(self, file: str, value: str) -> Tree:
        """Sets a setting throughout."""
        return self.edit(file, lambda _, __: f"{value}\n")

    def count(self, names: Iterable[str], change: Callable[[int, float, int], float]) -> Tree:
        """Changes counters: `change(value, seconds, value in the first snapshot)`, for the host and per node."""
        chosen = set(names)
        for file in _COUNTED:
            start: dict[str, int] = {}

            def rewrite(text: str, seconds: float, start: dict[str, int] = start) -> str:
                lines = []
                for line in text.splitlines():
                    name, _, value = line.partition(" ")
                    if name in chosen:
                        first = start.setdefault(name, int(value))
                        lines.append(f"{name} {int(change(int(value), seconds, first))}")
                    else:
                        lines.append(line)
                return "\n".join(lines) + "\n"

            self.edit(file, rewrite)
        return self

    def still(self, *names: str) -> Tree:
        """Counters that never move."""
        return self.count(names, lambda _, __, first: first)

    def times(self, factor: float, *names: str) -> Tree:
        """Counters that move so many times as fast."""
        return self.count(names, lambda value, _, first: first + (value - first) * factor)

    def flow(self, per_second: float, *names: str) -> Tree:
        """Counters that move so much faster, evenly."""
        return self.count(names, lambda value, seconds, _: value + per_second * seconds)

    def bursts(self, every_seconds: float, pages: int) -> Tree:
        """Allocations that want DRAM, in bursts: half of each finds room there, half goes to the slow node."""

        def more(file: str, grows: tuple[str, ...]) -> None:
            def rewrite(text: str, seconds: float) -> str:
                extra = int(seconds // every_seconds) * pages // 2
                return re.sub(
                    rf"(?m)^({'|'.join(grows)}) (\d+)$", lambda found: f"{found[1]} {int(found[2]) + extra}", text
                )

            self.edit(f"sys/devices/system/node/{file}/numastat", rewrite)

        more("node0", ("numa_hit", "numa_foreign"))
        more("node1", ("numa_miss",))
        return self.count(
            ("numa_foreign",), lambda value, seconds, _: value + int(seconds // every_seconds) * pages // 2
        )

    def free_slow(self, mib: int) -> Tree:
        """So much more memory free on the slow node, taken from its anon pages."""
        pages = mib * KIB * KIB // PAGE_BYTES
        self.edit(
            "sys/devices/system/node/node1/meminfo",
            lambda text, _: _MEMFREE.sub(lambda found: f"{found[1]}{int(found[2]) + mib * KIB}", text),
        )
        return self.edit(
            "sys/devices/system/node/node1/vmstat",
            lambda text, _: re.sub(
                r"(?m)^nr_inactive_anon (\d+)$", lambda found: f"nr_inactive_anon {max(int(found[1]) - pages, 0)}", text
            ),
        )

    def swap_used(self, share: float, device: str) -> Tree:
        """So much of the swap space in use throughout, on another device."""

        def rewrite(text: str, _: float) -> str:
            head, *rows = text.splitlines()
            found = [row.split() for row in rows]
            rows = ["\t".join([device, *row[1:3], str(int(int(row[2]) * share)), *row[4:]]) for row in found]
            return "\n".join([head, *rows]) + "\n"

        return self.edit("proc/swaps", rewrite)

    def every(self, step: int) -> Tree:
        """One snapshot in so many, with the newest."""
        last = len(self.snapshots) - 1
        return self._keep(lambda place: (last - place) % step == 0)

    def without_first(self, count: int) -> Tree:
        """Without its first snapshots."""
        return self._keep(lambda place: place >= count)

    def stretch(self, factor: int) -> Tree:
        """The same rates for so many times as long: times and all counters of moves grow alike."""
        moves = re.compile(r"^(pgpromote|pgdemote|numa_|pgmigrate|pgsteal|pgscan)")
        names: set[str] = set()
        for line in (self.snapshots[0] / "proc/vmstat").read_text().splitlines():
            name = line.partition(" ")[0]
            if moves.match(name):
                names.add(name)
        self.times(factor, *names)
        first = int(self.snapshots[0].name)
        for snapshot in reversed(self.snapshots):
            (snapshot / "_recorder").unlink(missing_ok=True)  # it holds the times of the reading
            snapshot.rename(self.path / str(first + (int(snapshot.name) - first) * factor))
        return self

    def _keep(self, wanted: Callable[[int], bool]) -> Tree:
        for place, snapshot in enumerate(self.snapshots):
            if not wanted(place):
                shutil.rmtree(snapshot)
        return self
