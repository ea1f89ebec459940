"""Whoever changes a sweep while a worker stores a run of it waits for that; neither is ended for the other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from factories.waiting import until
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.storage.simulate.sweeps import leave_task, store_run, take_task
from tierscope.usecases.simulate.spec import NewSweep, Prices, SweepSourceRequest
from tierscope.usecases.simulate.writes import SweepWrites

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SOURCE = SweepSourceRequest("workload", None, None, "zipf", 2000, 30, None, None, None)


@pytest.mark.parametrize("change", [SweepWrites.cancel, SweepWrites.delete])
def test_a_change_waits_for_a_run_that_is_being_stored(database: Database, change: Callable[..., Any]) -> None:
    writes = SweepWrites(database)
    sweep = writes.create(NewSweep("try", SOURCE, ("tpp", "tmo"), (0.5,), {}, {}, 1, None, Prices()), actor="ann").id
    with database.write() as transaction:
        task = take_task(transaction, holder="w1", lease_seconds=60.0, now=utc_now())
    assert task is not None
    with ThreadPoolExecutor(1) as beside, database.write() as transaction:
        held = text("UPDATE sweep_tasks SET takes = 0 WHERE id = :id")
        transaction.execute(held, {"id": task.id})
        changed = beside.submit(change, writes, sweep, actor="ann")
        with database.read() as session:
            waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()")
            until(lambda: session.execute(waiting).scalar_one(), "somebody waits")
        assert store_run(transaction, task, 0, "{}", None, seconds=1.0)
        leave_task(transaction, task, "queued", now=utc_now())
    changed.result()
