"""Files, functions and folders of Rust stay small enough to be read at once. Generated code is exempt."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from architecture.tree import ROOT, tracked

PYTHON_LINES = 500
RUST_LINES = 700
WEB_LINES = 300
ROUTER_LINES = 250
DECISION_LINES = 80
TEST_LINES = 500
FUNCTION_LINES = 60
RUST_FOLDER_FILES = 25
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*\nmod \w+ \{", re.MULTILINE)
_RUST_FUNCTION = re.compile(r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?(?:const |unsafe |async )*fn (?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class Part:
    """A file or a function with its length."""

    name: str
    lines: int


def rust_source(text: str) -> str:
    """Return a Rust file without the module of its tests, which ends it."""
    match = _RUST_TESTS.search(text)
    return text if match is None else text[: match.start()]


def rust_functions(text: str) -> Iterator[Part]:
    """Yield the functions of rustfmt-formatted code: each ends at a brace as far in as it begins."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _RUST_FUNCTION.match(line)
        if match is None:
            continue
        closing = f"{match['indent']}}}"
        end = next((at for at in range(number, len(lines)) if lines[at].rstrip() == closing), number)
        yield Part(match["name"], end - number + 1)


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements within a node at any depth; expressions are many more, and hold no function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from statements(child)


def python_functions(text: str) -> Iterator[Part]:
    """Yield the functions of a Python file, without decorators and docstrings."""
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None and first.end_lineno is not None
            begin = first.end_lineno if documented and first.end_lineno is not None else node.lineno
            yield Part(node.name, (node.end_lineno or begin) - begin + 1)


def limit_of(path: Path) -> int:
    if path.suffix == ".rs":
        return RUST_LINES
    if path.suffix in {".ts", ".tsx"}:
        return WEB_LINES
    if path.suffix == ".md":
        return DECISION_LINES
    if path.parts[:3] == ("backend", "tierscope", "api"):
        return ROUTER_LINES
    return TEST_LINES if path.parts[0] in {"tests", "lab"} else PYTHON_LINES


def test_no_file_is_longer_than_its_limit() -> None:
    decisions = [path for path in tracked(".md") if path.parts[:2] == ("docs", "decisions")]
    too_long = []
    for path in [*tracked(".py", ".rs", ".ts", ".tsx"), *decisions]:
        text = (ROOT / path).read_text(encoding="utf-8")
        lines = (rust_source(text) if path.suffix == ".rs" else text).count("\n")
        if lines > limit_of(path):
            too_long.append(f"{path}: {lines} lines, at most {limit_of(path)}")
    assert too_long == []


def test_no_function_is_longer_than_its_limit() -> None:
    too_long = []
    for path in tracked(".py", ".rs"):
        if path.suffix == ".rs" and {"tests", "examples"} & set(path.parts):
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        functions = rust_functions(rust_source(text)) if path.suffix == ".rs" else python_functions(text)
        too_long += [f"{path}: {part.name} has {part.lines} lines" for part in functions if part.lines > FUNCTION_LINES]
    assert too_long == []


def test_no_folder_of_rust_has_more_files_than_its_limit() -> None:
    files = Counter(path.parent for path in tracked(".rs"))
    too_many = [
        f"{folder}: {count} files, at most {RUST_FOLDER_FILES}"
        for folder, count in files.items()
        if count > RUST_FOLDER_FILES
    ]
    assert too_many == []


@pytest.mark.parametrize("lines", [FUNCTION_LINES, FUNCTION_LINES + 1])
def test_the_measure_of_functions_counts_every_line(lines: int) -> None:
    rust = "    fn long(\n        x: u8,\n    ) {\n" + "        x();\n" * (lines - 4) + "    }\n"
    assert list(rust_functions(rust)) == [Part("long", lines)]
    python = "def long():\n" + "    x()\n" * (lines - 1)
    assert list(python_functions(python)) == [Part("long", lines)]


def test_tests_at_the_end_of_a_rust_file_do_not_count() -> None:
    assert rust_source("fn a() {}\n#[cfg(test)]\nmod tests {\n}\n") == "fn a() {}\n"
