"""Sweeps on a real worker with its scheduler and queue: killed at its work, it loses no run and repeats none."""

import pytest
from sqlalchemy import text

from factories.workers import Worker
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.simulate.reads import SweepReads
from tierscope.usecases.simulate.spec import NewSweep, Prices, SweepSourceRequest
from tierscope.usecases.simulate.work import SweepWork
from tierscope.usecases.simulate.writes import SweepWrites

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
pytestmark = [long, pytest.mark.slow, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]

THRESHOLDS = tuple(float(100 * step) for step in range(1, 13))


def let_lease_run_out(database: Database) -> None:
    """As if its worker had been silent for as long as a lease lasts."""
    with database.write() as transaction:
        transaction.execute(text("UPDATE sweep_tasks SET lease_until = clock_timestamp() WHERE status = 'running'"))


def start(database: Database) -> str:
    """A sweep of three policies whose runs take some tenths of a second each."""
    source = SweepSourceRequest("workload", None, None, "cache1", 200_000, 60, None, None, None)
    new = NewSweep(
        "killed",
        source,
        ("first_touch", "hot_page_selection", "tpp"),
        (0.5,),
        {},
        {"hot_threshold_ms": THRESHOLDS},
        7,
        None,
        Prices(),
    )
    return SweepWrites(database).create(new, actor="ann").id


def made(database: Database) -> dict[int, str]:
    """When each finished run was stored."""
    with database.read() as session:
        rows = session.execute(text("SELECT number, made_at::text AS at FROM sweep_runs ORDER BY number"))
        return {row.number: row.at for row in rows}


def bodies(database: Database, sweep_id: str) -> dict[str, float | None]:
    """The local share of all runs, searched ones too."""
    reads = SweepReads(ReadContext(database, utc_now, Settings(_env_file=None)))
    return {str(number): reads.run(sweep_id, str(number)).local_ratio.value for number in made(database)}


def status(database: Database, sweep_id: str) -> str:
    return SweepReads(ReadContext(database, utc_now, Settings(_env_file=None))).show(sweep_id).status


def test_a_worker_that_is_killed_loses_no_run_and_repeats_none(database: Database, worker: Worker) -> None:
    sweep_id = start(database)
    total = SweepReads(ReadContext(database, utc_now, Settings(_env_file=None))).show(sweep_id).total
    worker.start()
    worker.wake("sweeps.run")
    worker.until(lambda: len(made(database)) >= 5)
    worker.kill()
    before = made(database)
    assert len(before) < total, "it was killed at its work"
    with database.read() as session:
        running = session.execute(text("SELECT count(*) FROM sweep_tasks WHERE status = 'running'")).scalar_one()
    assert running > 0, "its tasks still say that they run"
    let_lease_run_out(database)
    worker.start()
    worker.wake("sweeps.run")
    worker.until(lambda: status(database, sweep_id) == "done")
    worker.kill()
    after = made(database)
    assert sorted(after) == list(range(total))
    assert {number: at for number, at in after.items() if number in before} == before, "none was made again"
    killed = bodies(database, sweep_id)
    again = start(database)
    SweepWork(database, utc_now).run()
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM sweeps WHERE public_id = :id"), {"id": sweep_id})
    assert bodies(database, again) == killed, "and what it found is what an undisturbed worker finds"


def test_cancelling_stops_a_worker_between_runs_and_resuming_goes_on(database: Database, worker: Worker) -> None:
    sweep_id = start(database)
    writes = SweepWrites(database)
    worker.start()
    worker.wake("sweeps.run")
    worker.until(lambda: len(made(database)) > 0)
    assert writes.cancel(sweep_id, actor="ann").status == "cancelled"
    stopped = made(database)
    other = start(database)
    worker.wake("sweeps.run")
    worker.until(lambda: len(made(database)) > len(stopped))
    with database.read() as session:
        statement = text("SELECT count(*) FROM sweep_runs r JOIN sweeps s ON s.id = r.sweep_id WHERE s.public_id = :id")
        assert session.execute(statement, {"id": sweep_id}).scalar_one() == len(stopped), "no run came after"
    writes.delete(other, actor="ann")
    assert writes.resume(sweep_id, actor="ann").status in ("queued", "running")
    worker.wake("sweeps.run")
    worker.until(lambda: status(database, sweep_id) == "done")
    worker.kill()
    assert {number: at for number, at in made(database).items() if number in stopped} == stopped
