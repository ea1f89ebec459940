"""Recorded snapshot trees with something changed in their files, as another host would have recorded them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import zstandard

from factories.kernel_lab import CORPUS, HMAT_RECORDINGS, RECORDINGS
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
_IN_PAGES = re.compile(
    r"^(nr_(?!.*(hugepages|pmdmapped)$|kernel_stack$|shadow_call_stack$)"
    r"|pg(?!pgin|pgout|fault|majfault|lazyfreed_)|pswp|zswp|swap_ra|workingset_(?!nodes|nodereclaim)|unevictable_pgs"
    r"|numa_(?!huge_pte_updates)|local_node|other_node|interleave_hit)"
)
"""Names that count base pages in vmstat, numastat and memory.stat (mm/vmstat.c), not huge pages, KiB or faults."""
_ZONE_PAGES = re.compile(
    r"(?m)^(\s*(?:pages free|boost|min|low|high|promo|spanned|present|managed|cma|nr_\w+|numa_\w+)\s+)(\d+)$"
)
_LIST_KIB = re.compile(r"(?m)^(Node \d+ (Active|Inactive)\((anon|file)\):\s+)(\d+)")
_MEMFREE = re.compile(r"(MemFree:\s+)(\d+)")


def unpack(name: str, to: Path, *, step: int = 1) -> Path:
    """Unpacks the recording `name` under `to`, one snapshot in `step`, and returns its root.

    Only what a ledger and settings are read from, and settings of the newest snapshot alone, where they are looked for:
    the files of processes and of every other setting are most of a recording.
    """
    places = (folder / f"{name}.tar.zst" for folder in (RECORDINGS, HMAT_RECORDINGS, CORPUS))
    packed = next(place for place in places if place.exists())
    raw = zstandard.ZstdDecompressor().stream_reader(packed.read_bytes())
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

    def in_pages_of(self, page_bytes: int) -> Tree:
        """The same physics as a kernel with pages of this size counts it, on arm64 by the name of its release.

        Counts are multiples of 16 first, so that as many bytes are a whole number of pages of up to 64 KiB.
        """
        factor = page_bytes // PAGE_BYTES
        tables = re.compile(
            r"^(sys/devices/system/node/node\d+/(vmstat|numastat)|proc/vmstat|sys/fs/cgroup/.*memory\.stat)$"
        )
        huge = any(
            int(found[1]) > 0
            for snapshot in self.snapshots
            for found in re.finditer(r"(?m)^numa_huge_pte_updates (\d+)$", (snapshot / "proc/vmstat").read_text())
        )

        def scaled(count: str) -> str:
            return str(int(count) // 16 * 16 // factor)

        def rescale(text: str) -> str:
            """Lines of a name and a count; a fault on a huge page is one, whatever its base pages."""
            return re.sub(
                r"(?m)^(\w+) (\d+)$",
                lambda found: (
                    f"{found[1]} {scaled(found[2])}"
                    if _IN_PAGES.match(found[1]) and not (huge and found[1].startswith("numa_hint_faults"))
                    else found[0]
                ),
                text,
            )

        def rescale_zones(text: str) -> str:
            text = _ZONE_PAGES.sub(lambda found: f"{found[1]}{scaled(found[2])}", text)
            return re.sub(r"\d+(?=[,)])", lambda found: scaled(found[0]), text)

        for snapshot in self.snapshots:
            self._make_lists_agree(snapshot)
            for path in snapshot.rglob("*"):
                name = path.relative_to(snapshot).as_posix()
                change = rescale if tables.match(name) else rescale_zones if name == "proc/zoneinfo" else None
                if change is not None and path.is_file():
                    text = change(path.read_text())
                    path.unlink()
                    path.write_text(text)
        return self.knob("proc/sys/kernel/osrelease", "6.12.95.aarch64")

    def _make_lists_agree(self, snapshot: Path) -> None:
        """LRU lists of nodes in meminfo are whole pages of 64 KiB, and as much in vmstat: both files are read apart."""
        for folder in snapshot.glob("sys/devices/system/node/node*"):
            sizes, counts = folder / "meminfo", folder / "vmstat"
            text = _LIST_KIB.sub(lambda found: f"{found[1]}{int(found[4]) // 64 * 64}", sizes.read_text())
            kib = {f"nr_{found[2]}_{found[3]}".lower(): int(found[4]) for found in _LIST_KIB.finditer(text)}
            table = counts.read_text()
            for name, size in kib.items():
                table = re.sub(rf"(?m)^{name} \d+$", f"{name} {size * KIB // PAGE_BYTES}", table)
            for path, changed in ((sizes, text), (counts, table)):
                path.unlink()
                path.write_text(changed)

    def _keep(self, wanted: Callable[[int], bool]) -> Tree:
        for place, snapshot in enumerate(self.snapshots):
            if not wanted(place):
                shutil.rmtree(snapshot)
        return self
