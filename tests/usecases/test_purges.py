"""Removing a host or a service: nothing of it is left anywhere, nothing of others is touched, and a job goes on."""

import re
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import BigInteger, Table, insert, select, text

from factories import batches
from factories.derived import day_before, drain, send_counters
from factories.installations import Enrolled, enrol, store
from factories.populated import Populated, populate, populate_by_api
from factories.services import batch_headers, running
from fixtures.elsewhere import long, long_with_timescaledb
from fixtures.histories import Histories
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, NotFound, Unavailable, UnknownCredential, Unprocessable
from tierscope.core.settings import Settings
from tierscope.domain.heat.columns import unpack_columns
from tierscope.storage.heat.services import list_buckets, read_bodies
from tierscope.storage.ledger.services import read_since_midnight
from tierscope.storage.operate.purge_steps import KEPT, ChunkStep, RowStep, make_steps
from tierscope.storage.tables import metadata, silences
from tierscope.usecases.fleet.agents import Agents
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges

LONG = timedelta(minutes=10)
NAMES_A_SUBJECT = re.compile(r"host|service|subject|target_id|alert_id")
LEFT_ALONE = {
    "alert_acknowledgements.alert_id": "goes with its alert",
    "alert_changes.alert_id": "goes with its alert",
    "history_files.first_host": "the first of 64 numbers; a step waits for the files of a host",
    "capacity_groups.subject": "a group of hosts by SKU, rack or label",
    "sample_series.target_id": "goes with its target",
}
LEFT_ALONE_OF = {
    "host": {
        "capacity_days.subject": "a service, or a group of hosts",
        "capacity_forecasts.subject": "a service, or a group of hosts",
    },
    "service": {
        "marks.subject_id": "a host; the service stands beside it",
        "quality_1h.services_dropped": "a count",
        "samples_live.target_id": "a host",
        "samples_packed.target_id": "a host",
        "self_reports.services_dropped": "a count",
    },
}


def texts(database: Database, word: str) -> dict[str, int]:
    """Tables with rows in which a word stands, and how many; the trail and the jobs apart."""
    found = {}
    with database.read() as session:
        for table in metadata.sorted_tables:
            if table.name not in KEPT:
                statement = text(f"SELECT count(*) FROM {table.name} AS t WHERE strpos(CAST(t AS text), :word) > 0")
                count = session.execute(statement, {"word": word}).scalar_one()
                if count:
                    found[table.name] = count
    return found


def rows_by(database: Database, column: str, number: int) -> dict[str, int]:
    found = {}
    with database.read() as session:
        for table in metadata.sorted_tables:
            if column in table.columns:
                statement = text(f"SELECT count(*) FROM {table.name} WHERE {column} = :number")
                count = session.execute(statement, {"number": number}).scalar_one()
                if count:
                    found[table.name] = count
    return found


def number_of(database: Database, table: str, public_id: str) -> int:
    with database.read() as session:
        statement = text(f"SELECT id FROM {table} WHERE public_id = :id")
        return int(session.execute(statement, {"id": public_id}).scalar_one())


@pytest.mark.parametrize("kind", ["host", "service"])
def test_every_table_with_a_host_or_service_is_gone_through(kind: str) -> None:
    steps = make_steps("host" if kind == "host" else "service")
    statements = [step.statement() if isinstance(step, ChunkStep) else step.statement
                  for step in steps if isinstance(step, ChunkStep | RowStep)]  # fmt: skip

    def is_covered(table: Table, column: str) -> bool:
        pattern = re.compile(rf"(FROM|UPDATE) {table.name}\b.*\b{column}\b", re.DOTALL)
        return any(pattern.search(statement) for statement in statements)

    missing = []
    for table in metadata.sorted_tables:
        for column in table.columns:
            name = f"{table.name}.{column.name}"
            if (
                table.name in (*KEPT, f"{kind}s")
                or name in LEFT_ALONE | LEFT_ALONE_OF[kind]
                or not NAMES_A_SUBJECT.search(column.name)
            ):
                continue
            mine = kind in column.name or column.name in ("subject", "subject_id", "target_id", "alert_id")
            names_rows = isinstance(column.type, BigInteger) or column.name in ("subject", "subject_id")
            if mine and names_rows and not is_covered(table, column.name):
                missing.append(name)
    assert missing == [], "say in storage/operate/purge_steps.py how a purge removes these"


def fill(database: Database) -> tuple[Populated, list[Enrolled]]:
    """Two hosts with all kinds of data, one of each thing that people make, and a day that is all rolled up."""
    made = populate(database)
    with running(Settings(database_url=database.url)) as (_, client):
        populate_by_api(client, database, made)
    hosts = []
    for name in ("old-0", "old-1"):
        host = enrol(database, name=name)
        send_counters(database, host, day_before(), range(1, 200))
        hosts.append(host)
    drain(database)
    return made, hosts


@long_with_timescaledb
def test_a_purged_host_leaves_nothing_and_others_keep_everything(histories: Histories) -> None:
    database, (made, (old, kept_old)) = histories.copy(fill)
    gone, kept = made.ids["host_id"]
    number, kept_number = number_of(database, "hosts", gone), number_of(database, "hosts", kept)
    old_number = old.identity.id
    before = rows_by(database, "host_id", kept_number)
    assert {"counters_live", "heat_live", "quality_1h", "tier_moves", "heat"} <= rows_by(
        database, "host_id", number
    ).keys()
    purges = Purges(database)
    purge = purges.start("host", gone, confirm="node-0", actor="cli:test")
    purges.start("host", old.id, confirm="old-0", actor="cli:test")
    assert PurgeWork(Nodes(database), utc_now).run(at_most=LONG).finished == 2
    done = purges.read(purge.id)
    assert done.status == "done"
    assert done.progress_ratio == 1.0
    assert done.error is None
    report = {line.table: line.rows for line in done.report}
    assert report["hosts"] == 1
    assert report["counters_live"] > 0 < report["heat"]
    assert rows_by(database, "host_id", number) == {}
    assert texts(database, gone) == {}
    assert texts(database, old.id) == {}
    assert rows_by(database, "host_id", kept_number) == before
    with pytest.raises(NotFound):
        purges.start("host", gone, confirm="node-0", actor="cli:test")
    with database.read() as session:
        told = session.execute(text("SELECT count(*) FROM audit WHERE subject = :id"), {"id": gone}).scalar_one()
        assert told >= 2
        service = number_of(database, "services", made.ids["service_id"][0])
        for table in ("service_heat_1h", "service_heat_1d"):
            for bucket in list_buckets(session, table, service, day_before(), utc_now()):
                packs = read_bodies(session, table, service, [bucket], with_counts=True)
                assert number not in unpack_columns(packs, bucket.method).host_ids
        starts = session.execute(text("SELECT service_id, ts, n_hosts FROM service_moves_1h ORDER BY ts")).all()
        assert starts
        for row in starts:
            state = read_since_midnight(session, row.service_id, [row.ts])[row.ts]
            assert old_number not in state.host_ids
            assert kept_old.identity.id in state.host_ids or row.ts > day_before().replace(hour=23)


@long_with_timescaledb
def test_a_purged_service_leaves_nothing_and_is_found_anew_where_it_runs(histories: Histories) -> None:
    database, (made, _) = histories.copy(fill)
    gone = made.ids["service_id"][0]
    number = number_of(database, "services", gone)
    host = enrol(database, name="late")
    with running(Settings(database_url=database.url)) as (_, client):
        send_full_batch(client, host, 0)
        purges = Purges(database)
        name = client.get(f"/v1/services/{gone}", headers={"Authorization": f"Bearer {made.token}"}).json()
        confirm = f"{name['summary']['namespace']}/{name['summary']['name']}"
        asked = [f"/v1/services/{gone}/{path}?from=-20d" for path in ("curve", "stability", "sensitivity")]
        client.headers["Authorization"] = f"Bearer {made.token}"
        assert {client.get(path).status_code for path in asked} == {200}
        purge = purges.start("service", gone, confirm=confirm, actor="cli:test")
        PurgeWork(Nodes(database), utc_now).run(at_most=LONG)
        assert purges.read(purge.id).status == "done"
        assert rows_by(database, "service_id", number) == {}
        assert texts(database, gone) == {}
        assert {client.get(path).status_code for path in asked} == {404}  # of long windows, which are kept for a while
        del client.headers["Authorization"]
        send_full_batch(client, host, 1)
    with database.read() as session:
        statement = text("SELECT id FROM services WHERE namespace || '/' || name = :name")
        again = session.execute(statement, {"name": confirm}).scalars().all()
    assert again
    assert number not in again
    assert rows_by(database, "service_id", number) == {}


def send_full_batch(client: httpx.Client, host: Enrolled, seq: int) -> None:
    """A batch with every kind of data over the wire."""
    body = batches.compress(batches.full_batch(host_id=host.id, seq=seq))
    answer = client.post("/v1/ingest/batches", content=body, headers=batch_headers(host.credential))
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_host_that_is_to_be_purged_sends_in_vain(database: Database) -> None:
    host = enrol(database)
    store(database, host, [batches.full_batch(host_id=host.id)])
    Purges(database).start("host", host.id, confirm="node-1", actor="test")
    (refused,) = store(database, host, [batches.full_batch(host_id=host.id, seq=1)])
    assert isinstance(refused, UnknownCredential)
    with pytest.raises(UnknownCredential):
        Agents(database).authenticate(host.credential)
    PurgeWork(Nodes(database), utc_now).run(at_most=LONG)
    (refused,) = store(database, host, [batches.full_batch(host_id=host.id, seq=1)])
    assert isinstance(refused, UnknownCredential)
    assert rows_by(database, "host_id", host.identity.id) == {}


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_run_does_not_wait_for_a_clock_that_was_set_back(database: Database) -> None:
    host = enrol(database)
    store(database, host, [batches.full_batch(host_id=host.id)])
    Purges(database).start("host", host.id, confirm="node-1", actor="test")
    ahead = iter([timedelta(hours=26)])
    work = PurgeWork(Nodes(database), lambda: utc_now() + next(ahead, timedelta()))
    assert work.run(at_most=LONG).finished == 0, "its time is up; else it would go on for 26 hours"
    assert work.run(at_most=LONG).finished == 1


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_service_that_goes_while_its_batch_is_stored_is_no_fault(database: Database) -> None:
    host = enrol(database)
    with database.write() as transaction:
        transaction.execute(
            text(
                "CREATE FUNCTION purge_meanwhile() RETURNS trigger LANGUAGE plpgsql AS"
                " 'BEGIN DELETE FROM services WHERE id = NEW.service_id; RETURN NEW; END'"
            )
        )
        transaction.execute(
            text("CREATE TRIGGER purge BEFORE INSERT ON host_services FOR EACH ROW EXECUTE FUNCTION purge_meanwhile()")
        )
    with pytest.raises(Unavailable, match="just been removed") as refused:
        store(database, host, [batches.full_batch(host_id=host.id)])
    assert refused.value.retry_after_seconds
    with database.write() as transaction:
        transaction.execute(text("DROP TRIGGER purge ON host_services"))
    (stored,) = store(database, host, [batches.full_batch(host_id=host.id)])
    assert not isinstance(stored, Exception)


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_silence_of_the_host_no_longer_names_it(database: Database) -> None:
    host = enrol(database, name="node-0")
    named = [{"name": "host", "op": "=", "value": "node-0"}, {"name": "host", "op": "=", "value": "node-1"}]
    now = utc_now()
    with database.write() as transaction:
        stored = {"public_id": "s1", "matchers": named, "starts_at": now, "ends_at": now, "created_by": "test"}
        transaction.execute(insert(silences).values(stored))
    Purges(database).start("host", host.id, confirm="node-0", actor="cli:test")
    assert PurgeWork(Nodes(database), utc_now).run(at_most=LONG).finished == 1
    with database.read() as session:
        (matchers,) = session.execute(select(silences.c.matchers)).scalars()
    assert [one["value"] for one in matchers] == ["purged", "node-1"]


def test_a_purge_is_confirmed_by_name_and_asked_for_once(database: Database) -> None:
    host = enrol(database)
    purges = Purges(database)
    with pytest.raises(Unprocessable, match="node-2"):
        purges.start("host", host.id, confirm="node-2", actor="test")
    purges.start("host", host.id, confirm="node-1", actor="test")
    with pytest.raises(Conflict):
        purges.start("host", host.id, confirm="node-1", actor="test")
    with pytest.raises(NotFound):
        purges.start("service", host.id, confirm="node-1", actor="test")
    with pytest.raises(NotFound):
        purges.read("p0")


@long
@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_job_that_is_cut_off_at_any_step_goes_on_and_counts_each_row_once(database: Database) -> None:
    hosts = [enrol(database, name=name) for name in ("one", "two")]
    for host in hosts:
        send_counters(database, host, day_before(), range(1, 100))
        store(database, host, [batches.full_batch(host_id=host.id, seq=1)])
    drain(database)
    purges = Purges(database)
    whole, parts = (purges.start("host", host.id, confirm=host.identity.name, actor="test") for host in hosts)
    PurgeWork(Nodes(database), utc_now).run(at_most=LONG)
    reports = [purges.read(purge.id).report for purge in (whole, parts)]
    again = enrol(database, name="three")
    send_counters(database, again, day_before(), range(1, 100))
    store(database, again, [batches.full_batch(host_id=again.id, seq=1)])
    drain(database)
    cut = purges.start("host", again.id, confirm="three", actor="test")
    runs = 0
    while purges.read(cut.id).status != "done":
        assert runs < 1000
        runs += 1
        with pytest.raises(ConnectionAbortedError):
            CutOff(Nodes(database), utc_now).run()
    assert runs > 20
    assert [line for line in purges.read(cut.id).report if line.table != "marks"] == [
        line for line in reports[1] if line.table != "marks"
    ]


class CutOff(PurgeWork):
    """A worker that ends after one part, as one that is killed does."""

    def _next_part(self) -> tuple[int, bool] | None:
        super()._next_part()
        raise ConnectionAbortedError
