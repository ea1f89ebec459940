"""`make bench`: run the benchmarks and print their tables; `--record FILE` puts them into a document."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import (
    alerts,
    collection,
    first_charts,
    fleet_load,
    fold,
    heat,
    heatmap,
    idle,
    ingest,
    instance_idle,
    landing,
    latency,
    memory,
    nodes,
    queries,
    recorded,
    remote_write,
    rollup,
    sampling,
    scale,
    service_page,
    simulate,
    tco,
    waits,
)
from bench.figures import Section, describe_run, record_between, render

PARTS = (
    "idle",
    "collection",
    "heat",
    "latency",
    "sampling",
    "fold",
    "simulate",
    "ingest",
    "rollup",
    "page",
    "waits",
    "landing",
    "charts",
    "heatmap",
    "queries",
    "nodes",
    "remote_write",
    "memory",
    "tco",
    "alerts",
    "scale",
    "load",
)


OF_THEIR_OWN = {"queries", "nodes"}
"""Parts with marks of their own in the document: each is recorded by itself."""
_OF_AGENT: dict[str, Callable[[Path], Section]] = {
    "collection": collection.measure,
    "heat": heat.measure,
    "latency": latency.measure,
}
_ALONE: dict[str, Callable[[], Section]] = {
    "sampling": sampling.measure,
    "fold": fold.measure,
    "simulate": simulate.measure,
    "rollup": rollup.measure,
    "page": service_page.measure,
    "waits": waits.measure,
    "landing": landing.measure,
    "charts": first_charts.measure,
    "heatmap": heatmap.measure,
    "remote_write": remote_write.measure,
    "alerts": alerts.measure,
    "memory": memory.measure,
    "tco": tco.measure,
    "scale": scale.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--agent", type=Path, required=True, help="the agent's release binary")
    parser.add_argument("--record", type=Path, help="document to write the tables to")
    parser.add_argument("--storage", default="native,timescaledb", help="storage of the parts `ingest` and `load`")
    parser.add_argument("--hosts", default="500", help="hosts to try for the part `load`, such as 1000,2000,5000")
    parser.add_argument("--node-hosts", type=int, default=nodes.HOSTS, help="hosts of the part `nodes`")
    parser.add_argument(
        "--node-store", type=Path, help="directory that keeps the servers of the part `nodes`, to ask them again"
    )
    parser.add_argument("--node-rounds", type=int, default=nodes.ROUNDS, help="warm calls of each route in that part")
    parser.add_argument("--minutes", type=int, default=3, help="minutes of each try of the part `load`")
    parser.add_argument("--send-minutes", type=int, default=1, help="minutes that each batch of the part `load` holds")
    parser.add_argument(
        "--json", type=Path, help="file for all that the part `load` found; {storage} in it is replaced"
    )
    parser.add_argument(
        "--kept", type=Path, help="directory that keeps the store of the part `queries`, to ask it again"
    )
    parser.add_argument("--only", help=f"parts to run, out of {','.join(PARTS)}; all of them without")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else PARTS
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; parts are {', '.join(PARTS)}")
    if arguments.record and len(wanted) > 1 and OF_THEIR_OWN & set(wanted) and arguments.only:
        parser.error(f"{' and '.join(sorted(OF_THEIR_OWN))} are each recorded by themselves: run one with --only")
    sections: list[Section] = []
    for part in wanted:
        if part == "load":
            sections += [fleet_load.measure(mode, _plan(arguments, mode)) for mode in arguments.storage.split(",")]
        elif part == "queries":
            sections.append(queries.measure(arguments.kept))
        elif part == "nodes":
            asked = nodes.Asked(arguments.node_hosts, arguments.node_store, arguments.node_rounds)
            sections.append(nodes.measure(asked))
        else:
            sections += run(part, arguments.agent, arguments.storage.split(","))
    text = "\n".join(render(section) for section in sections)
    text = f"{describe_run('make bench')}\n\n{text}"
    print(text)
    if arguments.record:
        record_between(arguments.record, wanted[0] if set(wanted) <= OF_THEIR_OWN else "measured", text)
    return int(any(row.met is False for section in sections for row in section.rows if section.is_bound))


def _plan(arguments: argparse.Namespace, mode: str) -> fleet_load.Plan:
    document = arguments.json and Path(str(arguments.json).replace("{storage}", mode))
    hosts = [int(count) for count in arguments.hosts.split(",")]
    return fleet_load.Plan(hosts, arguments.minutes, arguments.send_minutes, document)


def run(part: str, agent: Path, storage: Sequence[str]) -> list[Section]:
    """The sections of a part; one that says why not where it cannot run here."""
    reasons = {
        "collection": collection.unusable,
        "heat": heat.unusable,
        "landing": landing.unusable,
        "charts": landing.unusable,
        "latency": latency.unusable,
        "heatmap": heatmap.unusable,
        "sampling": sampling.unusable,
        "waits": landing.unanswered,
    }
    reason = reasons[part]() if part in reasons else None
    if reason is not None:
        print(f"not run here: {part}, because {reason}", file=sys.stderr)
        return [Section(title=f"Not run here: {part}", rows=[], notes=[f"{reason[0].upper()}{reason[1:]}."])]
    if part == "idle":
        return [idle.measure(agent), instance_idle.measure(agent)]
    if part in _OF_AGENT:
        return [_OF_AGENT[part](agent)]
    if part in _ALONE:
        return [_ALONE[part]()]
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as directory:
        values = recorded.read(agent, Path(directory))
    return [ingest.measure(values, mode=mode) for mode in storage]


if __name__ == "__main__":
    raise SystemExit(main())
