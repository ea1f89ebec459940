"""The pages of the documentation, read by a Markdown parser: blocks of code with what is said of them, links, headings.

What is said of a block is an HTML comment right before it, which no reader sees:

- `<!-- not run: REASON -->`: a test leaves the block out.
- `<!-- file: NAME -->`: the block is the file that later blocks of the page use by that name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from architecture.tree import ROOT, tracked

COMMANDS = ("sh", "python")
_SAID = re.compile(r"<!--\s*(?P<kind>not run|file):\s*(?P<text>.*?)\s*-->", re.DOTALL)
_PARSER = MarkdownIt("commonmark").enable("table")
_BLOCK_PARSER = MarkdownIt("commonmark").disable(["inline", "text_join"])
"""Fences and comments alone: each process that collects tests reads all pages for them, in a fifth of the time."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `line` is that of its fence; `not_run` a reason and `file` a name, where the page says so."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None = None
    file: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether it holds commands that a test runs."""
        return self.language in COMMANDS and self.not_run is None and self.file is None


@dataclass(frozen=True, slots=True)
class Link:
    """A link or picture of a page: its address as written."""

    page: Path
    line: int
    target: str


def pages() -> list[Path]:
    """Every page that readers get, relative to the root."""
    return sorted(
        path for path in tracked(".md") if path.parts[0] == "docs" or len(path.parts) == 1 or path.name == "README.md"
    )


def read(page: Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: Path, text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
    said: dict[str, str] = {}
    for token in _BLOCK_PARSER.parse(text):
        if token.type == "html_block":
            said = {found["kind"]: found["text"] for found in _SAID.finditer(token.content)}
        elif token.type == "fence":
            line = (token.map or [0])[0] + 1
            language = token.info.split(" ", 1)[0]
            yield Block(page, line, language, token.content, said.get("not run"), said.get("file"))
            said = {}
        else:
            said = {}


def links(page: Path, text: str) -> Iterator[Link]:
    """Yield the links and pictures of a page, those of tables and lists, too."""
    for token in _PARSER.parse(text):
        line = (token.map or [0])[0] + 1
        for child in token.children or ():
            target = _target(child)
            if target is not None:
                yield Link(page, line, target)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    tokens = _PARSER.parse(text)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            title = "".join(child.content for child in inline.children or ())
            found.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    return found


def _target(token: Token) -> str | None:
    name = {"link_open": "href", "image": "src"}.get(token.type)
    return None if name is None else str(token.attrs[name])
