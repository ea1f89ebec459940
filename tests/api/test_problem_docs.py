"""docs/problems.md lists every problem type that the API can answer, and no other."""

import re
from pathlib import Path

import pytest

from tierscope.core.errors import TierscopeError, all_errors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "problems.md"
_ROW = re.compile(
    r"^\| `(?P<slug>[a-z-]+)` \| (?P<title>[^|]+) \| (?P<status>\d{3}) \| (?P<cause>[^|]+) \| (?P<next>[^|]+) \|$",
    re.MULTILINE,
)
Row = tuple[str, str, int]


def rows_of(page: str) -> list[Row]:
    """Slug, title and status of each row of the table."""
    return [(row["slug"], row["title"], int(row["status"])) for row in _ROW.finditer(page)]


def rows_of_code() -> list[Row]:
    """The same of every class of the error tree."""
    return [(error.slug, error.title, error.status) for error in all_errors()]


def test_the_page_lists_exactly_the_errors_of_the_code() -> None:
    listed = rows_of(PAGE.read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(rows_of_code())


def test_no_two_errors_share_a_slug() -> None:
    slugs = [error.slug for error in all_errors()]
    assert sorted(set(slugs)) == sorted(slugs)


def test_the_check_finds_a_missing_and_an_invented_slug() -> None:
    page = PAGE.read_text(encoding="utf-8")
    renamed = rows_of(page.replace("| `busy` |", "| `bored` |"))
    assert {row[0] for row in renamed} ^ {row[0] for row in rows_of_code()} == {"busy", "bored"}


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: error.slug)
def test_every_type_is_an_address_of_the_page(error: type[TierscopeError]) -> None:
    assert error("cause").type == f"https://tierscope.dev/problems/{error.slug}"
