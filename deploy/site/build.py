"""Builds the documentation site into docs/_site: pages, navigation and a search index, with no address but its own.

    .venv/bin/python deploy/site/build.py [DIRECTORY]

Markdown is read as CommonMark with tables, as code hosts render it; a notebook is a page with its outputs. Pages hold no
inline script: the service's content policy allows none. Links between pages follow; links to files that the site does
not have become plain text.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from markdown_it.token import Token

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUTPUT = ROOT / "docs" / "_site"
OF_ROOT = {"README.md": "about.html", "ARCHITECTURE.md": "architecture.html", "CONTRIBUTING.md": "contributing.html"}
SECTIONS = {
    "Start": ("docs/tutorial.md", "docs/concepts.md", "docs/faq.md", "docs/comparison.md"),
    "Tasks": ("docs/howto/*.md", "docs/examples/*.md", "docs/notebooks/*.ipynb"),
    "Operate": ("docs/operating/*.md",),
    "What figures mean": ("docs/method/*.md",),
    "Reference": ("docs/*.md",),
    "Development": ("*.md", "docs/decisions/*.md"),
}
"""The navigation: each page stands in the first section that names it."""
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its file below the root, its address below the site, its title, the tokens of its text."""

    source: Path
    address: str
    title: str
    tokens: tuple[Token, ...]


def address_of(source: Path) -> str:
    """Return the address of a page of documentation."""
    if len(source.parts) == 1:
        return OF_ROOT[source.name]
    below = source.relative_to("docs")
    return str(below.with_name("index.html") if below.name == "README.md" else below.with_suffix(".html"))


def read(source: Path) -> Page:
    """Parse a page; its headings get the anchors that code hosts give them."""
    text = (ROOT / source).read_text(encoding="utf-8")
    tokens = _PARSER.parse(markdown_of(json.loads(text)) if source.suffix == ".ipynb" else text)
    title = str(source)
    seen: dict[str, int] = {}
    for heading, inline in reversed(list(pairwise(tokens))):
        if heading.type == "heading_open" and heading.tag == "h1":
            title = text_of(inline)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            anchor = re.sub(r"[^\w\- ]", "", text_of(inline).lower()).replace(" ", "-")
            seen[anchor] = seen.get(anchor, 0) + 1
            heading.attrSet("id", anchor if seen[anchor] == 1 else f"{anchor}-{seen[anchor] - 1}")
    return Page(source, address_of(source), title, tuple(tokens))


def markdown_of(notebook: Mapping[str, Any]) -> str:
    """Return a notebook as Markdown: its text, its code, and below that what the code printed and showed."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            shown = output.get("text") or output.get("data", {}).get("text/plain", "")
            parts.append(f"```text\n{''.join(shown).rstrip()}\n```")
    return "\n\n".join(parts)


def text_of(inline: Token) -> str:
    """Return the words of a line without its markup."""
    return "".join(child.content if child.type != "softbreak" else " " for child in inline.children or ())


def link(page: Page, known: Mapping[Path, str]) -> Iterator[Path]:
    """Point the links of a page at addresses of the site; yield the pictures that it needs, relative to the root."""
    for token in page.tokens:
        open_links: list[bool] = []
        for child in token.children or ():
            if child.type == "link_close" and not open_links.pop():
                child.tag = "span"
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name is None:
                continue
            target = str(child.attrs[name])
            path, hash_, anchor = target.partition("#")
            wanted = Path(os.path.relpath((ROOT / page.source).parent / path, ROOT)) if path else page.source
            inside = "://" not in target and not target.startswith("mailto:")
            if inside and child.type == "image":
                child.attrs[name] = relative(str(wanted.relative_to("docs")), page.address)
                yield wanted
            elif inside and wanted in known:
                child.attrs[name] = relative(known[wanted], page.address) + hash_ + anchor if path else target
            elif inside:
                child.tag, child.attrs = "span", {}
            if child.type == "link_open":
                open_links.append(child.tag == "a")


def relative(address: str, page: str) -> str:
    """Return an address of the site as seen from one of its pages."""
    return os.path.relpath(address, Path(page).parent)


def navigation(pages: Sequence[Page]) -> dict[str, list[Page]]:
    """Return the pages by section, in the order of the section's names."""
    left = {page.source: page for page in pages if page.address != "index.html"}
    found: dict[str, list[Page]] = {}
    for section, patterns in SECTIONS.items():
        named = [
            source
            for pattern in patterns
            for source in sorted(left)
            if source.match(pattern) and _as_deep(source, pattern)
        ]
        found[section] = [left.pop(source) for source in dict.fromkeys(named)]
    return found


def build(output: Path) -> int:
    """Write the site; return the number of its pages."""
    below = [path for kind in ("*.md", "*.ipynb") for path in (ROOT / "docs").rglob(kind)]
    sources = [path.relative_to(ROOT) for path in below if "_site" not in path.parts]
    pages = [read(source) for source in sorted([*sources, *map(Path, OF_ROOT)])]
    known = {page.source: page.address for page in pages}
    known |= {source.parent: address for source, address in known.items() if source.name == "README.md"}
    known.pop(Path(), None)
    sections = navigation(pages)
    template = Environment(loader=FileSystemLoader(HERE), autoescape=True).get_template("page.html")
    shutil.rmtree(output, ignore_errors=True)
    index = []
    for page in pages:
        pictures = list(link(page, known))
        body = _PARSER.renderer.render(page.tokens, _PARSER.options, {})
        place = output / page.address
        place.parent.mkdir(parents=True, exist_ok=True)
        top = relative(".", page.address)
        place.write_text(template.render(page=page, body=body, sections=sections, top=top, relative=relative), "utf-8")
        for picture in pictures:
            copied = output / picture.relative_to("docs")
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / picture, copied)
        words = " ".join(text_of(token) for token in page.tokens if token.type == "inline")
        index.append({"address": page.address, "title": page.title, "words": words})
    (output / "search.json").write_text(json.dumps(index, ensure_ascii=False), "utf-8")
    for name in ("site.css", "search.js"):
        shutil.copy(HERE / name, output / name)
    return len(pages)


def _as_deep(source: Path, pattern: str) -> bool:
    return len(source.parts) == len(Path(pattern).parts)


if __name__ == "__main__":
    where = Path(sys.argv[1]) if sys.argv[1:] else OUTPUT
    print(f"{build(where)} pages in {where}")
