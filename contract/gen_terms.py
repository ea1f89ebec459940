"""Write the field's terms for the dashboard and the documentation, from contract/terms.toml.

.venv/bin/python contract/gen_terms.py
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from gen_proto import write_if_changed

ROOT = Path(__file__).resolve().parent.parent
TERMS = ROOT / "contract" / "terms.toml"
DASHBOARD = ROOT / "frontend" / "src" / "lib" / "text" / "_generated" / "terms.ts"
PAGE = ROOT / "docs" / "concepts.md"
BEGIN, END = "<!-- terms: begin, from contract/terms.toml -->", "<!-- terms: end -->"
Terms = Mapping[str, Mapping[str, str]]


def load() -> Terms:
    """Return name and explanation of each term by its key, in the order of the file."""
    return tomllib.loads(TERMS.read_text(encoding="utf-8"))


def dashboard_text(terms: Terms) -> str:
    """Return the module that the dashboard imports."""
    lines = [
        "// Written by contract/gen_terms.py from contract/terms.toml.",
        "",
        "/** The field's terms in one line each, shown on hover. */",
        "export const terms = {",
        *(f"  {key}: {json.dumps(term['says'], ensure_ascii=False)}," for key, term in terms.items()),
        "} as const",
        "",
        "export type TermName = keyof typeof terms",
    ]
    return "\n".join(lines) + "\n"


def page_text(terms: Terms, page: str) -> str:
    """Return the page of concepts with the table of terms between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "\n".join(f"| {term['name']} | {term['says']} |" for term in terms.values())
    return f"{before}{BEGIN}\n\n| Term | Meaning |\n|---|---|\n{rows}\n\n{END}{after}"


def main() -> None:
    """Write both files."""
    terms = load()
    write_if_changed(DASHBOARD, dashboard_text(terms))
    write_if_changed(PAGE, page_text(terms, PAGE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
