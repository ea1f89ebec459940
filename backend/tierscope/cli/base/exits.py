"""Exit statuses, the same for all commands (docs/cli.md), and how answers are printed."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import typer

DONE = 0
FAILED = 1
BAD_USAGE = 2
NOT_ENOUGH_DATA = 3
MEANINGS: Mapping[int, str] = {
    DONE: "done",
    FAILED: "failed: the last lines name the cause and the next step",
    BAD_USAGE: "bad usage: a wrong option, argument or setting",
    NOT_ENOUGH_DATA: "not enough data for an answer",
}
"""What manual pages say of them."""


def say(text: str) -> None:
    """Print a line for people to stderr, so that stdout stays the answer alone."""
    typer.echo(text, err=True)


def print_json(document: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Print an answer as JSON on stdout."""
    json.dump(document, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")
    sys.stdout.flush()


def print_answer(answer: Any, text: str | Callable[[Any], str], *, as_json: bool) -> None:  # noqa: ANN401 - as above
    """Print an answer as JSON, or as text for people, which may be made of it."""
    if as_json:
        print_json(answer)
    else:
        typer.echo(text if isinstance(text, str) else text(answer))


def rows_text(rows: Sequence[Any], line: Callable[[Any], str], *, none: str) -> str:
    """A line for each row, or that there is none."""
    return "\n".join(map(line, rows)) if rows else none


def fail(cause: str, *, next_step: str, status: int = FAILED) -> NoReturn:
    """End the command with a cause and a next step."""
    say(f"error: {cause}")
    say(f"next:  {next_step}")
    raise typer.Exit(status)
