"""`make bench`: run the benchmarks and print their tables; `--record FILE` puts them into a document."""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench import collection, ingest, recorded
from bench.figures import Section, machine, render

BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--agent", type=Path, required=True, help="the agent's release binary")
    parser.add_argument("--record", type=Path, help="document to write the tables to")
    parser.add_argument("--storage", default="native,timescaledb", help="storage modes for the ingest benchmark")
    parser.add_argument("--only", choices=("collection", "ingest"), help="run one benchmark alone")
    arguments = parser.parse_args()
    sections: list[Section] = []
    if arguments.only != "ingest":
        section = collection.measure(arguments.agent)
        if section is None:
            print("not run here: collection, because node_exporter is not installed", file=sys.stderr)
        else:
            sections.append(section)
    if arguments.only != "collection":
        with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as directory:
            values = recorded.read(arguments.agent, Path(directory))
        sections += [ingest.measure(values, mode=mode) for mode in arguments.storage.split(",")]
    text = f"Measured {datetime.now(UTC):%Y-%m-%d} on {machine()}, by `make bench`.\n\n"
    text += "\n".join(render(section) for section in sections)
    print(text)
    if arguments.record:
        record(arguments.record, text)
    return 0


def record(document: Path, text: str) -> None:
    """Replace what stands between the marks of the document."""
    old = document.read_text()
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    document.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


if __name__ == "__main__":
    raise SystemExit(main())
