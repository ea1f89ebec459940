"""The Celery application. The queue wakes workers; what there is to do stands in the database."""

from pathlib import Path
from urllib.parse import urlsplit

from celery import Celery

from tierscope.core.settings import Settings
from tierscope.worker.schedule import beat_schedule
from tierscope.worker.telemetry import count_tasks

_RESULTS_SECONDS = 3600
TASKS = (
    "rebuild",
    "retention",
    "objects",
    "history",
    "advice",
    "experiments",
    "fleet_statistics",
    "sweeps",
    "notifications",
    "alerts",
    "capacity",
    "reports",
    "purges",
    "push",
)
"""Modules of this package that hold tasks."""


def broker_options(queue_url: str | None) -> dict[str, object]:
    """Celery's settings for a queue: `redis://`, `rediss://`, `unix://` (a Redis socket) or `filesystem://<directory>`.

    Without a queue the worker cannot be reached: the in-memory transport stands in, for tests that call tasks directly.
    """
    if queue_url is None:
        return {"broker_url": "memory://", "result_backend": None}
    if queue_url.startswith("filesystem://"):
        folder = Path(urlsplit(queue_url).path)
        folder.mkdir(parents=True, exist_ok=True)
        transport = {"data_folder_in": str(folder), "data_folder_out": str(folder), "processed_folder": str(folder)}
        return {"broker_url": "filesystem://", "broker_transport_options": transport, "result_backend": None}
    address = queue_url.replace("unix://", "redis+socket://", 1)
    # Messages only wake, so that the queue need not keep those that were taken. Where its server dies, kombu 5.7 looks
    # for them over a connection that is gone, raises AttributeError, and the worker works no more.
    return {"broker_url": address, "broker_transport_options": {"ack_emulation": False}, "result_backend": address}


def make_app(settings: Settings) -> Celery:
    """The application with its tasks and schedule. Messages are JSON alone: nothing that can carry code."""
    queue = settings.redis_url.get_secret_value() if settings.redis_url else None
    app = Celery("tierscope", include=[f"tierscope.worker.{name}" for name in TASKS])
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        result_serializer="json",
        timezone="UTC",
        enable_utc=True,
        # Messages only wake: what there is to do stands in the database, and the next wake-up comes in seconds. If it
        # were acknowledged when its task ends, a running task would hang on a connection that may be gone by then.
        task_acks_late=False,
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        # For ever: after 100 attempts, about 50 minutes, a worker would end.
        broker_connection_max_retries=None,
        result_expires=_RESULTS_SECONDS,
        beat_schedule=beat_schedule(settings),
        **broker_options(queue),
    )
    count_tasks(app)
    return app


app = make_app(Settings())
