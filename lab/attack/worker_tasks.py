"""Wakes the worker, and sees whether what it did went well."""

from sqlalchemy import text

from attack.arena import Arena
from factories.waiting import until
from factories.workers import send_tasks
from tierscope.core.database import Database


def wake(arena: Arena, *tasks: str) -> list[str]:
    """Has the worker run each task once more from now on; what failed."""
    before = _runs(arena.database)
    # Twice: a run that was going on may have read everything before.
    send_tasks(arena.queue_url, *(task for task in tasks for _ in range(2)))
    for task in tasks:
        _wait(arena, task, before.get(task, (0, 0))[0] + 2)
    now = _runs(arena.database)
    return [f"{task} failed in the worker" for task in tasks if now[task][1] > before.get(task, (0, 0))[1]]


def _wait(arena: Arena, task: str, wanted: int) -> None:
    until(
        lambda: _runs(arena.database).get(task, (0, 0))[0] >= wanted,
        f"the worker has run {task}",
        log=arena.worker.log,
        alive={"the worker": arena.worker.process},
    )


def _runs(database: Database) -> dict[str, tuple[int, int]]:
    """Runs and failures by task."""
    with database.read() as session:
        rows = session.execute(text("SELECT task, runs, failures FROM task_runs"))
        return {row.task: (row.runs, row.failures) for row in rows}
