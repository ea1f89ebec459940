"""`tierscope doctor`: can this machine run the product, and what is in the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from tierscope.cli.exits import FAILED, print_json
from tierscope.cli.instance.find import Instance, find_instance
from tierscope.cli.instance.source_tree import find_agent
from tierscope.cli.status import examine, unhealthy
from tierscope.core.embedded.account import choose_account, first_blocked
from tierscope.core.embedded.binaries import find_postgres, find_queue_server
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.settings import Settings

_LEAST_FREE_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `next_step` is empty where nothing is to be done."""

    name: str
    result: Literal["ok", "warning", "failed"]
    detail: str
    next_step: str = ""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False) -> None:
    """Check what the product needs on this machine; exit with 1 when something is missing that it cannot do without."""
    settings = Settings()
    instance = find_instance(settings)
    checks = [
        _check_database(settings, instance),
        _check_queue(settings),
        _check_data_dir(instance),
        _check_frontend(settings),
        _check_agent(),
        _check_instance(instance),
    ]
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            typer.echo(f"{check.result:8} {check.name:10} {check.detail}")
            if check.next_step:
                typer.echo(f"{'':8} {'':10} -> {check.next_step}")
    if any(check.result == "failed" for check in checks):
        raise typer.Exit(FAILED)


def _guard(name: str, examine_it: Callable[[], Check]) -> Check:
    try:
        return examine_it()
    except EmbeddedError as error:
        return Check(name, "failed", error.cause, error.next_step)


def _check_database(settings: Settings, instance: Instance) -> Check:
    if settings.resolve_database_url() is not None:
        return Check("database", "ok", "configured")

    from tierscope.core.embedded.postgres import recorded_major

    def look() -> Check:
        found = find_postgres(major=recorded_major(instance.places))
        return Check("database", "ok", f"PostgreSQL {found.major} in {found.bin_dir} ({found.origin})")

    return _guard("database", look)


def _check_queue(settings: Settings) -> Check:
    if settings.redis_url is not None:
        return Check("queue", "ok", "configured")
    binary = find_queue_server()
    if binary is not None:
        return Check("queue", "ok", str(binary))
    return Check("queue", "warning", "no Redis-compatible server: files take its place", "install valkey or redis")


def _check_data_dir(instance: Instance) -> Check:
    existing = next(path for path in (instance.places.data, *instance.places.data.parents) if path.exists())
    account = choose_account()
    blocked = first_blocked(existing, account)
    if blocked is not None:
        return Check(
            "data", "failed", f"user '{account.name}' may not enter {blocked}", "set TIERSCOPE_DATA_DIR elsewhere"
        )
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < _LEAST_FREE_BYTES:
        return Check("data", "warning", f"{free_bytes / 2**30:.1f} GiB free at {existing}", "make room")
    return Check("data", "ok", f"{instance.places.data}, {free_bytes / 2**30:.0f} GiB free")


def _check_frontend(settings: Settings) -> Check:
    from tierscope.api.frontend import frontend_dir

    found = frontend_dir(settings.frontend_dir)
    if found is None:
        return Check("dashboard", "warning", "not built", "run `make setup`")
    return Check("dashboard", "ok", str(found))


def _check_agent() -> Check:
    binary = find_agent()
    if binary is None:
        return Check("agent", "warning", "its program is not built yet", "run `tierscope up`, which compiles it")
    pressure = "" if Path("/proc/pressure/memory").exists() else "; this kernel has no PSI"
    return Check("agent", "ok", f"{binary}{pressure}")


def _check_instance(instance: Instance) -> Check:
    state = examine(instance)
    if state is None:
        return Check("instance", "ok", "not running")
    missing = unhealthy(state)
    if missing:
        return Check("instance", "warning", f"not healthy: {', '.join(missing)}", "see `tierscope status`")
    return Check("instance", "ok", f"running at {state.url}")
