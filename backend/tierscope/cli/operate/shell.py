"""`tierscope completion` and `tierscope man`: the command in shells and in the manual."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import tierscope
from tierscope.cli.base.exits import fail, say


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(completion)
    app.command()(man)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell that reads it.")],
) -> None:
    """Print what makes a shell complete commands and options: `source <(tierscope completion bash)`."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # named there for callers

    typer.echo(get_completion_script(prog_name="tierscope", complete_var="_TIERSCOPE_COMPLETE", shell=shell))


def man(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(help="Where the pages are written, such as ~/.local/share/man/man1.")],
) -> None:
    """Write the manual pages, one for each command: `man tierscope-recommend` finds them below a directory of man."""
    from tierscope.cli.base.manual import manual_pages

    pages = manual_pages(context.find_root().command, version=tierscope.__version__)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, page in pages.items():
            (directory / name).write_text(page, encoding="utf-8")
    except OSError as error:
        fail(f"cannot write manual pages: {error}", next_step="Name a directory that you may write to.")
    say(f"{len(pages)} pages in {directory}")
