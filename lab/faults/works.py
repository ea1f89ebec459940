"""What a service does that takes a while: each work says that it failed where it does, and can be done again."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from factories.acknowledged import Happened
from factories.drawn_orders import hosts_named, services_named
from factories.waiting import until
from faults.bench import Bench, SaidFailedError
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.core.objects.directory import DirectoryStore
from tierscope.domain.base.jobs import COUNTERS, due_table
from tierscope.storage.base.dirty_buckets import append
from tierscope.storage.base.schema import downgrade
from tierscope.storage.nodes.foreign import drop_pieces
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.operate.history import PublishHistory
from tierscope.usecases.operate.retention import KeepPartitions

_WORK_SECONDS = 200.0


def _nothing(_: Bench) -> None:
    """There is nothing to do."""


@dataclass(frozen=True, slots=True)
class Work:
    """`prepare` comes before, `do` beside it and again until it is done, `check` once all senders are still."""

    name: str
    title: str
    by: Literal["command", "worker", "call"]
    seconds: float
    """About how long it takes undisturbed: the fault comes within so long of its begin."""
    do: Callable[[Bench], None]
    prepare: Callable[[Bench], None] = _nothing
    check: Callable[[Bench], None] = _nothing
    ends: Literal["restore", "purge"] | None = None
    """What it does to samples that were acknowledged."""
    several: bool = False
    """Whether it takes two servers."""


def back_up(bench: Bench) -> None:
    """A copy, under a name that no try before had."""
    path = bench.stage.folder / f"{bench.prefix}{bench.account.tick()}.dump"
    begun = bench.account.tick()
    bench.command("backup", str(path))
    bench.taken = (path, (begun, bench.account.tick()))


def back_up_and_go_on(bench: Bench) -> None:
    """A copy that nothing disturbs, and samples that come after it."""
    back_up(bench)
    bench.progress(10)


def restore(bench: Bench) -> None:
    """The last copy takes the place of the database."""
    assert bench.taken is not None
    bench.command("restore", str(bench.taken[0]), "--replace")


def restore_the_copy(bench: Bench) -> None:
    """What was copied beside the fault is what the account says."""
    assert bench.taken is not None
    begun = bench.account.tick()
    restore(bench)
    bench.account.happened.append(Happened("restore", begun, bench.account.tick(), taken=bench.taken[1]))


def await_hosts(bench: Bench) -> None:
    """Workers have made hosts of what Prometheus sends, so that they can be purged."""
    database, names = bench.stage.database, (bench.agents[0], bench.instances[0])
    until(lambda: all(hosts_named(database, name) for name in names), f"there are hosts {names}: {bench.stage.logs()}")
    bench.subjects = frozenset({bench.instances[0], *(host for name in names for host in hosts_named(database, name))})


def purge_hosts(bench: Bench) -> None:
    """An agent's host and an instance, asked for at the API and done by the worker."""
    for host in sorted(bench.subjects - {bench.instances[0]}):
        name = bench.on_each("SELECT name FROM hosts WHERE public_id = %s", host)
        if name:
            bench.ask(f"/v1/hosts/{host}/purge", {"confirm": name[0][0]})
    _await_purges(bench)


def purge_service(bench: Bench) -> None:
    """The service of a host; nothing of the host itself."""
    try:
        ids = services_named(bench.stage.database, f"of-{bench.agents[0]}")
    except TierscopeError as error:
        raise SaidFailedError(error.detail) from error
    for service in ids:
        bench.ask(f"/v1/services/{service}/purge", {"confirm": f"demo/of-{bench.agents[0]}"})
    _await_purges(bench)


def _await_purges(bench: Bench) -> None:
    def done() -> bool:
        bench.wake("purges.work")
        try:
            with bench.stage.database.own_rows.read() as session:
                found = session.driver.execute("SELECT count(*) FROM purges WHERE finished_at IS NULL").fetchone()
        except TierscopeError:
            return False
        return found == (0,)

    until(done, f"the purges are done: {bench.stage.worker.log_tail()}", seconds=_WORK_SECONDS)


def go_back(bench: Bench) -> None:
    """One server has the schema of the release before."""
    if bench.stage.node is None:
        downgrade(bench.stage.cluster.url(), "-1")
        return
    with bench.stage.database.other(bench.stage.node_url()).write() as own:
        drop_pieces(own)  # a schema does not change under these views
    downgrade(bench.stage.node_url(), "-1")


def migrate(bench: Bench) -> None:
    """All servers have the newest schema."""
    bench.command("migrate")


def is_current(bench: Bench) -> None:
    """They say so."""
    assert all(state.current for state in NodeChanges(bench.stage.database).list())


def move(bench: Bench) -> None:
    """A host goes to the other server."""
    (host,) = bench.subjects
    bench.command("nodes", "move", host, "--to", bench.move_to)


def choose_moved(bench: Bench) -> None:
    """The host that moves, and where it is not."""
    host = bench.senders.hosts[bench.agents[0]].id
    with bench.stage.database.own_rows.read() as session:
        here = session.driver.execute("SELECT count(*) FROM hosts WHERE public_id = %s", [host]).fetchone() == (1,)
    bench.subjects, bench.move_to = frozenset({host}), "n1" if here else "coordinator"


def has_one_owner(bench: Bench) -> None:
    """It stands on one server, and takes batches there."""
    (host,) = bench.subjects
    found = bench.on_each("SELECT moving_until FROM hosts WHERE public_id = %s", host)
    assert found == [(None,)], f"{host}: copies, and until when they are refused: {found}"


def change_partitions(bench: Bench) -> None:
    """Partitions are made ahead, and chunks leave that are packed."""
    with closing(Database(bench.stage.cluster.url())) as other:
        try:
            for _ in Nodes(other).on_each(lambda own: KeepPartitions(own, bench.now).run()):
                pass
        except TierscopeError as error:
            raise SaidFailedError(error.detail) from error


def stop_worker(bench: Bench) -> None:
    """Marks pile up."""
    bench.stage.worker.kill()
    bench.progress(20)


def pack(bench: Bench) -> None:
    """The worker closes the hours and the day of all that has come until now."""
    if bench.stage.worker.process is None:
        bench.stage.worker.start()
    _await_marks(bench)


def mark_all(bench: Bench) -> None:
    """All that is stored of the day that is over is to be rebuilt."""
    for own in bench.servers():
        with own.write() as transaction:
            rows = transaction.driver.execute(
                "SELECT host_id, array_agg(DISTINCT date_bin('10 minutes', ts - interval '1 us', 'epoch')) FROM"
                " (SELECT host_id, ts FROM counters_live UNION ALL SELECT host_id, ts FROM counters_packed) AS t"
                " WHERE ts < now() - interval '1 day' GROUP BY host_id"
            ).fetchall()
            for host_id, buckets in rows:
                append(transaction, COUNTERS.kind, host_id, 0, buckets)


def _await_marks(bench: Bench) -> None:
    """Waits until no mark stands that was due when it began."""
    due = due_table(utc_now())
    newest = bench.on_each("SELECT coalesce(max(id), 0) FROM public.marks")
    statement = (
        "SELECT count(*) FROM public.marks JOIN unnest(%s::text[], %s::timestamptz[]) AS due(kind, before) USING (kind)"
        " WHERE bucket < before AND id <= %s"
    )

    def gone() -> bool:
        try:
            return bench.on_each(statement, list(due), list(due.values()), max(newest)[0]) == [(0,)] * len(newest)
        except SaidFailedError:
            return False

    until(gone, f"the worker does what was due: {bench.stage.worker.log_tail()}", seconds=_WORK_SECONDS)


def let_live_rows_leave(bench: Bench) -> None:
    """What is packed stands in packs alone."""
    _await_marks(bench)
    change_partitions(bench)


def enrol_again(bench: Bench) -> None:
    """A host of the same name, from which its batches come from now on."""
    bench.senders.enrol(bench.agents[0])


def publish(bench: Bench) -> None:
    """Closed days as files."""
    if _publish(bench) > 0:
        bench.notes.append("files published")


def publish_the_rest(bench: Bench) -> None:
    """Once all is rebuilt and published, nothing is left to publish."""
    _await_marks(bench)
    _publish(bench)
    assert _publish(bench) == 0, "the same days were published again"


def _publish(bench: Bench) -> int:
    with closing(Database(bench.stage.cluster.url())) as other:
        work = PublishHistory(
            other, DirectoryStore(bench.stage.folder / "published"), bench.now, keep=timedelta(days=1000)
        )
        try:
            return work.run(full=True).made
        except TierscopeError as error:
            raise SaidFailedError(error.detail) from error


WORKS = (
    Work("backup", "backup", "command", 2.0, back_up, check=restore_the_copy),
    Work("restore", "restore", "command", 4.0, restore, prepare=back_up_and_go_on, ends="restore"),
    Work("purge-host", "purge of hosts", "worker", 1.0, purge_hosts, prepare=await_hosts, ends="purge"),
    Work("purge-service", "purge of a service", "worker", 0.8, purge_service, prepare=await_hosts),
    Work("migrate", "migration of the schema", "command", 2.0, migrate, prepare=go_back, check=is_current),
    Work("move", "move of a host", "command", 2.5, move, choose_moved, has_one_owner, several=True),
    Work("partitions", "partitions made and dropped", "call", 0.3, change_partitions),
    Work("packing", "packing of a day", "worker", 3.0, pack, prepare=stop_worker, check=let_live_rows_leave),
    Work("rebuild", "rebuild of a day", "worker", 2.0, pack, prepare=mark_all, check=let_live_rows_leave),
    Work("re-enrolment", "re-enrolment", "call", 0.1, enrol_again),
    Work("publishing", "days published", "call", 0.4, publish, check=publish_the_rest),
)
