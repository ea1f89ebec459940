"""Tasks are started at their intervals, whatever the clock of the machine is set to."""

from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery

from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.worker.app import make_app
from tierscope.worker.schedule import DRAIN_SECONDS
from tierscope.worker.scheduler import SteadyScheduler


class Started(SteadyScheduler):
    def __init__(self, app: Celery, file: Path) -> None:
        self.names: list[str] = []
        super().__init__(app, schedule_filename=str(file))

    def apply_async(self, entry: object, *_: object, **__: object) -> None:
        """Sends nothing."""
        self.names.append(entry.task)  # type: ignore[attr-defined]

    def started(self) -> list[str]:
        self.names.clear()
        for _ in range(100):
            if self.tick() > 0:
                break
        return list(self.names)


def test_tasks_go_on_after_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app, now = make_app(Settings()), utc_now()
    monkeypatch.setattr(app, "now", lambda: now)
    scheduler = Started(app, tmp_path / "schedule")
    now += timedelta(days=400)
    assert "rebuild.drain" in scheduler.started()
    now -= timedelta(days=400)
    assert scheduler.started() == []
    now += timedelta(seconds=DRAIN_SECONDS + 1)
    assert "rebuild.drain" in scheduler.started()


def test_tasks_go_on_where_the_clock_was_set_back_before_a_restart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    app, now = make_app(Settings()), utc_now() + timedelta(days=400)
    monkeypatch.setattr(app, "now", lambda: now)
    Started(app, tmp_path / "schedule").close()
    now -= timedelta(days=400)
    scheduler = Started(app, tmp_path / "schedule")
    assert scheduler.started() == []
    now += timedelta(seconds=DRAIN_SECONDS + 1)
    assert "rebuild.drain" in scheduler.started()
