"""What a benchmark reports, and how a run is written down."""

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tierscope.core.clock import utc_now


@dataclass(frozen=True, slots=True)
class Row:
    """One measured line: ours, the reference, their ratio and the target it is held against.

    A line without a reference, or one that only explains another, has none of those.
    """

    name: str
    ours: str
    reference: str = "-"
    ratio: float | None = None
    target: str = "-"
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one benchmark with what a reader must know to judge them."""

    title: str
    rows: Sequence[Row]
    notes: Sequence[str]
    is_bound: bool = False
    """Whether a target that is not met ends the run with an error: what it holds does not depend on the machine."""


def median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def machine() -> str:
    """One line about the machine: what the figures depend on."""
    model = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory_kib = int(Path("/proc/meminfo").read_text().split()[1])
    return f"{model}, {os.cpu_count()} cores, {memory_kib / 2**20:.0f} GiB, Linux {platform.release()}"


def record_between(document: Path, marks: str, text: str) -> None:
    """Replace what stands between `<!-- MARKS: begin -->` and `<!-- MARKS: end -->` of a document.

    Raises:
        SystemExit: the document has no such marks.
    """
    begin, end = f"<!-- {marks}: begin -->", f"<!-- {marks}: end -->"
    before, found, rest = document.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{document} has no marks {begin} and {end}")
    document.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


def describe_run(command: str) -> str:
    """When, where and by what something was measured."""
    busy = f"load average {os.getloadavg()[2]:.0f} over the last quarter of an hour"
    return f"Measured {utc_now():%Y-%m-%d} on {machine()} ({busy}), by `{command}`."


def render(section: Section) -> str:
    lines = [f"### {section.title}", ""]
    if section.rows:
        lines += _table(section.rows)
    lines += [f"- {note}" for note in section.notes]
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Row]) -> list[str]:
    return [
        "| measured | ours | reference | ratio | target | met |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row.name} | {row.ours} | {row.reference} | {_ratio(row.ratio)} | {row.target} | {_met(row)} |"
            for row in rows
        ),
        "",
    ]


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3g}"


def _met(row: Row) -> str:
    if row.met is None:
        return "-"
    return "yes" if row.met else "no"
