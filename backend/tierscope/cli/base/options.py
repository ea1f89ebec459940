"""Options that many commands have."""

from typing import Annotated

import typer

Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/cli.md).")]
From = Annotated[str | None, typer.Option("--from", help="Start of the window, such as -24h.")]
To = Annotated[str | None, typer.Option(help="End of the window.")]
