"""`tierscope assess`: whether hosts are ready for tiering, without a service. The agent's program judges."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli.base.exits import fail, say
from tierscope.cli.base.source_tree import find_agent


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(assess)


def assess(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...", help="Snapshots, recordings, what `tierscope-agent once --json` printed, or a directory."
        ),
    ] = None,
    root: Annotated[Path, typer.Option(metavar="DIR", help="Directory that stands for / of the host.")] = Path("/"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/agent-json.md).")] = False,
    require_ready: Annotated[
        bool, typer.Option("--require-ready", help="End with status 4 unless every host is ready.")
    ] = False,
) -> None:
    """Say whether this host, or each host of an export, is ready for memory tiering, and what it would gain."""
    agent = find_agent()
    if agent is None:
        fail("the agent's program is not built", next_step="run `make agent`, or install a release")
    options = [*(["--json"] if as_json else []), *(["--require-ready"] if require_ready else [])]
    subject = [str(path) for path in paths or ()] or ["--root", str(root)]
    try:
        done = subprocess.run([str(agent), "assess", *options, *subject], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        fail(f"{agent} cannot be run: {error.strerror}", next_step="run `make agent`, or install a release")
    typer.echo(done.stdout, nl=False)
    if done.stderr:
        say(done.stderr.rstrip())
    raise typer.Exit(done.returncode)
