"""`tierscope down`: stop what `tierscope up` started."""

import signal
from typing import Annotated

import typer

from tierscope.cli.base.instance import Instance, find_instance
from tierscope.cli.instance.nodes import node_places
from tierscope.core.embedded.process import ProcessId, identify, is_running, list_with_cwd, stop
from tierscope.core.embedded.state import InstanceState, forget, load
from tierscope.core.settings import Settings

DATABASES = ("database", "node-")
"""How names of components begin that are PostgreSQL."""
_SUPERVISOR_SECONDS = 90.0
_ORPHAN_SECONDS = 20.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(down)


def down(demo: Annotated[bool, typer.Option("--demo", help="Stop the demo alone.")] = False) -> None:
    """Stop the instance and the demo. Nothing is left running; data stays."""
    settings = Settings()
    stopped = [name for name in (["demo"] if demo else ["demo", "live"]) if _stop_named(settings, name)]
    typer.echo(f"Stopped: {', '.join(stopped)}." if stopped else "Nothing was running.")


def _stop_named(settings: Settings, name: str) -> bool:
    instance = find_instance(settings, demo=name == "demo")
    state = load(instance.places.state_file)
    if state is None:
        return stop_orphans(instance, None)
    was_up = state.supervised
    if was_up:
        stop(state.supervisor, with_signal=signal.SIGTERM, grace_seconds=_SUPERVISOR_SECONDS)
    had_orphans = stop_orphans(instance, load(instance.places.state_file))
    forget(instance.places.state_file)
    return was_up or had_orphans


def stop_orphans(instance: Instance, state: InstanceState | None) -> bool:
    """Stop components that outlived their supervisor; tell whether there were any."""
    orphans: list[tuple[ProcessId, signal.Signals]] = []
    for name, component in reversed(list((state.components if state else {}).items())):
        if component.process is not None and is_running(component.process):
            orphans.append((component.process, signal.SIGINT if name.startswith(DATABASES) else signal.SIGTERM))
    for process, number in orphans:
        stop(process, with_signal=number, grace_seconds=_ORPHAN_SECONDS)
    clusters = [instance.places, *node_places(instance).values()]
    backends = [identify(pid) for places in clusters for pid in list_with_cwd(places.database)]
    for backend in backends:
        if backend is not None:
            stop(backend, with_signal=signal.SIGTERM, grace_seconds=_ORPHAN_SECONDS)
    return bool(orphans or backends)
