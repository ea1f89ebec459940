"""Words: modules say what they hold, a tier move is never a migration, nothing is put off in a comment."""

import re
from pathlib import Path

import pytest

from architecture.tree import ROOT, tracked

FORBIDDEN_MODULES = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"}
_PUT_OFF = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
# "migration" means a change of the database schema; the kernel's own counter names are the exception.
_MIGRATED_PAGES = re.compile(
    r"\b(?:page|tier|memory)[ _-]migrations?\b|\bmigrat(?:e|es|ed|ing) (?:pages?|memory)\b", re.IGNORECASE
)
# A Figure carries its unit inside, and a PageSize is one of three; TypeScript takes its names from the API.
_UNITLESS = re.compile(r"^\s*(?:pub )?(?:size|rate|duration|latency)\s*:\s(?!Figure|PageSize)", re.MULTILINE)
_SOURCES = (".py", ".rs", ".ts", ".tsx", ".proto", ".sh")
_OWN = {Path("tests/architecture/test_names.py")}


def sources() -> list[Path]:
    """Return the hand-written source files."""
    return [path for path in tracked(*_SOURCES) if path not in _OWN]


def offending(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """Return file and line of each match."""
    found = []
    for path in paths:
        text = (ROOT / path).read_text(encoding="utf-8")
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: {match.group().strip()}")
    return found


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = [path for path in sources() if set(path.with_suffix("").parts) & FORBIDDEN_MODULES]
    assert named == []


def test_nothing_is_put_off() -> None:
    assert offending(_PUT_OFF, sources()) == []


def test_pages_move_between_tiers_and_only_schemas_migrate() -> None:
    assert offending(_MIGRATED_PAGES, sources()) == []


def test_quantities_carry_their_unit() -> None:
    assert offending(_UNITLESS, [path for path in sources() if path.suffix in {".py", ".rs"}]) == []


@pytest.mark.parametrize("text", ["page migration", "tier_migrations", "migrating pages", "migrates memory"])
def test_the_check_of_words_finds_what_it_is_for(text: str) -> None:
    assert _MIGRATED_PAGES.search(text)


@pytest.mark.parametrize("text", ["schema migration", "pgmigrate_success", "migrations/env.py"])
def test_the_check_of_words_lets_schemas_and_kernel_names_be(text: str) -> None:
    assert not _MIGRATED_PAGES.search(text)
