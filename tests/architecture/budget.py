"""How many lines people wrote, by language, kind and district, and how many there may be at most (budget.toml).

python -m architecture.budget             prints the sums; fails where one is over its budget
python -m architecture.budget --rewrite   makes today's sums the budget

A line counts unless it is blank. Counted are tracked files of Python, Rust and TypeScript without those that a program
wrote, in folders named `_generated`. Files of other kinds, such as JSON, lock files and recorded data, do not count.
"""

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from architecture.tree import ROOT, tracked

BUDGET = Path(__file__).with_name("budget.toml")
LANGUAGES = {".py": "python", ".pyi": "python", ".rs": "rust", ".ts": "typescript", ".tsx": "typescript"}
_LAYERS = {"api", "cli", "domain", "storage", "usecases"}
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*\n(?:#\[.*\]\s*\n)*(?:pub(?:\(crate\))? )?mod \w+ \{", re.MULTILINE)
_RAISE = re.compile(r"\+(\d+): \S+(?: \S+)+")
_HEAD = """\
# The most lines that people may have written, by language, kind and district (tests/architecture/budget.py).
# A change that needs more adds, on the line of its district, how many and why: [5000, "+120: buckets of moves"].
# `make lint` prints the sums; `PYTHONPATH=tests .venv/bin/python -m architecture.budget --rewrite` writes them here.
"""
Key = tuple[str, str, str]
"""Language, kind (`source`, `tests` or `lab`), district."""


def district(path: Path) -> str:
    """A district of the service in all its layers, a crate, or the folder that a file is in."""
    parts = path.parts
    if parts[:2] == ("backend", "tierscope"):
        in_layer = len(parts) > 4 and parts[2] in _LAYERS
        return parts[3] if in_layer else parts[2] if len(parts) > 3 else "tierscope"
    if parts[:2] == ("backend", "simcore"):
        return f"simcore-{parts[2]}" if len(parts) > 4 else "simcore"
    if parts[0] in {"backend", "collector-agent", "frontend", "tests", "lab"} and len(parts) > 2:
        nested = parts[1] in {"crates", "src"} and len(parts) > 3
        return parts[2] if nested else parts[1]
    return parts[0].removesuffix(".py")


def is_test(path: Path) -> bool:
    inside = set(path.parts[:-1]) & {"tests", "testing", "benches"}
    return bool(inside) or path.name == "tests.rs" or ".spec." in path.name or path.name == "conftest.py"


def count(text: str) -> int:
    """Lines that are not blank."""
    return sum(1 for line in text.splitlines() if line.strip())


def split(path: Path, text: str) -> dict[str, int]:
    """Lines of a file by kind: the module of tests that ends a Rust file is tests."""
    if path.parts[0] == "lab":
        return {"lab": count(text)}
    if is_test(path):
        return {"tests": count(text)}
    found = _RUST_TESTS.search(text) if path.suffix == ".rs" else None
    if found is None:
        return {"source": count(text)}
    return {"source": count(text[: found.start()]), "tests": count(text[found.start() :])}


def sums() -> Counter[Key]:
    lines: Counter[Key] = Counter()
    for path in tracked(*LANGUAGES):
        for kind, number in split(path, (ROOT / path).read_text(encoding="utf-8")).items():
            lines[LANGUAGES[path.suffix], kind, district(path)] += number
    return lines


def read_budget(text: str) -> dict[Key, int]:
    """The budget: the number of each district with what was added to it.

    Raises:
        ValueError: something was added without a reason.
    """
    budget = {}
    for language, kinds in tomllib.loads(text).items():
        for kind, districts in kinds.items():
            for name, (base, *raises) in districts.items():
                added = [_RAISE.fullmatch(str(one)) for one in raises]
                if None in added:
                    raise ValueError(f'{language}.{kind}.{name}: write what is added as "+120: why it is needed"')
                budget[language, kind, name] = base + sum(int(one[1]) for one in added if one is not None)
    return budget


def excesses(lines: Mapping[Key, int], budget: Mapping[Key, int]) -> list[str]:
    return [
        f"{'.'.join(key)}: {number} lines, at most {budget.get(key, 0)}"
        for key, number in sorted(lines.items())
        if number > budget.get(key, 0)
    ]


def render(lines: Mapping[Key, int]) -> str:
    """The sums as a budget."""
    text, section = _HEAD, ("", "")
    for (language, kind, name), number in sorted(lines.items()):
        if (language, kind) != section:
            section = (language, kind)
            text += f"\n[{language}.{kind}]\n"
        text += f"{name} = [{number}]\n"
    return text


def table(lines: Mapping[Key, int]) -> str:
    """The sums by language and kind, each with its largest districts first."""
    sections: dict[tuple[str, str], Counter[str]] = {}
    for (language, kind, name), number in lines.items():
        sections.setdefault((language, kind), Counter())[name] += number
    rows = [
        f"{' '.join(section)}: {districts.total()}: " + ", ".join(f"{name} {n}" for name, n in districts.most_common())
        for section, districts in sorted(sections.items())
    ]
    return "\n".join([*rows, f"all: {sum(lines.values())} lines that are not blank"]) + "\n"


def main(arguments: list[str]) -> int:
    """Print, or rewrite."""
    lines = sums()
    if "--rewrite" in arguments:
        BUDGET.write_text(render(lines), encoding="utf-8")
    over = excesses(lines, read_budget(BUDGET.read_text(encoding="utf-8")))
    sys.stdout.write(table(lines) + "".join(f"over its budget: {sentence}\n" for sentence in over))
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
