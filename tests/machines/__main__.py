"""Ask of every machine and write docs/method/machines.md; ends with status 1 where an answer is not right."""

import sys

from machines.asking import ask, mistakes
from machines.document import PAGE, render
from machines.table import SECTIONS
from tierscope.cli.base.source_tree import find_agent


def main() -> int:
    """Ask, write, and print what is not right."""
    program = find_agent()
    if program is None:
        sys.stderr.write("the agent's program is not built: run `make agent`\n")
        return 1
    asked = {title: [(kind, ask(program, kind)) for kind in kinds] for title, kinds in SECTIONS.items()}
    wrong = [
        f"{kind.name}: {mistake}"
        for rows in asked.values()
        for kind, answers in rows
        for mistake in mistakes(kind.right, answers)
    ]
    PAGE.write_text(render(asked), encoding="utf-8")
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
