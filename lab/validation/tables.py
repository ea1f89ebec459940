"""Tables of the document: rows with what was expected, what came out, and whether that passes."""

from collections.abc import Sequence
from dataclasses import dataclass

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Check:
    what: str
    expected: str
    found: str
    passed: bool

    def row(self) -> Row:
        return (self.what, self.expected, self.found, verdict(passed=self.passed))


def verdict(*, passed: bool) -> str:
    return "pass" if passed else "**fail**"


def table(header: Row, rows: Sequence[Row]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def checks(found: Sequence[Check]) -> str:
    return table(("statement", "expected", "found", "verdict"), [check.row() for check in found])
