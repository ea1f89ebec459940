"""Write the metric catalogue for the agent, the service, the dashboard and the reader, from contract/metrics/*.toml.

    .venv/bin/python contract/gen_catalogue.py

Each file holds `[[metric]]` tables; what they mean stands in docs/metrics.md, which is written here too. An entry that
breaks a rule ends the run with its file, its name and what to change.
"""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
METRICS_DIR = ROOT / "contract" / "metrics"
RUST_OUT = ROOT / "collector-agent" / "crates" / "sample" / "src" / "_generated" / "catalogue.rs"
PYTHON_OUT = ROOT / "backend" / "tierscope" / "domain" / "_generated" / "catalogue.py"
DOCS_OUT = ROOT / "docs" / "metrics.md"

UNITS = {
    "pages": "base pages (4 KiB on x86, where a 2 MiB page counts 512)",
    "huge_pages": "PMD huge pages (2 MiB on x86)",
    "bytes": "bytes",
    "kib": "KiB",
    "ns": "nanoseconds",
    "us": "microseconds",
    "ticks": "ticks of 1/100 s",
    "allocations": "allocations of any size",
    "events": "events",
    "faults": "page faults",
    "ptes": "page-table entries",
    "requests": "I/O requests",
    "objects": "slab objects",
    "refs": "page references",
    "count": "a plain number",
}
KINDS = ("counter", "gauge")
SCOPES = ("host", "node", "zone", "cgroup", "service")
REQUIRED = ("name", "source", "unit", "kind", "scopes", "kernel", "added_in", "help")
OPTIONAL = ("trust", "rollup")

MARK = "written by `contract/gen_catalogue.py` from `contract/metrics`"


class CatalogueError(Exception):
    """An entry of the catalogue breaks a rule; the text says which entry and what to change."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the catalogue."""

    name: str
    source: str
    unit: str
    kind: str
    scopes: tuple[str, ...]
    kernel: str
    added_in: str
    help: str
    trust: str
    rollup: bool


def parse_metric(entry: dict[str, object], *, where: str) -> Metric:
    """Check one `[[metric]]` table. Raises CatalogueError."""
    name = f"{where}: {entry.get('name', 'an entry without a name')}"
    for key in REQUIRED:
        if not entry.get(key):
            raise CatalogueError(f"{name}: `{key}` is missing; add it.")
    for key in entry:
        if key not in REQUIRED + OPTIONAL:
            raise CatalogueError(f"{name}: `{key}` is not a key of the catalogue; remove it.")
    scopes = entry["scopes"]
    if not isinstance(scopes, list) or any(scope not in SCOPES for scope in scopes):
        raise CatalogueError(f"{name}: `scopes` must be a list of {', '.join(SCOPES)}.")
    if entry["unit"] not in UNITS:
        raise CatalogueError(f"{name}: unit `{entry['unit']}` is unknown; use one of {', '.join(UNITS)}.")
    if entry["kind"] not in KINDS:
        raise CatalogueError(f"{name}: kind `{entry['kind']}` is unknown; use one of {', '.join(KINDS)}.")
    return Metric(
        name=str(entry["name"]),
        source=str(entry["source"]),
        unit=str(entry["unit"]),
        kind=str(entry["kind"]),
        scopes=tuple(str(scope) for scope in scopes),
        kernel=str(entry["kernel"]),
        added_in=str(entry["added_in"]),
        help=str(entry["help"]),
        trust=str(entry.get("trust", "")),
        rollup=entry.get("rollup") is True,
    )


def load_metrics(directory: Path = METRICS_DIR) -> list[Metric]:
    """All entries, sorted by source and name. Raises CatalogueError, also for a duplicate (scope, source, name)."""
    metrics: list[Metric] = []
    for path in sorted(directory.glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("metric", [])
        metrics.extend(parse_metric(entry, where=path.name) for entry in entries)
    seen: set[tuple[str, str, str]] = set()
    for metric in metrics:
        for scope in metric.scopes:
            key = (scope, metric.source, metric.name)
            if key in seen:
                raise CatalogueError(f"duplicate entry {'|'.join(key)}; remove one.")
            seen.add(key)
    return sorted(metrics, key=lambda metric: (metric.source, metric.name, metric.scopes))


def quote(text: str) -> str:
    """A string literal that Rust and Python both read alike (the catalogue is ASCII)."""
    return json.dumps(text, ensure_ascii=True)


def render_rust(metrics: list[Metric]) -> str:
    """The agent's table: what it needs to tell a missing counter from one it never heard of. One metric to a line."""
    lines = [f"//! The metric catalogue; {MARK}.", "", "use crate::metric::Kind::{Counter, Gauge};"]
    lines += ["use crate::metric::ScopeKind::{Cgroup, Host, Node, Service, Zone};"]
    lines += ["use crate::metric::{Metric, metric};", ""]
    lines += ["/// Every metric, sorted by source and name.", "#[rustfmt::skip]"]
    lines += ["pub static METRICS: &[Metric] = &["]
    for metric in metrics:
        texts = ", ".join(map(quote, (metric.source, metric.name, metric.unit)))
        scopes = ", ".join(scope.capitalize() for scope in metric.scopes)
        kept = str(metric.rollup).lower()
        lines.append(f"    metric({texts}, {metric.kind.capitalize()}, &[{scopes}], {kept}),")
    return "\n".join([*lines, "];", ""])


PYTHON_HEAD = '''"""The metric catalogue; {mark}."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by name: unit, kind (counter or gauge), the scopes in which it can stand, and what it means.

    `rollup` says whether it is kept in the tables of 10 minutes, 1 hour and 1 day. `trust` names its trap, or is "".
    A key that ends in `[N0]` has the entry of the name before the bracket.
    """

    name: str
    source: str
    unit: str
    kind: str
    scopes: tuple[str, ...]
    kernel: str
    added_in: str
    help: str
    trust: str
    rollup: bool


'''


def render_python(metrics: list[Metric]) -> str:
    """The service's table: a tuple of frozen dataclasses."""
    lines = ["METRICS: tuple[Metric, ...] = ("]
    for metric in metrics:
        scopes = ", ".join(quote(scope) for scope in metric.scopes) + ","
        texts = [metric.name, metric.source, metric.unit, metric.kind]
        notes = [metric.kernel, metric.added_in, metric.help, metric.trust]
        fields = [*map(quote, texts), f"({scopes})", *map(quote, notes), str(metric.rollup)]
        lines.append(f"    Metric({', '.join(fields)}),")
    return PYTHON_HEAD.replace("{mark}", MARK) + "\n".join([*lines, ")", ""])


DOCS_HEAD = """# Metrics

<!-- {mark} -->

What the agent reads from the kernel, by source. A value travels under the key `<scope>|<source>|<name>`, such as
`node:0|vmstat|pgdemote_kswapd`; a value per node inside one file is written `name[N0]` and has the entry of `name`.
Lines that the kernel prints in kB are given in bytes; all else is in the kernel's own unit. Values travel raw; the
service makes differences, under one set of rules. A name that is not listed here is kept and shown under its own name.

- **Kind**: a *counter* only grows within one boot; a *gauge* is a state.
- **Kernel**: where the line is known from. It is found by name at run time, never by version; distributions backport.
- **Kept**: also in the tables of 10 minutes, 1 hour and 1 day.

Units: {units}.
"""


def render_docs(metrics: list[Metric]) -> str:
    """The reader's table: one section per source."""
    units = "; ".join(f"`{unit}` = {meaning}" for unit, meaning in UNITS.items())
    lines = [DOCS_HEAD.replace("{mark}", MARK).replace("{units}", units)]
    for source in sorted({metric.source for metric in metrics}):
        lines += [f"## {source}", "", "| Name | Unit | Kind | Scopes | Kernel | Kept | Meaning |", f"|{'---|' * 7}"]
        for metric in metrics:
            if metric.source == source:
                kept = "yes" if metric.rollup else ""
                meaning = f"{metric.help} *{metric.trust}*" if metric.trust else metric.help
                cells = [f"`{metric.name}`", metric.unit, metric.kind, ", ".join(metric.scopes), metric.kernel, kept]
                lines.append("| " + " | ".join([*cells, meaning.replace("|", "\\|")]) + " |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


RUST_PACKAGE = """//! Tables written by `contract/gen.py`.

pub(crate) mod advice;
pub(crate) mod catalogue;
pub(crate) mod heat_columns;
"""


def render_all(metrics: list[Metric]) -> dict[Path, str]:
    """Text of every file that is made from the catalogue."""
    package = PYTHON_OUT.with_name("__init__.py")
    return {
        RUST_OUT: render_rust(metrics),
        RUST_OUT.with_name("mod.rs"): RUST_PACKAGE,
        package: '"""Tables written by `contract/gen.py`."""\n',
        PYTHON_OUT: render_python(metrics),
        DOCS_OUT: render_docs(metrics),
    }


def main() -> None:
    """Write the files that differ."""
    try:
        texts = render_all(load_metrics())
    except CatalogueError as error:
        raise SystemExit(f"The metric catalogue cannot be read. {error}") from error
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
