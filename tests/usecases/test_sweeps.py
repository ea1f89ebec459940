"""Sweeps from asking to results: what is replayed, what is refused, and what cancelling and dying workers leave."""

import io
import json
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import text

from factories.installations import enrol
from factories.sampled_services import ABIT, now, send_samples
from factories.sweeps import TRACE, WEB, asked_for, reads, start, upload, work_through
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, Conflict, NotFound, Unprocessable
from tierscope.core.settings import Settings
from tierscope.domain.simulate.sweep_replay import replay_run
from tierscope.storage.simulate import sweeps as stored
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import service_named
from tierscope.usecases.operate.retention import SWEEPS_KEPT, KeepPartitions
from tierscope.usecases.simulate.sources import SimulatorReads
from tierscope.usecases.simulate.spec import Prices
from tierscope.usecases.simulate.uploads import TraceUploads
from tierscope.usecases.simulate.views import Sweep, SweepResults
from tierscope.usecases.simulate.work import MAX_TAKES, SweepWork
from tierscope.usecases.simulate.writes import MAX_OPEN, SweepWrites

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def of_service(database: Database, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"kind": "service", "service_id": service_named(database, "demo/cache"), **options}


def check_cells(found: SweepResults) -> None:
    """No share is above the bound, and each says what it rests on."""
    bound = {point.dram_ratio: point.local_ratio or 0.0 for point in found.oracle}
    for cell in found.cells:
        assert cell.error is None
        figure = cell.local_ratio
        assert figure.value is not None
        assert figure.value <= bound[cell.dram_ratio] + 1e-9
        assert figure.method == "simulated"
        assert figure.unit == "ratio"
        assert any("Simulated" in warning for warning in figure.warnings)
        assert any("other runs of the service differ" in warning for warning in figure.warnings)
        assert figure.n_hosts == 1
        assert figure.n_intervals == 30


def check_searches(found: SweepResults) -> None:
    """The best setting of each policy and share is the one with the least loss."""
    searches = {(search.policy, search.dram_ratio): search for search in found.searches}
    search = searches["tpp", 0.5]
    assert len(search.points) == 3
    assert search.best is not None
    assert search.best.loss == min(point.loss for point in search.points if point.loss is not None)
    assert search.flatness is not None
    assert search.flatness.n == 3
    assert searches["tpp_tmo", 0.5].best is None, "its losses are not known"


def test_a_workload_is_swept_and_answers_grid_bound_frontier_and_search(database: Database) -> None:
    view = start(
        database,
        policies=("all_dram", "first_touch", "tpp", "tpp_tmo"),
        search={"demote_scale_factor": (100, 200, 400)},
        settings={"slow_latency_ns": 300},
        prices=Prices(slow_ratio=0.3),
    )
    assert view.status == "queued"
    assert view.done == 0
    assert view.total == 15
    assert view.progress_ratio == 0.0
    assert view.created_by == "ann"
    assert view.origin == "simulated"
    assert view.source.name == "Web1 (HHVM)"
    assert reads(database).results(view.id).peak_bytes is None
    assert reads(database).heat(view.id, rows=8, columns=8).reason is not None
    assert work_through(database) == 15
    shown = reads(database).show(view.id)
    assert shown.status == "done"
    assert shown.done == 15
    assert shown.progress_ratio == 1.0
    assert shown.started_at is not None
    assert shown.finished_at is not None
    found = reads(database).results(view.id)
    assert [(cell.policy, cell.dram_ratio) for cell in found.cells][:3] == [
        ("all_dram", 1.0),
        ("first_touch", 0.8),
        ("first_touch", 0.5),
    ]
    assert found.pages
    assert found.intervals == 30
    assert found.sampled_ratio is None
    assert found.n_hosts == 1
    check_cells(found)
    tmo = next(cell for cell in found.cells if cell.policy == "tpp_tmo")
    assert tmo.loss.value is None
    assert "cpu_seconds" in (tmo.loss.reason or "")
    tpp = next(cell for cell in found.cells if cell.policy == "tpp")
    assert tpp.loss.interval is not None
    assert tpp.loss.interval.lo < (tpp.loss.value or 0.0) < tpp.loss.interval.hi
    assert tpp.settings["demote_scale_factor"] == 200
    costs = [point.cost_ratio for point in found.frontier]
    losses = [point.loss for point in found.frontier]
    assert costs == sorted(costs)
    assert losses == sorted(losses, reverse=True)
    assert found.frontier[-1].policy == "all_dram"
    assert found.frontier[-1].loss == 0.0
    check_searches(found)
    assert any("Simulated" in note for note in found.notes)


def test_shares_have_intervals_from_recorded_kernels_and_moves_are_claimed_or_not(database: Database) -> None:
    view = start(database, policies=("all_dram", "first_touch", "tpp", "tpp_tmo"), dram_ratios=(0.5,))
    work_through(database)
    found = reads(database).results(view.id)
    by_policy = {cell.policy: cell for cell in found.cells}
    exact, still, moving, swapping = (by_policy[name] for name in ("all_dram", "first_touch", "tpp", "tpp_tmo"))
    assert (exact.local_ratio.value, exact.local_ratio.interval) == (1.0, None)
    for cell, half in ((still, 0.0055), (moving, 0.1705)):
        interval = cell.local_ratio.interval
        assert interval is not None
        assert interval.level == 0.8
        assert interval.lo < (cell.local_ratio.value or 0.0) < interval.hi
        assert interval.hi - interval.lo <= 2 * half
    assert (swapping.local_ratio.interval, still.promoted_pages_per_s.interval) == (None, None)
    for cell in (moving, swapping):
        for figure in (cell.promoted_pages_per_s, cell.demoted_pages_per_s, cell.tier_move_mb_per_s):
            assert figure.interval is None
            assert any(warning.startswith("Moves are not claimed: ") for warning in figure.warnings)
    for figure in (still.promoted_pages_per_s, exact.tier_move_mb_per_s):
        assert not any("not claimed" in warning for warning in figure.warnings)
    assert any(note.startswith("TPP: Moves are not claimed: ") for note in found.notes)
    assert any(note.startswith("TPP with TMO: No interval: ") for note in found.notes)


def test_one_run_has_series_totals_and_stall_and_the_trace_its_heat(database: Database) -> None:
    view = start(database, cpu_seconds=100.0, seed=3, settings={"warm_up_intervals": 5})
    work_through(database)
    cell = next(cell for cell in reads(database).results(view.id).cells if cell.policy == "tpp")
    run = reads(database).run(view.id, cell.run_id)
    assert run.local_ratio == cell.local_ratio
    assert run.series is not None
    assert len(run.series.interval) == 30
    assert run.totals is not None
    assert sum(value or 0 for value in run.series.promoted_pages[5:]) == run.totals["promoted_pages"]
    assert run.stall_seconds is not None
    assert run.stall_seconds.total == pytest.approx(
        run.stall_seconds.slow_accesses
        + run.stall_seconds.faults
        + run.stall_seconds.hint_faults
        + run.stall_seconds.tier_moves
    )
    stalled = run.stall_seconds.total / 100.0
    assert run.loss.value == pytest.approx(stalled / (1.0 + stalled))
    assert run.loss.interval is None
    assert cell.promoted_pages_per_s.value == pytest.approx((run.totals["promoted_pages"] or 0.0) / (25 * 60))
    heat = reads(database).heat(view.id, rows=6, columns=10)
    assert (len(heat.rows), len(heat.interval), heat.reason) == (6, 10, None)
    assert {len(row) for row in heat.accesses} == {10}
    for missing in ("999", "x", "-1", "9" * 30):
        with pytest.raises(NotFound, match="no finished run"):
            reads(database).run(view.id, missing)


def test_sampled_pages_of_hosts_are_replayed_together_with_an_interval(database: Database) -> None:
    send_samples(database)
    sources = SimulatorReads(ReadContext(database, now, Settings(_env_file=None))).sources()
    assert [(service.name, len(service.hosts)) for service in sources.services] == [("demo/cache", 3)]
    assert sources.services[0].hosts[0].n_intervals == 120
    view = start(database, of_service(database))
    work_through(database)
    found = reads(database).results(view.id)
    assert (found.n_hosts, found.pages, found.intervals) == (3, 900, 120)
    assert found.sampled_ratio == pytest.approx(0.01)
    assert found.peak_bytes == pytest.approx(300 * 4096 / 0.01)
    tpp = next(cell for cell in found.cells if (cell.policy, cell.dram_ratio) == ("tpp", 0.5))
    assert tpp.local_ratio.interval is not None
    assert (tpp.local_ratio.interval.level, tpp.local_ratio.n_hosts) == (0.8, 3)
    below = (tpp.local_ratio.value or 0.0) - tpp.local_ratio.interval.lo
    assert below > 0.171, "17 points, and the draw of pages"
    assert (tpp.local_ratio.value or 0.0) < tpp.local_ratio.interval.hi
    touch = next(cell for cell in found.cells if (cell.policy, cell.dram_ratio) == ("first_touch", 0.5))
    assert (tpp.local_ratio.value or 0.0) > (touch.local_ratio.value or 1.0)
    assert view.source.window is not None
    assert tpp.local_ratio.window == view.source.window
    heat = reads(database).heat(view.id, rows=8, columns=8)
    assert {row.kind for row in heat.rows} == {"anon", "file"}
    assert heat.host_name is not None
    host = sources.services[0].hosts[1]
    one = start(database, of_service(database, host_id=host.host_id, from_="-1h"))
    work_through(database)
    single = reads(database).results(one.id)
    assert (single.n_hosts, single.pages, single.intervals) == (1, 300, 60)
    assert one.source.name == f"demo/cache on {host.name}"
    interval = single.cells[0].local_ratio.interval
    assert interval is not None, "random groups of its pages tell of one host"


def test_accessed_bits_are_replayed_with_a_word_on_what_they_cannot_tell(database: Database) -> None:
    send_samples(database, hosts=1, backend=ABIT, missed=(3, 4))
    view = start(database, of_service(database))
    work_through(database)
    found = reads(database).results(view.id)
    assert found.intervals == 116
    assert any("Accessed bits" in note for note in found.notes)
    assert any("not observed are cut out" in note for note in found.notes)


def test_an_uploaded_trace_says_how_long_its_intervals_are(database: Database) -> None:
    told = io.BytesIO()
    pq.write_table(pq.read_table(TRACE).replace_schema_metadata({"interval_seconds": "5"}), told)
    asked: tuple[dict[str, float], ...] = ({}, {}, {"interval_s": 5.0})
    found = []
    for body, settings in zip((TRACE.read_bytes(), told.getvalue(), TRACE.read_bytes()), asked, strict=True):
        source = {"kind": "upload", "upload_id": upload(database, body)}
        view = start(database, source, policies=("tpp",), dram_ratios=(0.5,), settings=settings)
        work_through(database)
        found.append(reads(database).results(view.id))
    silent, said = found[:2]
    assert [one.interval_seconds for one in found] == [60, 5, 5]
    assert any("does not say how long its intervals are" in note for note in silent.notes)
    assert "The trace says that its intervals take 5 s." in said.notes
    rates = [one.cells[0].promoted_pages_per_s.value for one in found]
    assert rates[1] == rates[2] != rates[0]


def test_too_little_is_refused_with_what_is_missing(database: Database) -> None:
    send_samples(database, hosts=1, hours=1, pages=20)
    with pytest.raises(Unprocessable, match="20 sampled pages: 30 are needed"):
        start(database, of_service(database))
    with pytest.raises(Unprocessable, match="no page samples in the window"):
        start(database, of_service(database, from_="-3h", to="-2h"))
    other = enrol(database, name="empty")
    with pytest.raises(Unprocessable, match="no page samples"):
        start(database, of_service(database, host_id=other.id))


@pytest.mark.parametrize(
    ("source", "options", "error", "cause"),
    [
        ({"kind": "workload", "workload": "web9"}, {}, NotFound, "no workload 'web9'"),
        ({"kind": "service", "service_id": "none"}, {}, NotFound, "no service 'none'"),
        ({"kind": "upload", "upload_id": "none"}, {}, NotFound, "no uploaded trace 'none'"),
        ({**WEB, "pages": 10_000_000, "intervals": 1000}, {}, Unprocessable, "more than 12000000"),
        (WEB, {"policies": ("lru",)}, BadRequest, "no policy 'lru'"),
        (WEB, {"settings": {"exposed_ratio": -1}}, BadRequest, "exposed_ratio"),
        (WEB, {"settings": {"slow_latency_ns": 50}}, BadRequest, "at least dram_latency_ns"),
        (WEB, {"name": "a\0b"}, Unprocessable, "NUL"),
        (
            {**WEB, "pages": 240_000, "intervals": 50},
            {"policies": ("tpp",), "dram_ratios": (0.5,), "search": {"demote_scale_factor": tuple(range(100, 520))}},
            Unprocessable,
            "are the most",
        ),
    ],
)
def test_what_cannot_be_swept_is_refused(
    database: Database, source: dict[str, Any], options: dict[str, Any], error: type[Exception], cause: str
) -> None:
    with pytest.raises(error, match=cause):
        start(database, source, **options)
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM sweeps")).scalar_one() == 0


def test_a_request_sent_again_queues_one_sweep(database: Database) -> None:
    writes = SweepWrites(database, clock=now)
    new = asked_for()
    first = writes.create(new, actor="ann", idempotency_key="k")
    assert writes.create(new, actor="ann", idempotency_key="k") == first
    with pytest.raises(Conflict, match="other content"):
        writes.create(asked_for(name="b"), actor="ann", idempotency_key="k")
    assert writes.create(new, actor="bob", idempotency_key="k").id != first.id


def test_no_more_than_so_many_sweeps_wait(database: Database) -> None:
    first = start(database)
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO sweeps (public_id, name, spec, author) SELECT 'x' || n, 'n', '{}', 'a'"
                " FROM generate_series(2, :most) n"
            ),
            {"most": MAX_OPEN},
        )
        transaction.execute(
            text("INSERT INTO sweep_tasks (sweep_id, policy, total) SELECT id, 'tpp', 1 FROM sweeps WHERE name = 'n'")
        )
    with pytest.raises(Conflict, match=f"{MAX_OPEN} sweeps wait or run"):
        start(database)
    SweepWrites(database, clock=now).cancel(first.id, actor="ann")
    assert start(database).status == "queued"


def test_cancel_takes_effect_between_runs_and_resume_repeats_none(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = start(database)
    writes = SweepWrites(database, clock=now)
    replayed: list[int] = []

    def cancel_at_the_second(traces: Any, run: Any, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        replayed.append(run.number)
        if len(replayed) == 2:
            assert writes.cancel(view.id, actor="ann").status == "cancelled"
        return replay_run(traces, run, *rest, **named)

    monkeypatch.setattr("tierscope.usecases.simulate.runs.replay_run", cancel_at_the_second)
    work_through(database)
    assert replayed == [3, 2], "of all that wait, those that take longest"
    shown = reads(database).show(view.id)
    assert (shown.status, shown.done) == ("cancelled", 1)
    assert {task.status for task in shown.tasks} == {"cancelled"}
    assert work_through(database) == 0
    assert writes.cancel(view.id, actor="ann").status == "cancelled", "twice is once"
    assert writes.resume(view.id, actor="ann").status in ("queued", "running")
    assert work_through(database) == 3
    assert replayed == [3, 2, 2, 1, 0], "what was stored is not repeated"
    assert reads(database).show(view.id).status == "done"
    with pytest.raises(Conflict, match="the sweep is done"):
        writes.resume(view.id, actor="ann")


@pytest.mark.parametrize(
    ("policies", "dram_ratios"), [(("tpp",), (0.8, 0.5)), (("first_touch", "tpp", "tpp_tmo", "interleave"), (0.5,))]
)
def test_runs_are_replayed_at_once_and_answer_as_one_after_the_other(
    database: Database, monkeypatch: pytest.MonkeyPatch, policies: tuple[str, ...], dram_ratios: tuple[float, ...]
) -> None:
    def sweep() -> Sweep:
        return start(database, policies=policies, dram_ratios=dram_ratios)

    alone, both = sweep(), threading.Barrier(2, timeout=60)
    assert work_through(database) == alone.total

    def meet(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        both.wait()
        return replay_run(*args, **named)

    monkeypatch.setattr("tierscope.usecases.simulate.runs.replay_run", meet)
    together = sweep()
    done = SweepWork(database, now, threads=2).run()
    assert (done.tasks, done.runs) == (len(policies), together.total)
    assert results_of(database, together) == results_of(database, alone)


def results_of(database: Database, sweep: Sweep) -> SweepResults:
    return replace(reads(database).results(sweep.id), sweep_id="")


def test_a_task_that_a_worker_died_at_is_worked_on_alone(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    view = start(database, dram_ratios=(0.5,))
    assert take(database, "dies", lease_seconds=0.0).policy == "first_touch"
    seen: list[tuple[str, list[str]]] = []

    def look(traces: Any, run: Any, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        seen.append((run.policy, [task.status for task in reads(database).show(view.id).tasks]))
        return replay_run(traces, run, *rest, **named)

    monkeypatch.setattr("tierscope.usecases.simulate.runs.replay_run", look)
    SweepWork(database, now, threads=2).run()
    assert seen == [("tpp", ["running", "running"]), ("first_touch", ["running", "done"])]
    assert reads(database).show(view.id).status == "done"


def test_a_policy_that_fails_leaves_the_others_their_threads(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = start(database)

    def fail_tpp(traces: Any, run: Any, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        if run.policy == "tpp":
            raise RuntimeError("the core is not built")
        return replay_run(traces, run, *rest, **named)

    monkeypatch.setattr("tierscope.usecases.simulate.runs.replay_run", fail_tpp)
    assert SweepWork(database, now, threads=2).run().runs == 2
    tasks = reads(database).show(view.id).tasks
    assert [(task.policy, task.status, task.error) for task in tasks] == [
        ("first_touch", "done", None),
        ("tpp", "failed", "the core is not built"),
    ]


def test_time_is_shared_and_the_next_wake_up_goes_on(database: Database) -> None:
    view = start(database)
    assert SweepWork(database, now).run(at_most=timedelta()).tasks == 0
    assert reads(database).show(view.id).status == "queued"
    again = 0
    while reads(database).show(view.id).status != "done":
        SweepWork(database, now).run(at_most=timedelta(milliseconds=1))
        again += 1
    assert again > 1
    with database.read() as session:
        assert session.execute(text("SELECT max(takes) FROM sweep_tasks")).scalar_one() == 0


def take(database: Database, holder: str, *, lease_seconds: float) -> stored.TakenTask:
    with database.write() as transaction:
        task = stored.take_task(transaction, holder=holder, lease_seconds=lease_seconds, now=now())
    assert task is not None
    return task


def test_the_task_of_a_worker_that_is_gone_is_taken_up_and_the_late_one_stores_nothing(database: Database) -> None:
    view = start(database, policies=("tpp",))
    gone = take(database, "gone", lease_seconds=0.0)
    with database.write() as transaction:
        assert stored.store_run(transaction, gone, 0, json.dumps({"error": "x", "settings": {}}), None, seconds=0.1)
    assert work_through(database) == 1, "the run that was finished is not repeated"
    with database.write() as transaction:
        assert not stored.store_run(transaction, gone, 1, "{}", None, seconds=0.1)
        assert not stored.renew_lease(transaction, gone, 10.0)
        stored.leave_task(transaction, gone, "failed", now=now(), error="late")
    assert reads(database).show(view.id).status == "done"


def test_a_task_that_is_held_is_left_alone_and_one_that_kills_its_workers_fails(database: Database) -> None:
    view = start(database, policies=("tpp",))
    held = take(database, "busy", lease_seconds=60.0)
    assert work_through(database) == 0
    with database.write() as transaction:
        assert stored.renew_lease(transaction, held, 0.0)
    for _ in range(MAX_TAKES - 1):
        take(database, "dies", lease_seconds=0.0)
    assert work_through(database) == 0
    shown = reads(database).show(view.id)
    assert (shown.status, shown.tasks[0].error) == (
        "failed",
        f"{MAX_TAKES} workers stopped at its next run without a result",
    )
    assert SweepWrites(database, clock=now).resume(view.id, actor="ann").status in ("queued", "running")
    assert work_through(database) == 2


def test_a_run_that_cannot_be_says_why_and_the_others_go_on(database: Database) -> None:
    view = start(database, settings={"warm_up_intervals": 30})
    work_through(database)
    assert reads(database).show(view.id).status == "done"
    found = reads(database).results(view.id)
    assert all("none is left to count" in (cell.error or "") for cell in found.cells)
    assert found.cells[0].loss.value is None
    assert found.frontier == ()
    run = reads(database).run(view.id, "0")
    assert (run.series, run.totals) == (None, None)


def test_samples_that_left_the_store_fail_the_task_with_the_cause(database: Database) -> None:
    send_samples(database, hosts=1)
    view = start(database, of_service(database))
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM traces"))
    work_through(database)
    shown = reads(database).show(view.id)
    assert shown.status == "failed"
    assert "have left the store" in (shown.tasks[0].error or "")


def test_sweeps_are_listed_newest_first_by_page(database: Database) -> None:
    made = [start(database, name=f"sweep {number}").id for number in range(3)]
    page = reads(database).list(service=None, limit=2, cursor=None)
    assert [item.id for item in page.items] == made[:0:-1]
    rest = reads(database).list(service=None, limit=2, cursor=page.next_cursor)
    assert ([item.id for item in rest.items], rest.next_cursor) == (made[:1], None)
    assert reads(database).list(service="none", limit=2, cursor=None).items == ()
    with pytest.raises(BadRequest, match="cursor"):
        reads(database).list(service=None, limit=2, cursor="x")


def test_old_sweeps_and_unused_traces_leave_and_what_runs_stays(database: Database) -> None:
    used, unused = upload(database, TRACE.read_bytes()), upload(database, TRACE.read_bytes(), "unused")
    ended = start(database, policies=("first_touch",))
    work_through(database)
    open_ = start(database, {"kind": "upload", "upload_id": used})
    kept = KeepPartitions(database, lambda: now() + SWEEPS_KEPT - timedelta(hours=1)).run()
    assert (kept.sweeps, kept.trace_uploads) == (0, 0)
    kept = KeepPartitions(database, lambda: now() + SWEEPS_KEPT + timedelta(hours=1)).run()
    assert (kept.sweeps, kept.trace_uploads) == (1, 1)
    assert [item.id for item in reads(database).list(service=None, limit=9, cursor=None).items] == [open_.id]
    with pytest.raises(NotFound):
        reads(database).show(ended.id)
    with pytest.raises(NotFound):
        TraceUploads(database, clock=now).delete(unused, actor="ann")
