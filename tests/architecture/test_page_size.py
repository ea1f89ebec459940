"""No size of a page is written down but in one module of each language: elsewhere it is that of the host.

A number is taken for a page size where it is multiplied, divided or shifted by, where the text before it names bytes of
a page, and where it stands in for one that is missing. `page_sizes.toml` lists what else looks alike, with the reason.
"""

import re
import tomllib
from pathlib import Path

import pytest

from architecture.tree import ROOT, tracked

REASONS = Path(__file__).with_name("page_sizes.toml")
SOURCES = ("backend/", "collector-agent/", "frontend/src/", "migrations/")
SUFFIXES = (".py", ".rs", ".ts", ".tsx", ".sql", ".yaml", ".toml")
_OTHERS = re.compile(
    r"(^|/)(_generated|tests|testing|examples|benches|fuzz|mock-api)/|(^|/)tests\.rs$|\.(spec|test)\.tsx?$|Cargo\.(toml|lock)$"
)
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#.*\n)*(?:pub(?:\(\w+\))? )?mod \w+ \{", re.MULTILINE)
_NUMBER = r"(?:4_?096(?:\.0)?(?:_?[ui](?:8|16|32|64|size)|_?f64)?|0x1000|1 ?<< ?12|4 ?<< ?10|4 ?\* ?1024|4 ?\* ?KIB)"
_END = r"(?![\w.]|\s*\*\*)"
_SOME = re.compile(r"4[_.]?096|0x1000|12\b|1024|KIB|<< ?10|256")
"""Without one of these there is nothing to look for."""
LOOKS = (
    ("arithmetic", re.compile(rf"[*/%]\s*{_NUMBER}{_END}|(?<![\w.]){_NUMBER}\s*(?:[*%]|//?(?!/))\s*[\w(]")),
    ("shift", re.compile(r"(?<!\b1 )(?:<<|>>)=?\s*12\b")),
    ("pages per MiB", re.compile(r"(?i)page\w*\)?\s*[/*]\s*256\b|\b256\b\s*[/*]\s*\w*page")),
    ("name", re.compile(rf"(?i)page\w*(?:bytes|size)\w*\b[^,;(){{}}]*?[=:]\s*(?:Some\()?{_NUMBER}{_END}")),
    (
        "named before",
        re.compile(rf"(?i)\b(?:base|usual|subpage|unit|frame)\w*_(?:bytes|size)\b[^,;]*?=\s*{_NUMBER}{_END}"),
    ),
    ("instead of a missing one", re.compile(rf"(?:\bor|\|\||\?\?|unwrap_or\(|map_or\()\s*{_NUMBER}{_END}")),
    ("kilobytes", re.compile(r"(?<![\w.])4\.096\b")),
    ("unit", re.compile(r"(?<![\w.])4096 ?B\b")),
)


def code_of(path: Path) -> str:
    """What of a file is code of the product, without comments."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if not _SOME.search(text):
        return ""
    if path.suffix == ".rs":
        tests = _RUST_TESTS.search(text)
        text = text[: tests.start()] if tests else text
    marker = "#" if path.suffix in {".py", ".toml", ".yaml"} else "--" if path.suffix == ".sql" else "//"
    text = re.sub(r'"""(?:.|\n)*?"""', lambda found: "\n" * found[0].count("\n"), text)
    lines = (line.partition(f"{marker} ")[0] if marker in line else line for line in text.splitlines())
    return "\n".join("" if line.lstrip().startswith(marker) else line for line in lines)


def page_sizes(code: str) -> list[str]:
    """The lines that hold what looks like a page size, and which way."""
    return [
        f"{number}: {line.strip()} ({what})"
        for number, line in enumerate(code.splitlines(), 1)
        if _SOME.search(line)
        for what, look in LOOKS
        if look.search(line)
    ]


def reasons() -> dict[str, str]:
    """Files in which such numbers may stand, and why."""
    found: dict[str, str] = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return found


def sources() -> list[Path]:
    """Files of the product that people write."""
    paths = (path for path in tracked(*SUFFIXES) if path.as_posix().startswith(SOURCES))
    return [path for path in paths if not _OTHERS.search(path.as_posix())]


def test_page_sizes_stand_in_one_module_of_each_language() -> None:
    listed = reasons()
    found = {path.as_posix(): page_sizes(code_of(path)) for path in sources()}
    assert {path: lines for path, lines in found.items() if lines and path not in listed} == {}
    assert [path for path in listed if not found.get(path)] == [], "listed, and there is nothing"
    assert all(len(reason) > 20 for reason in listed.values())


@pytest.mark.parametrize(
    "line",
    [
        "let bytes = pages * 4096;",
        "moved * 4096 / seconds",
        "frame << 12",
        "address >> 12",
        "mib = pages / 256",
        "PAGE_BYTES = 4096",
        "const PAGE_BYTES: i64 = 4096;",
        "const BASE_PAGE_BYTES: u32 = 0x1000;",
        "page_bytes: int = 4096",
        '"page_size_bytes": 4096',
        'int(body.get("page_size_bytes") or 4096)',
        "size.unwrap_or(4096)",
        "kib = pages * 4.096",
        '"churn * 4096B / 1pages"',
        "bytes = 4096 * pages",
        "const smallestPageBytes = 4096",
        "pageBytes ?? 4096",
        "const SUBPAGE_BYTES: i64 = 4096;",
    ],
)
def test_page_sizes_are_seen(line: str) -> None:
    assert page_sizes(line)


@pytest.mark.parametrize(
    "line",
    [
        "MAX_BLOCKS = 4096",
        "@lru_cache(maxsize=4096)",
        "HEAD_BYTES = 4096",
        "4 * 1024 ** 3",
        "MAX_PAGES = 4096",
        "let wide = 1 << 13;",
        "width * 256 // 100",
        "Cache(4096)",
    ],
)
def test_other_numbers_are_not(line: str) -> None:
    assert not page_sizes(line)
