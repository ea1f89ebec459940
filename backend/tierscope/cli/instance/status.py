"""`tierscope status`: what runs here and whether it is well."""

import time
from contextlib import closing
from typing import Annotated, Any

import typer

from tierscope.cli.base.exits import FAILED, print_answer
from tierscope.cli.base.instance import Instance, find_instance
from tierscope.cli.base.options import AsJson
from tierscope.cli.instance.agent import AgentFiles
from tierscope.cli.instance.components import responds
from tierscope.cli.instance.heat import describe_heat
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.state import InstanceState, load
from tierscope.core.errors import TierscopeError
from tierscope.core.settings import Settings

COMPONENTS = ("database", "queue", "api", "worker", "agent")
_POLL_SECONDS = 0.5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(status)


def status(
    as_json: AsJson = False,
    demo: Annotated[bool, typer.Option("--demo", help="Ask about the demo instance.")] = False,
    wait: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait until all is healthy.")] = 0,
) -> None:
    """Show each component's health; exit with 0 when all are healthy, else with 1."""
    instance = find_instance(Settings(), demo=demo)
    deadline = time.monotonic() + wait
    state = examine(instance)
    while (state is None or unhealthy(state)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        state = examine(instance)
    # What is told people asks the database, which a program that polls need not wait for.
    print_answer(to_document(instance, state), lambda _: describe(instance, state), as_json=as_json)
    if state is None or unhealthy(state):
        raise typer.Exit(FAILED)


def examine(instance: Instance) -> InstanceState | None:
    """Return the recorded state, corrected by what is true now: processes that are gone, an API that is silent."""
    state = load(instance.places.state_file)
    if state is None:
        return None
    supervised = state.supervised
    for name, component in state.components.items():
        fate = state.fate_of(component)
        if fate is not None:
            component.status, component.detail = fate
        elif not supervised and component.process is None:
            component.status, component.detail = "down", "its supervisor is gone"
        elif name == "api" and component.status == "healthy" and not responds(f"{state.url}/readyz"):
            component.status, component.detail = "degraded", "runs but does not answer"
    if not supervised:
        state.phase = "failed"
        state.note = state.note or "the supervisor is gone: run `tierscope up` again"
    return state


def unhealthy(state: InstanceState) -> list[str]:
    """Return the components that are not healthy, in their order; the whole instance where it is not up."""
    if state.phase != "up":
        return list(state.components) or ["instance"]
    return [name for name, component in state.components.items() if component.status not in ("healthy", "absent")]


def to_document(instance: Instance, state: InstanceState | None) -> dict[str, Any]:
    """Return the JSON answer, described in docs/cli.md. Components that do not run are listed as `down`."""
    components: dict[str, Any] = {name: _absent(state) for name in COMPONENTS}
    for name, component in (state.components if state else {}).items():
        components[name] = {
            "status": component.status,
            "detail": component.detail,
            "since": component.since.isoformat(),
            "pid": component.process.pid if component.process else None,
            "restarts": component.restarts,
        }
    return {
        "instance": instance.name,
        "phase": state.phase if state else "stopped",
        "url": state.url or None if state else None,
        "storage": state.storage if state else None,
        "simulated": instance.demo,
        "data_dir": str(instance.places.data),
        "note": state.note or None if state else None,
        "healthy": state is not None and not unhealthy(state),
        "components": components,
    }


def describe(instance: Instance, state: InstanceState | None) -> str:
    """Return the answer for people."""
    if state is None:
        return f"Tierscope ({instance.name}) is not running."
    lines = [f"Tierscope ({instance.name}{', simulated data' if instance.demo else ''}): {state.phase}  {state.url}"]
    for name, component in state.components.items():
        restarts = f", restarted {component.restarts} times" if component.restarts else ""
        lines.append(f"  {name:10} {component.status:9} {component.detail}{restarts}")
    if "agent" in state.components:
        lines += describe_heat(instance, AgentFiles(instance.places.agent_state).status)
    lines += _describe_samples(instance)
    if state.note:
        lines.append(f"  note: {state.note}")
    lines.append(f"  data in {instance.places.data}, logs in {instance.places.logs}")
    return "\n".join(lines)


def _describe_samples(instance: Instance) -> list[str]:
    """What came by remote write or OTLP and gives no host; nothing where none did, or the database does not answer."""
    from tierscope.core.clock import utc_now
    from tierscope.core.database import Database
    from tierscope.usecases.operate.unread import describe_unread, find_unread

    try:
        opened = Database(instance.read_database_url(), pool_size=1, read_statement_seconds=5)
        with closing(opened) as database, database.read() as session:
            found = find_unread(session, utc_now())
    except (EmbeddedError, TierscopeError):
        return []
    return [f"  {'samples':10} {describe_unread(found)}"] if found else []


def _absent(state: InstanceState | None) -> dict[str, Any]:
    """A component that this instance does not have, or that does not run because nothing does."""
    if state is None:
        return {"status": "down", "detail": "the instance does not run", "since": None, "pid": None, "restarts": 0}
    return {"status": "absent", "detail": "not part of this instance", "since": None, "pid": None, "restarts": 0}
