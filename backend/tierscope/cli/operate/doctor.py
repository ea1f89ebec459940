"""`tierscope doctor`: is the service well, or can this machine run it, and what is in the way."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import FAILED, fail, print_json
from tierscope.cli.base.instance import Instance, find_instance
from tierscope.cli.base.options import AsJson
from tierscope.cli.base.source_tree import find_agent
from tierscope.cli.instance.status import examine, unhealthy
from tierscope.core.embedded.account import choose_account, first_blocked
from tierscope.core.embedded.binaries import NEWEST_MINORS, find_postgres, find_queue_server
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.state import load
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.operate.checks import Check


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    as_json: AsJson = False,
    demo: Annotated[bool, typer.Option("--demo", help="Look at the demo instance.")] = False,
    part: Annotated[list[str] | None, typer.Option(help="Only this check, such as `workers`; repeat for more.")] = None,
) -> None:
    """Check the configured service, or else this machine and the instance on it; exit with 1 when something failed."""
    settings = Settings()
    instance = find_instance(settings, demo=demo)
    if settings.resolve_database_url() is not None and not demo:
        checks = [*_service_checks(settings, settings.resolve_database_url()), _check_frontend(settings)]
    else:
        checks = [
            _check_programs(instance),
            _check_queue(),
            _check_data_dir(settings, instance),
            _check_frontend(settings),
            _check_agent(),
            _check_instance(instance),
            *_service_checks(settings, _running(instance)),
        ]
    if part:
        checks = [check for check in checks if check.name in part]
        missing = sorted({*part} - {check.name for check in checks})
        if missing:
            fail(f"not checked: {', '.join(missing)}", next_step="run `tierscope doctor`: it names all checks")
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            typer.echo(f"{check.result:8} {check.name:14} {check.detail}")
            if check.next_step:
                typer.echo(f"{'':8} {'':14} -> {check.next_step}")
    if any(check.result == "failed" for check in checks):
        raise typer.Exit(FAILED)


def _service_checks(settings: Settings, url: str | None) -> list[Check]:
    """Of the service itself, where one is configured or runs here."""
    from tierscope.core.clock import utc_now
    from tierscope.usecases.operate.doctor import ServiceDoctor
    from tierscope.worker.schedule import every_seconds

    if url is None:
        return []
    return ServiceDoctor(settings, clock=utc_now, schedule=every_seconds(settings)).examine(url)


def _running(instance: Instance) -> str | None:
    """The database of the instance that runs here."""
    state = load(instance.places.state_file)
    return instance.read_database_url() if state is not None and state.supervised else None


def _check_programs(instance: Instance) -> Check:
    from tierscope.core.embedded.postgres import recorded_major
    from tierscope.usecases.operate.checks import Check

    try:
        found = find_postgres(major=recorded_major(instance.places))
    except EmbeddedError as error:
        return Check("programs", "failed", error.cause, error.next_step)
    detail = f"PostgreSQL {found.version} in {found.bin_dir} ({found.origin})"
    if found.missing_minors:
        newest = f"{found.major}.{NEWEST_MINORS[found.major]}"
        return Check(
            "programs",
            "warning",
            f"{detail}, {found.missing_minors} minor releases behind {newest}",
            "upgrade the package of PostgreSQL; data stays as it is within a major version",
        )
    return Check("programs", "ok", detail)


def _check_queue() -> Check:
    from tierscope.usecases.operate.checks import Check

    binary = find_queue_server()
    if binary is not None:
        return Check("queue program", "ok", str(binary))
    return Check(
        "queue program", "warning", "no Redis-compatible server: files take its place", "install valkey or redis"
    )


def _check_data_dir(settings: Settings, instance: Instance) -> Check:
    from tierscope.usecases.operate.checks import LEAST_FREE_BYTES, Check

    existing = next(path for path in (instance.places.data, *instance.places.data.parents) if path.exists())
    account = choose_account(settings.account, create=False)
    blocked = first_blocked(existing, account)
    if blocked is not None:
        return Check(
            "data", "failed", f"user '{account.name}' may not enter {blocked}", "set TIERSCOPE_DATA_DIR elsewhere"
        )
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < LEAST_FREE_BYTES:
        return Check("data", "warning", f"{free_bytes / 2**30:.1f} GiB free at {existing}", "make room")
    return Check("data", "ok", f"{instance.places.data}, {free_bytes / 2**30:.0f} GiB free")


def _check_frontend(settings: Settings) -> Check:
    from tierscope.api.base.frontend import frontend_dir
    from tierscope.usecases.operate.checks import Check

    found = frontend_dir(settings.frontend_dir)
    if found is None:
        return Check("dashboard", "warning", "not built", "run `make setup`")
    return Check("dashboard", "ok", str(found))


def _check_agent() -> Check:
    from tierscope.usecases.operate.checks import Check

    binary = find_agent()
    if binary is None:
        return Check("agent", "warning", "its program is not built yet", "run `tierscope up`, which compiles it")
    pressure = "" if Path("/proc/pressure/memory").exists() else "; this kernel has no PSI"
    return Check("agent", "ok", f"{binary}{pressure}")


def _check_instance(instance: Instance) -> Check:
    from tierscope.usecases.operate.checks import Check

    state = examine(instance)
    if state is None:
        return Check("instance", "ok", "not running")
    missing = unhealthy(state)
    if missing:
        return Check("instance", "warning", f"not healthy: {', '.join(missing)}", "see `tierscope status`")
    return Check("instance", "ok", f"running at {state.url}")
