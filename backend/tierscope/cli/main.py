"""Assembles the `tierscope` command."""

import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Annotated

import typer
from pydantic import ValidationError
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.core import TyperGroup

import tierscope
from tierscope.cli.access import login, teams, users
from tierscope.cli.access import tokens as token
from tierscope.cli.alerts import rules
from tierscope.cli.base.exits import BAD_USAGE, FAILED, say
from tierscope.cli.base.progress import shown_progress
from tierscope.cli.capacity import command as capacity
from tierscope.cli.capacity import plan as capacity_plan
from tierscope.cli.experiments import command as experiments
from tierscope.cli.fairness import command as fairness
from tierscope.cli.fleet import agents, hosts
from tierscope.cli.fleet import events as event
from tierscope.cli.ingest import prometheus_history, recorded_history
from tierscope.cli.ingest import recordings as agent_data
from tierscope.cli.instance import down, loadgen, processes, status, up
from tierscope.cli.knobs import command as knobs
from tierscope.cli.knobs import swap_tier
from tierscope.cli.nodes import command as nodes
from tierscope.cli.notifications import silences
from tierscope.cli.operate import backup, config, doctor, export, migrate, objects, openapi, purge, shell
from tierscope.cli.ratio import command as recommend
from tierscope.cli.recordings import assess
from tierscope.cli.recordings import command as analyze
from tierscope.cli.simulate import command as simulate
from tierscope.cli.simulate import swap_device, threads
from tierscope.cli.statistics import network
from tierscope.cli.tco import command as tco
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.errors import TierscopeError

COMPLETE = "_TIERSCOPE_COMPLETE"
"""Set by a shell that asks for completions."""
PANELS: Mapping[str, tuple[ModuleType | tuple[str, typer.Typer], ...]] = {
    "Start an instance on this machine": (up, down, status, doctor),
    "Choose the service to ask": (login,),
    "Look at the fleet": (fairness, network, ("hosts", hosts.app), ("agents", agents.app), event),
    "Get advice": (assess, recommend, knobs, swap_tier, ("experiments", experiments.app)),
    "Plan and calculate": (capacity, capacity_plan, tco, simulate, swap_device, threads),
    "Watch and notify": (("rules", rules.app), ("silences", silences.app)),
    "Exchange data": (export, analyze, ("import", agent_data.import_app), openapi),
    "Run the service": (
        *(processes, migrate, config, backup, ("objects", objects.app), ("nodes", nodes.app)),
        ("purge", purge.app),
        *(("user", users.app), ("team", teams.app), ("token", token.app), loadgen, shell),
    ),
}
"""The commands by what people want to do, as `--help` shows them."""


class ByJob(TyperGroup):
    """Lists commands in the order of their panels."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names of commands, those of one panel together."""
        panels = list(PANELS)
        return sorted(
            super().list_commands(ctx),
            key=lambda name: panels.index(self.commands[name].rich_help_panel),  # type: ignore[attr-defined]
        )


app = typer.Typer(
    name="tierscope",
    help="Fleet memory profiling for hosts with tiered memory.",
    cls=ByJob,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for history in (prometheus_history, recorded_history):
    history.register(agent_data.import_app)
for panel, members in PANELS.items():
    for member in members:
        if isinstance(member, tuple):
            app.add_typer(member[1], name=member[0], rich_help_panel=panel)
            continue
        known = len(app.registered_commands)
        member.register(app)
        for command in app.registered_commands[known:]:
            command.rich_help_panel = panel


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Fleet memory profiling for hosts with tiered memory."""
    if version:
        typer.echo(f"tierscope {tierscope.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(BAD_USAGE)


def main() -> None:
    """Run the command; errors with a known cause end with it and the next step, not with a traceback."""
    if COMPLETE in os.environ:
        completion_init()
    try:
        with shown_progress(sys.argv[1:]):
            app()
    except TierscopeError as error:
        say(f"error: {error.detail}")
        say(f"next:  {error.next_step}")
        sys.exit(FAILED)
    except EmbeddedError as error:
        say(f"error: {error.cause}")
        say(f"next:  {error.next_step}")
        sys.exit(FAILED)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            say(f"error: setting {'.'.join(map(str, problem['loc']))}: {problem['msg']}")
        say("next:  correct it in the environment (TIERSCOPE_*) or in the file that TIERSCOPE_CONFIG names")
        sys.exit(BAD_USAGE)
