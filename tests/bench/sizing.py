"""Writes what `make bench ARGS="--only load"` found into the documents: `python -m bench.sizing FILE.json...`.

`docs/benchmarks.md` gets what was measured, `docs/operating/sizing.md` what follows from it by the formulas there.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import record_between, render
from bench.fleet_load import section_of
from tierscope.usecases.operate.load_figures import BUSY_RATIO, FLEETS

ROOT = Path(__file__).resolve().parents[2]
MACHINE_CORES = 16
"""Of the machines that a fleet is sized in."""
CELL_DISK_BYTES = 16e12
"""Most disk of one database."""
_CHUNK_DAYS = 0.25
"""Of `counters_live` and `heat_live`, the largest tables."""
_HEAD = "| hosts | API | workers | their machines | database cores | cells | disk | standbys | largest chunk | basis |"


@dataclass(frozen=True, slots=True)
class Fleet:
    """What so many hosts take. Processes and machines are whole."""

    hosts: int
    api_processes: int
    worker_processes: int
    service_machines: int
    database_cores: float
    cells: int
    disk_bytes: float
    largest_chunk_bytes: float
    extrapolated: bool


def size(result: dict[str, Any], hosts: int) -> Fleet:
    """By docs/operating/sizing.md: an API or worker process keeps one core busy."""
    per_minute = result["cpu_ms_per_host_minute"]
    cores = {name: hosts * per_minute[name] / 60_000 / BUSY_RATIO for name in ("api", "worker", "database")}
    stored = result["stored_bytes_per_host_day"]
    disk = next(entry["disk_bytes"] for entry in result["sizing"] if entry["hosts"] == hosts)
    api, worker = math.ceil(cores["api"]), math.ceil(cores["worker"])
    cells = max(math.ceil(cores["database"] / MACHINE_CORES), math.ceil(disk / CELL_DISK_BYTES))
    largest = max(stored["counters_live"], stored["heat_live"])
    return Fleet(
        hosts=hosts,
        api_processes=max(api, cells),
        worker_processes=max(worker, cells),
        service_machines=math.ceil((cores["api"] + cores["worker"]) / MACHINE_CORES),
        database_cores=cores["database"],
        cells=cells,
        disk_bytes=disk,
        largest_chunk_bytes=hosts / cells * largest * _CHUNK_DAYS,
        extrapolated=hosts > (result["largest_held"] or 0),
    )


def sizing_text(results: Sequence[dict[str, Any]]) -> str:
    """The tables of docs/operating/sizing.md."""
    return "\n".join(line for result in results for line in _lines(result))


def _lines(result: dict[str, Any]) -> list[str]:
    costs = ", ".join(f"{name} {cost:.1f}" for name, cost in result["cpu_ms_per_host_minute"].items())
    stored = result["stored_bytes_per_host_day"]
    kept = sum(size_bytes * result["kept_days"][name] for name, size_bytes in stored.items())
    held = f"{result['largest_held']} hosts" if result["largest_held"] else "none of those tried"
    return [
        f"### Storage: {result['storage']}",
        "",
        f"From {result['begun'][:10]}, {result['machine']}; each load for {result['minutes']} min.",
        "",
        f"- Largest load that held: {held}.",
        f"- CPU per host and minute, ms: {costs}.",
        f"- Stored: {sum(stored.values()) / 1e6:.1f} MB a host-day; {kept / 1e6:,.0f} MB a host in all.",
        "",
        _HEAD,
        "|" + "---|" * (_HEAD.count("|") - 1),
        *(_line(size(result, hosts)) for hosts in FLEETS),
        "",
    ]


def _line(fleet: Fleet) -> str:
    basis = "*extrapolated*" if fleet.extrapolated else "measured"
    disk = _bytes(fleet.disk_bytes)
    return (
        f"| {fleet.hosts:,} | {fleet.api_processes} | {fleet.worker_processes} | {fleet.service_machines} |"
        f" {fleet.database_cores:.1f} | {fleet.cells} | {disk} | {fleet.cells} | {_bytes(fleet.largest_chunk_bytes)} |"
        f" {basis} |"
    )


def _bytes(count: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9)):
        if count >= scale:
            return f"{count / scale:,.1f} {unit}"
    return f"{count / 1e6:,.0f} MB"


def main() -> int:
    """Write both documents from the files that are named."""
    if not sys.argv[1:]:
        raise SystemExit(__doc__)
    results = [json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]
    record_between(ROOT / "docs" / "operating" / "sizing.md", "sizing", sizing_text(results))
    measured = [
        f"Measured {result['begun'][:10]} on {result['machine']}.\n\n{render(section_of(result))}" for result in results
    ]
    record_between(ROOT / "docs" / "benchmarks.md", "scale", "\n".join(measured))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
