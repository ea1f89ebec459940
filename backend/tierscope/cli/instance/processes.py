"""`tierscope serve`, `worker`, `beat`: one process each, for compose files and orchestrators."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from tierscope.cli.access.first_link import dashboard_address, first_link
from tierscope.cli.base.exits import say
from tierscope.core.embedded.places import SCHEDULER
from tierscope.core.settings import Settings

_DRAIN_SECONDS = 10


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.command()(worker)
    app.command()(beat)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default from the settings.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; default from the settings.")] = None,
) -> None:
    """Serve the API and the dashboard on the configured database."""
    with _loading():
        import uvicorn

        from tierscope.api.app import create_app
        from tierscope.api.base.server import KEEP_ALIVE_SECONDS, BoundedProtocol
        from tierscope.api.base.server import serve as run_server
        from tierscope.core.logs import configure_logging

        changed = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        settings = Settings().model_copy(update=changed)
        configure_logging(settings)
        url = settings.resolve_database_url()
        if url is not None:
            for line in first_link(url, dashboard_address(settings), private=sys.stderr.isatty()):
                say(line)
        api = create_app(settings)
    _keep_for_good()
    # No access log: one-time login links are part of an address. Proxy headers are settings.trusted_proxies' business.
    config = uvicorn.Config(
        api,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http=BoundedProtocol,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    run_server(config)


def worker(
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks at a time.")] = 2,
    with_beat: Annotated[
        bool, typer.Option("--with-beat", help="Run the scheduler inside; for one worker only.")
    ] = False,
) -> None:
    """Run tasks: rollups, retention, analyses."""
    arguments = [
        "worker",
        "--pool",
        "threads",
        "--concurrency",
        str(concurrency),
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]
    _run_celery(arguments, with_beat=with_beat)


def beat() -> None:
    """Run the scheduler that wakes workers; exactly one."""
    _run_celery(["beat", "--schedule", _schedule_file(), "--scheduler", "tierscope.worker.scheduler:SteadyScheduler"])


@contextmanager
def _loading() -> Iterator[None]:
    """Collects no garbage meanwhile: to look through what is being loaded took a sixth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _keep_for_good(**_: object) -> None:
    """Takes what was loaded at the start out of garbage collection.

    It lives as long as the process. A full collection looked at all of it each time: a third of a second in which
    nobody is answered.
    """
    gc.collect()
    gc.freeze()


def _schedule_file() -> str:
    directory = Settings().data_dir / SCHEDULER
    directory.mkdir(parents=True, exist_ok=True)
    return os.fspath(directory / "beat-schedule")


def _run_celery(arguments: list[str], *, with_beat: bool = False) -> None:
    # One thread of linear algebra per process: worker processes are as many as cores already.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _loading():
        from celery.beat import EmbeddedService
        from celery.signals import worker_ready, worker_shutting_down

        from tierscope.core.logs import configure_logging
        from tierscope.worker.app import app as celery_app
        from tierscope.worker.scheduler import SteadyScheduler

        configure_logging(Settings())
    worker_ready.connect(_keep_for_good, weak=False)
    if with_beat:
        # A process of its own, as Celery's option makes it, holds another hundred megabytes to wake tasks.
        scheduler = EmbeddedService(
            celery_app, thread=True, schedule_filename=_schedule_file(), scheduler_cls=SteadyScheduler
        )
        worker_ready.connect(lambda **_: scheduler.start(), weak=False)
        worker_shutting_down.connect(lambda **_: scheduler.is_alive() and scheduler.stop(), weak=False)
    celery_app.start(argv=arguments)
