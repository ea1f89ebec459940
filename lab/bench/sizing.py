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
NODE_DISK_BYTES = 16e12
"""Most disk of one database server."""
_CHUNK_DAYS = 0.25
"""Of `counters_live` and `heat_live`, the largest tables."""
_INDEX_BYTES, _WORKER_BYTES, _PROCESS_BYTES = 29_000, 60_000, 256 << 20
"""Of memory: a host's indexes of live rows on its node, what a worker keeps of it, and a process as it starts."""
_HEAD = (
    "| hosts | API processes | workers | their machines | their memory | database cores | nodes | disk of a node |"
    " memory of a node, at least | largest chunk | network |"
)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What so many hosts take. Processes and machines are whole."""

    hosts: int
    api_processes: int
    worker_processes: int
    service_machines: int
    service_memory_bytes: float
    database_cores: float
    nodes: int
    disk_bytes: float
    node_memory_bytes: float
    largest_chunk_bytes: float
    network_bits_per_s: float | None
    """Of what agents send; None where the load did not tell."""
    extrapolated: bool


def size(result: dict[str, Any], hosts: int) -> Fleet:
    """By docs/operating/sizing.md: an API or worker process keeps one core busy."""
    per_minute = result["cpu_ms_per_host_minute"]
    cores = {name: hosts * per_minute[name] / 60_000 / BUSY_RATIO for name in ("api", "worker", "database")}
    stored = result["stored_bytes_per_host_day"]
    disk = next(entry["disk_bytes"] for entry in result["sizing"] if entry["hosts"] == hosts)
    api, worker = math.ceil(cores["api"]), math.ceil(cores["worker"])
    nodes = max(math.ceil(cores["database"] / MACHINE_CORES), math.ceil(disk / NODE_DISK_BYTES))
    sent = result["loads"][-1]["fleet"].get("sent_bytes_per_host_day") if result["loads"] else None
    largest = max(stored["counters_live"], stored["heat_live"])
    return Fleet(
        hosts=hosts,
        api_processes=api,
        worker_processes=max(worker, nodes),
        service_machines=math.ceil((cores["api"] + cores["worker"]) / MACHINE_CORES),
        service_memory_bytes=hosts * _WORKER_BYTES + (api + max(worker, nodes)) * _PROCESS_BYTES,
        database_cores=cores["database"],
        nodes=nodes,
        disk_bytes=disk,
        node_memory_bytes=hosts / nodes * _INDEX_BYTES,
        largest_chunk_bytes=hosts / nodes * largest * _CHUNK_DAYS,
        network_bits_per_s=None if sent is None else hosts * sent * 8 / 86_400,
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
    network = "-" if fleet.network_bits_per_s is None else f"{fleet.network_bits_per_s / 1e6:,.1f} Mbit/s"
    cells = [
        str(fleet.api_processes),
        str(fleet.worker_processes),
        str(fleet.service_machines),
        _bytes(fleet.service_memory_bytes),
        f"{fleet.database_cores:.1f}",
        str(fleet.nodes),
        _bytes(fleet.disk_bytes / fleet.nodes),
        _bytes(fleet.node_memory_bytes),
        _bytes(fleet.largest_chunk_bytes),
        network,
    ]
    told = [f"*{cell}*" if fleet.extrapolated and cell != "-" else cell for cell in cells]
    return f"| {' | '.join([f'{fleet.hosts:,}', *told])} |"


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
