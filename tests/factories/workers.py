"""A real worker with its scheduler, in a process of its own that tests may kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from celery import Celery

from factories.waiting import until
from tierscope.worker.app import broker_options


def send_tasks(queue_url: str, *tasks: str) -> None:
    app = Celery("tests", task_ignore_result=True)
    app.conf.update(task_serializer="json", **broker_options(queue_url))
    with app.connection_for_write() as connection:
        for task in tasks:
            app.send_task(task, connection=connection)


class Worker:
    """`tierscope worker --with-beat` in a process of its own; `settings` are variables of its environment."""

    def __init__(self, database_url: str, queue_url: str, folder: Path, **settings: str) -> None:
        self._env = os.environ | {
            "TIERSCOPE_DATABASE_URL": database_url,
            "TIERSCOPE_REDIS_URL": queue_url,
            "TIERSCOPE_DATA_DIR": str(folder),
            **settings,
        }
        self._queue_url = queue_url
        self._log = folder / "worker.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "tierscope.cli", "worker", "--with-beat"]
            self._process = subprocess.Popen(command, env=self._env, stdout=log, stderr=log, start_new_session=True)

    def wake(self, task: str) -> None:
        """Put a task into the queue, as the scheduler does at its time."""
        send_tasks(self._queue_url, task)

    def kill(self) -> None:
        """Kill the process and its scheduler, whatever they do."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so that the worker brings about."""
        until(condition, "what the worker brings about", log=self._log, alive={"the worker": self._process})
