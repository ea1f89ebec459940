"""`tierscope knobs`: which settings of a host to change, why, and the files for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_answer, say
from tierscope.cli.base.options import AsJson, Demo, From, To
from tierscope.cli.base.source_tree import find_agent

if TYPE_CHECKING:
    from tierscope.usecases.knobs.answers import GivenView

Format = Literal["sysctl", "tmpfiles", "udev", "systemd", "ansible", "commands", "check", "rollback", "forget"]
FORMATS: dict[str, str] = {
    "sysctl": "sysctl",
    "tmpfiles": "tmpfiles",
    "systemd": "systemd",
    "ansible": "ansible",
    "commands": "commands",
    "check": "check_commands",
    "rollback": "rollback_commands",
    "forget": "forget_commands",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(knobs)


def knobs(
    path: Annotated[
        Path | None, typer.Argument(help="A snapshot tree: directory or .tar.zst. Needs no service.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Host id, instead of PATH.")] = None,
    from_: From = None,
    to: To = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="Print the first piece of advice in this form, and nothing else.")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="With --format: this rule's advice, instead of the first.")] = None,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Advise on the settings of a host, or of a recorded one. Nothing is changed anywhere."""
    if (path is None) == (host is None):
        fail("name a snapshot tree or a host", next_step="give PATH, or --host HOST_ID", status=BAD_USAGE)
    if form is not None and as_json:
        fail("--format prints a file and --json an answer", next_step="leave one of them out", status=BAD_USAGE)
    if path is not None:
        document, text, given, word = _of_tree(path)
    else:
        document, text, given, word = _of_host(str(host), from_, to, demo=demo)
    if form is not None:
        _print_file(given, form, rule)
    else:
        print_answer(document, text, as_json=as_json)
    if word == "not_known" and not given.advice:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _of_tree(path: Path) -> tuple[dict[str, Any], str, GivenView, str]:
    from tierscope.cli.knobs.reports import describe_tree, tree_document
    from tierscope.usecases.recordings.snapshot_trees import analyze_snapshots

    if not path.exists():
        fail(f"{path} does not exist", next_step="name a snapshot tree, or a host with --host", status=BAD_USAGE)
    agent = find_agent()
    if agent is None:
        fail("the agent's program is not built", next_step="run `make agent`, or install a release")
    found = analyze_snapshots(agent, path)
    return tree_document(path, found), describe_tree(found), found.settings, found.verdict.word


def _of_host(host: str, from_: str | None, to: str | None, *, demo: bool) -> tuple[dict[str, Any], str, GivenView, str]:
    from pydantic import TypeAdapter

    from tierscope.cli.base.service import open_service
    from tierscope.cli.knobs.reports import describe_host, given_of
    from tierscope.usecases.knobs.reads import HostKnobAdvice

    with open_service(demo=demo) as client:
        answer = client.read_knob_advice(host, from_=from_, to=to)
    found = TypeAdapter(HostKnobAdvice).validate_python(answer)
    return dict(answer), describe_host(found), given_of(found), found.verdict


def _print_file(given: GivenView, form: Format, rule: str | None) -> None:
    pieces = [piece for piece in given.advice if rule in (None, piece.rule)]
    if not pieces:
        what = "no change is advised" if rule is None else f"{rule} is not advised"
        say(f"{what}: nothing to print")
        return
    text = getattr(pieces[0].files, FORMATS[form])
    if not text:
        having = [name for name, field in FORMATS.items() if getattr(pieces[0].files, field)]
        fail(
            f"{pieces[0].rule} has no {form} form",
            next_step=f"use --format {' or '.join(having)}" if having else f"do this: {pieces[0].note}",
            status=BAD_USAGE,
        )
    typer.echo(text, nl=False)
