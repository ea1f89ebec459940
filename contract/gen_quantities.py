"""Write the register of quantities for the service and the reader, from contract/quantities.toml.

    .venv/bin/python contract/gen_quantities.py

What the keys of an entry mean stands at the top of that file. An entry that breaks a rule ends the run with its name
and what to change.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from gen_proto import write_if_changed

ROOT = Path(__file__).resolve().parent.parent
QUANTITIES = ROOT / "contract" / "quantities.toml"
PYTHON_OUT = ROOT / "backend" / "tierscope" / "domain" / "_generated" / "quantities.py"
DOCS = ROOT / "docs"
PAGE = DOCS / "quantities.md"
DASHBOARD = ROOT / "frontend" / "src" / "lib" / "units" / "_generated" / "quantities.ts"

MARK = "written by `contract/gen_quantities.py` from `contract/quantities.toml`"
KEYS = ("unit", "of", "says", "page")
SUBJECTS = ("service", "host", "fleet", "service_on_host", "scenario", "run", "experiment")
DEFINITION = re.compile(r"[a-z_]+(\.[a-z0-9_{}]+)+/[1-9][0-9]*")


class QuantityError(Exception):
    """An entry breaks a rule; the text says which and what to change."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One entry: `page` is the page below docs that has its formula, inputs and assumptions."""

    definition: str
    unit: str
    of: tuple[str, ...]
    says: str
    page: str

    @property
    def family(self) -> str:
        """What stands before the first dot."""
        return self.definition.partition(".")[0]


def parse(definition: str, entry: Mapping[str, object]) -> Quantity:
    """Check one entry. Raises QuantityError."""
    if not DEFINITION.fullmatch(definition):
        raise QuantityError(f"{definition}: an id is `family.name/version` in small letters.")
    if set(entry) != set(KEYS):
        raise QuantityError(f"{definition}: the keys of an entry are {', '.join(KEYS)}.")
    of = entry["of"]
    if not isinstance(of, list) or not of or any(subject not in SUBJECTS for subject in of):
        raise QuantityError(f"{definition}: `of` must be a list of {', '.join(SUBJECTS)}.")
    says, page = str(entry["says"]), str(entry["page"])
    if not says.endswith("."):
        raise QuantityError(f"{definition}: `says` must be whole sentences.")
    if not (DOCS / page).is_file():
        raise QuantityError(f"{definition}: there is no page docs/{page}; name the one that has the formula.")
    return Quantity(definition, str(entry["unit"]), tuple(of), says, page)


def load() -> tuple[Quantity, ...]:
    """Return all quantities by family and name. Raises QuantityError."""
    entries = tomllib.loads(QUANTITIES.read_text(encoding="utf-8"))
    return tuple(parse(definition, entries[definition]) for definition in sorted(entries))


def python_text(quantities: tuple[Quantity, ...]) -> str:
    """Return the module that the service imports."""
    rows = "\n".join(f"        {_quantity(one)}," for one in quantities)
    return f'''"""All quantities that figures speak of; {MARK}."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a figure with this definition is, of which subjects it is told, and the page of its method below docs."""

    definition: str
    unit: str
    of: tuple[str, ...]
    says: str
    page: str


QUANTITIES: dict[str, Quantity] = {{
    one.definition: one
    for one in (
{rows}
    )
}}
"""By definition."""
'''


def _quantity(one: Quantity) -> str:
    of = "".join(f"{json.dumps(subject)}, " for subject in one.of)
    texts = [json.dumps(text) for text in (one.definition, one.unit, one.says, one.page)]
    return f"Quantity({texts[0]}, {texts[1]}, ({of}), {texts[2]}, {texts[3]})"


def page_text(quantities: tuple[Quantity, ...]) -> str:
    """Return the page of the documentation."""
    lines = [
        "# Quantities",
        "",
        f"<!-- {MARK} -->",
        "",
        "Every figure that Tierscope shows names its definition, such as `heat.hot_ratio/1`. One definition is one",
        "quantity: one formula, one unit and one rule about what it is summed over, on every page, in every report,",
        "export and alert. A changed formula has a new number behind the slash. The API has the same list under",
        "`GET /v1/quantities`.",
        "",
        "Unless it says otherwise, a figure of a service or of the fleet is over the hosts on which the quantity was",
        "measured; the figure says how many these are (`n_hosts`), and its coverage how much of the window was seen.",
        "",
        "- **Of**: what it is told about. `service_on_host` is one service on one host, `run` a run of the simulator.",
        "- **Method**: the page with formula, inputs and assumptions.",
    ]
    for family, group in groupby(quantities, key=lambda one: one.family):
        lines += ["", f"## {family}", "", "| Definition | Unit | Of | Meaning | Method |", "|---|---|---|---|---|"]
        lines += [_row(one) for one in group]
    return "\n".join(lines) + "\n"


def _row(one: Quantity) -> str:
    method = f"[{Path(one.page).stem}]({one.page})"
    return f"| `{one.definition}` | {one.unit} | {', '.join(one.of)} | {one.says} | {method} |"


def dashboard_text(quantities: tuple[Quantity, ...]) -> str:
    """Return the module that the dashboard loads when somebody asks what a figure is."""
    rows = "\n".join(
        f"  {json.dumps(one.definition)}: {{ says: {json.dumps(one.says)}, page: {json.dumps(one.page)} }},"
        for one in quantities
    )
    return f"""// Written by contract/gen_quantities.py from contract/quantities.toml.

/** What figures are, and the page of the documentation with their method, by definition. */
export const quantities: Record<string, {{ says: string; page: string }}> = {{
{rows}
}}
"""


def main() -> None:
    """Write all files."""
    quantities = load()
    write_if_changed(PYTHON_OUT, python_text(quantities))
    write_if_changed(DASHBOARD, dashboard_text(quantities))
    write_if_changed(PAGE, page_text(quantities))


if __name__ == "__main__":
    main()
