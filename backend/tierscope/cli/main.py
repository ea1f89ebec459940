"""Assembles the `tierscope` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from pydantic import ValidationError

import tierscope
from tierscope.cli.access import teams, users
from tierscope.cli.access import tokens as token
from tierscope.cli.alerts import rules
from tierscope.cli.base.exits import BAD_USAGE, FAILED, say
from tierscope.cli.capacity import command as capacity
from tierscope.cli.experiments import command as experiments
from tierscope.cli.fairness import command as fairness
from tierscope.cli.fleet import agents, hosts
from tierscope.cli.fleet import events as event
from tierscope.cli.ingest import prometheus_history
from tierscope.cli.ingest import recordings as agent_data
from tierscope.cli.instance import down, loadgen, processes, status, up
from tierscope.cli.knobs import command as knobs
from tierscope.cli.knobs import swap_tier
from tierscope.cli.notifications import silences
from tierscope.cli.operate import backup, config, doctor, migrate, objects, openapi, purge
from tierscope.cli.ratio import command as recommend
from tierscope.cli.recordings import assess
from tierscope.cli.recordings import command as analyze
from tierscope.cli.simulate import command as simulate
from tierscope.cli.simulate import swap_device
from tierscope.cli.tco import command as tco
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.errors import TierscopeError

app = typer.Typer(
    name="tierscope",
    help="Fleet memory profiling for hosts with tiered memory.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for group in (
    up,
    down,
    status,
    processes,
    recommend,
    capacity,
    migrate,
    config,
    event,
    doctor,
    openapi,
    backup,
    loadgen,
    assess,
    analyze,
    knobs,
    fairness,
    simulate,
    swap_device,
    swap_tier,
    tco,
):
    group.register(app)
app.add_typer(token.app, name="token")
prometheus_history.register(agent_data.import_app)
app.add_typer(agent_data.import_app, name="import")
app.add_typer(agents.app, name="agents")
app.add_typer(experiments.app, name="experiments")
app.add_typer(rules.app, name="rules")
app.add_typer(silences.app, name="silences")
app.add_typer(users.app, name="user")
app.add_typer(teams.app, name="team")
app.add_typer(hosts.app, name="hosts")
app.add_typer(purge.app, name="purge")
app.add_typer(objects.app, name="objects")


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
    try:
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
