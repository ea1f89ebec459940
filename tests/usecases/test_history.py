"""Published history: closed days as Parquet that other engines read, and nothing there that the service has not."""

import io
import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from pyarrow import parquet
from sqlalchemy import text

from architecture.tree import ROOT
from factories import batches
from factories.derived import day_before, drain, internal_id, leave, send_counters, to_ns
from factories.installations import Enrolled, enrol, store
from factories.object_stores import empty_bucket, s3_history, s3_server
from factories.ratio_services import add_day_of_heat
from factories.services import running
from fixtures.environments import install_there, make_environment
from fixtures.histories import Histories
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Unavailable
from tierscope.core.objects.directory import DirectoryStore
from tierscope.core.objects.open import open_history
from tierscope.core.objects.store import FoundObject, ObjectStore, checksum
from tierscope.core.settings import History, Settings
from tierscope.domain.ingest.arrival import Clocks
from tierscope.domain.ledger import COLUMN_KEYS
from tierscope.domain.operate.history import HISTORY
from tierscope.storage.objects.history import try_history_lock
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.operate.history import ANEW_AFTER, CLOCKS, Published, PublishHistory, stop_publishing
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges

DAY = timedelta(days=1)
KEEP = timedelta(days=1095)
MINUTES = range(10, 1441, 10)
ENGINES = ROOT / "lab" / "bench" / "engines.py"
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Two hosts with a whole day of counters and heat, that one of them continues into the next."""

    hosts: tuple[Enrolled, Enrolled]
    token: str


def fill(database: Database) -> Fleet:
    day = day_before()
    hosts = (enrol(database, name="node-0"), enrol(database, name="node-1"))
    for number, host in enumerate(hosts):
        send_counters(database, host, day, MINUTES)
        heat = batches.make_batch(host_id=host.id, seq=1, sealed_wall_ns=to_ns(day + DAY))
        add_day_of_heat(heat, to_ns(day + DAY), range(24), hot_gib=10.0 + number)
        assert store(database, host, [heat], clocks=Clocks(to_ns(day + DAY), None, None))
    send_counters(database, hosts[0], day, range(1441, 1500), seq=2)
    drain(database)
    token = Access(database).create_api_token(role="viewer", note="", lifetime=None, actor="test").secret
    return Fleet(hosts, token)


@pytest.fixture
def fleet(histories: Histories) -> tuple[Database, Fleet]:
    return histories.copy(fill)


@pytest.fixture(scope="module")
def s3_address() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def objects(folder: Path) -> ObjectStore:
    return opened(Settings(history=History(store="directory", directory=folder)))


def opened(settings: Settings) -> ObjectStore:
    found = open_history(settings)
    assert found is not None
    return found


def both_over() -> datetime:
    """A moment at which both days of the fleet are over and are taken: the next midnight."""
    return day_before() + 3 * DAY


def publish(
    database: Database,
    objects: ObjectStore,
    *,
    at: datetime | None = None,
    full: bool = False,
    keep: timedelta = KEEP,
) -> Published:
    return PublishHistory(database, objects, lambda: at or both_over(), keep=keep).run(
        full=full, at_most=timedelta(minutes=10)
    )


def keys(objects: ObjectStore) -> list[str]:
    return [found.key for found in objects.list("") if found.key.endswith(".parquet")]


def key_of(kind: str, day: datetime) -> str:
    return f"{kind}/day={day:%Y-%m-%d}/hosts-0.parquet"


def rows(objects: ObjectStore, kind: str, day: datetime) -> list[dict[str, Any]]:
    told = json.loads(read(objects, f"manifests/{kind}.json"))
    path = key_of(kind, day)
    digests = {file["path"]: file["sha256"] for file in told["files"]}
    found: list[dict[str, Any]] = parquet.read_table(io.BytesIO(objects.get(path, digests[path]))).to_pylist()
    return found


def read(objects: ObjectStore, key: str) -> bytes:
    """A file, whatever its checksum."""
    assert isinstance(objects, DirectoryStore)
    return (objects._root / key).read_bytes()


def ask(query: str) -> tuple[Any, ...]:
    """The one row that DuckDB answers."""
    with duckdb.connect() as connection:
        return connection.execute(query).fetchall()[0]


def test_days_are_published_once_they_are_over(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, made = fleet
    done = publish(database, objects)
    days = (day_before(), day_before() + DAY)
    assert keys(objects) == sorted(
        [key_of(kind, days[0]) for kind in HISTORY] + [key_of(kind, days[1]) for kind in ("counters", "tier_moves")]
    )
    assert done.made == len(keys(objects))
    for kind, columns in HISTORY.items():
        told = json.loads(read(objects, f"manifests/{kind}.json"))
        assert [one["name"] for one in told["columns"]] == [one.name for one in columns]
        for file in told["files"]:
            table = parquet.read_table(io.BytesIO(objects.get(file["path"], file["sha256"])))
            assert (table.num_rows, table.column_names) == (file["rows"], [one.name for one in columns])
    assert {row["host_id"] for row in rows(objects, "tier_moves", days[0])} == {host.id for host in made.hosts}
    again = publish(database, objects)
    assert (again.made, again.same) == (0, 0)
    assert publish(database, objects, full=True).made == 0


def test_the_running_day_waits(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, _ = fleet
    publish(database, objects, at=day_before() + DAY + timedelta(hours=2))
    assert key_of("tier_moves", day_before()) not in keys(objects)
    publish(database, objects, at=day_before() + DAY + timedelta(hours=4))
    assert key_of("tier_moves", day_before()) in keys(objects)
    assert key_of("tier_moves", day_before() + DAY) not in keys(objects)


def test_absent_is_null_and_never_zero(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, _ = fleet
    publish(database, objects)
    found = rows(objects, "tier_moves", day_before())
    assert {row["swap_out_pages"] for row in found} == {None}, "nobody sent it"
    assert {row["service"] for row in found} == {None}, "whole hosts"
    assert any(row["demoted_pages"] for row in found)
    assert all(row["interval_end"] > day_before() for row in found)
    assert max(row["interval_end"] for row in found) == day_before() + DAY, "midnight is of the day that it ends"


def test_other_engines_add_up_what_the_api_says(
    fleet: tuple[Database, Fleet], objects: ObjectStore, folder: Path
) -> None:
    database, made = fleet
    publish(database, objects)
    day = day_before()
    window = {"from": day.isoformat(), "to": (day + DAY).isoformat()}
    with running(Settings(database_url=database.url)) as (_, client):
        client.headers["Authorization"] = f"Bearer {made.token}"
        host = made.hosts[0].id
        ledger = client.get(f"/v1/hosts/{host}/ledger", params={**window, "max_points": 2000}).json()
        service = client.get("/v1/services").json()["items"][0]["id"]
        heat = client.get(f"/v1/services/{service}/heat", params=window).json()
    moves, hours, counters = (
        str(folder / kind / "**" / "*.parquet") for kind in ("tier_moves", "service_heat", "counters")
    )
    where = f"day = '{day:%Y-%m-%d}'"
    said = {one["key"]: one["total"]["value"] for one in ledger["columns"] if one["total"]["status"] == "ok"}
    names = sorted(said.keys() & {"promoted_pages", "demoted_pages"})
    assert len(names) == 2
    sums = ", ".join(f"sum({name})::BIGINT" for name in names)
    duck = ask(f"SELECT {sums} FROM read_parquet('{moves}') WHERE {where} AND host_id = '{host}'")
    assert duck == tuple(said[name] for name in names)
    frame = pl.scan_parquet(moves, hive_partitioning=True).filter(
        pl.col("day") == day.date(), pl.col("host_id") == host
    )
    assert frame.select(pl.col(names).sum()).collect().row(0) == duck
    counted = ask(
        f"SELECT sum(\"sum\") FROM read_parquet('{counters}') WHERE {where} AND host_id = '{host}'"
        " AND counter = 'host|vmstat|pgpromote_success'"
    )
    assert counted == (said["promoted_pages"],)
    classes = {one["heat_class"]: one["bytes"]["value"] for one in heat["classes"]}
    by_class = (
        "SELECT sum(hot_bytes) / 24, sum(cold_bytes) / 24, sum(resident_bytes) / 24"
        f" FROM read_parquet('{hours}') WHERE {where}"
    )
    hot, cold, resident = ask(by_class)
    assert (hot, cold) == pytest.approx((classes["hot"], classes["cold"]), rel=1e-4)
    assert resident == pytest.approx(sum(classes.values()), rel=1e-4)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the engines of the lock."""
    python = make_environment(tmp_path_factory.mktemp("engines") / "environment")
    install_there(python, "--require-hashes", "-r", ENGINES.with_suffix(".lock"))
    return python


@pytest.mark.elsewhere("make nightly")  # it installs half a gigabyte
def test_four_engines_add_up_what_the_api_says(
    fleet: tuple[Database, Fleet], objects: ObjectStore, folder: Path, engines: Path
) -> None:
    database, made = fleet
    publish(database, objects)
    window = {"from": day_before().isoformat(), "to": (day_before() + 2 * DAY).isoformat(), "max_points": "2000"}
    pages = 0
    with running(Settings(database_url=database.url)) as (_, client):
        client.headers["Authorization"] = f"Bearer {made.token}"
        for host in made.hosts:
            ledger = client.get(f"/v1/hosts/{host.id}/ledger", params=window).json()
            pages += next(one["total"]["value"] for one in ledger["columns"] if one["key"] == "promoted_pages")
    files = json.loads(read(objects, "manifests/tier_moves.json"))["files"]
    said = f"{sum(file['rows'] for file in files)} rows, {pages:.0f} pages promoted, {len(made.hosts)} hosts"
    done = subprocess.run([engines, ENGINES, folder], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    answers = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    asked = {name: answer.rsplit(", ", 1)[0] for name, answer in answers.items() if answer != "no Java"}
    assert asked == dict.fromkeys(asked, said)
    assert asked.keys() | {"pyspark"} == {"chdb", "duckdb", "polars", "pyspark"}
    if "pyspark" not in asked:
        pytest.skip("there is no Java for Spark; the other three engines agree")


def test_late_data_is_published_anew_once_a_day(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, made = fleet
    host = made.hosts[1]
    first = both_over()
    publish(database, objects, at=first)
    day = day_before() + DAY
    before = len(rows(objects, "tier_moves", day))
    send_counters(database, host, day, range(1, 61), seq=2)
    drain(database)
    assert publish(database, objects, at=first + timedelta(hours=1)).made == 0
    assert publish(database, objects, at=first + ANEW_AFTER).made == 2
    found = rows(objects, "tier_moves", day)
    assert len([row for row in found if row["host_id"] == host.id]) == 60
    assert len(found) == before + 60
    assert publish(database, objects, at=first + 2 * ANEW_AFTER).made == 0


def test_a_day_that_changes_while_it_is_read_is_made_again(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, made = fleet
    store_late = iter([True])

    class Late:
        """A store that data comes behind, once."""

        def put(self, key: str, body: bytes) -> None:
            if next(store_late, False):
                send_counters(database, made.hosts[1], day_before() + DAY, range(1, 61), seq=2)
                drain(database)
            objects.put(key, body)

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
            return getattr(objects, name)

    late: Any = Late()
    first = utc_now()
    publish(database, late, at=first)
    publish(database, objects, at=first + ANEW_AFTER)
    found = rows(objects, "tier_moves", day_before() + DAY)
    assert len([row for row in found if row["host_id"] == made.hosts[1].id]) == 60


def test_a_purged_host_leaves_all_files_those_too_that_the_database_has_no_rows_of(
    fleet: tuple[Database, Fleet], objects: ObjectStore
) -> None:
    database, made = fleet
    publish(database, objects)
    gone, stays = made.hosts[1], made.hosts[0]
    years = utc_now() + timedelta(days=500)
    kept = [row for row in rows(objects, "service_heat", day_before()) if row["host_id"] == stays.id]
    Purges(database).start("host", gone.id, confirm="node-1", actor="test")
    work = PurgeWork(Nodes(database), utc_now)
    assert work.run(at_most=timedelta(minutes=5)).finished == 0, "it waits for the files"
    publish(database, objects, at=years)
    assert work.run(at_most=timedelta(minutes=5)).finished == 1
    for kind in HISTORY:
        assert {row["host_id"] for row in rows(objects, kind, day_before())} == {stays.id}
    assert rows(objects, "service_heat", day_before()) == kept
    assert not [key for key in keys(objects) if gone.id.encode() in read(objects, key)]


def test_a_purged_service_leaves_and_a_file_without_rows_goes(
    fleet: tuple[Database, Fleet], objects: ObjectStore
) -> None:
    database, _ = fleet
    publish(database, objects)
    with database.read() as session:
        service = session.execute(text("SELECT public_id FROM services")).scalar_one()
    Purges(database).start("service", service, confirm="demo/cache", actor="test")
    work = PurgeWork(Nodes(database), utc_now)
    work.run(at_most=timedelta(minutes=5))
    publish(database, objects)
    assert work.run(at_most=timedelta(minutes=5)).finished == 1
    assert not [key for key in keys(objects) if key.startswith("service_heat")]
    assert rows(objects, "tier_moves", day_before())


def test_days_stay_published_for_longer_than_the_database_has_them(
    fleet: tuple[Database, Fleet], objects: ObjectStore
) -> None:
    database, _ = fleet
    publish(database, objects)
    before = {key: read(objects, key) for key in keys(objects)}
    later = both_over() + timedelta(days=60)
    leave(database)
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM tier_moves"))
        transaction.execute(text("UPDATE history_files SET changes = changes + 1"))
    publish(database, objects, at=later, full=True, keep=timedelta(days=400))
    assert {key: body for key, body in before.items() if key.startswith("tier_moves")} == {
        key: read(objects, key) for key in keys(objects) if key.startswith("tier_moves")
    }
    done = publish(database, objects, at=later, full=True, keep=timedelta(days=30))
    assert done.removed == len(before)
    assert keys(objects) == []
    assert json.loads(read(objects, "manifests/tier_moves.json"))["files"] == []


def test_what_a_restored_database_does_not_list_is_not_left(
    fleet: tuple[Database, Fleet], objects: ObjectStore
) -> None:
    """The database goes back to before the last files; one of them is another's, and one was never listed."""
    database, _ = fleet
    publish(database, objects)
    right = {key: read(objects, key) for key in keys(objects)}
    changed, stray = key_of("tier_moves", day_before()), key_of("counters", day_before() - 9 * DAY)
    objects.put(changed, right[key_of("counters", day_before())])
    objects.put(stray, right[changed])
    objects.delete([key_of("service_heat", day_before())])
    assert publish(database, objects, full=True).made == 2
    assert {key: read(objects, key) for key in keys(objects)} == right
    assert publish(database, objects, full=True).made == 0


def test_a_file_of_the_same_size_that_was_put_later_is_made_again(
    fleet: tuple[Database, Fleet], objects: ObjectStore
) -> None:
    database, _ = fleet
    publish(database, objects)
    key = key_of("tier_moves", day_before())
    right = read(objects, key)
    objects.put(key, right[:-1] + b"x")

    class Later:
        def list(self, prefix: str) -> Iterator[FoundObject]:
            for found in objects.list(prefix):
                at = both_over() + (2 * CLOCKS if found.key == key else timedelta())
                yield FoundObject(found.key, found.size_bytes, at)

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
            return getattr(objects, name)

    later: Any = Later()
    assert publish(database, later, full=True).made == 1
    assert read(objects, key) == right


def test_a_run_that_is_cut_off_is_done_again(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, _ = fleet

    class Away:
        """A store that is gone after the first file, which it has."""

        def put(self, key: str, body: bytes) -> None:
            objects.put(key, body)
            raise Unavailable("gone")

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
            return getattr(objects, name)

    away: Any = Away()
    with pytest.raises(Unavailable):
        publish(database, away)
    assert len(keys(objects)) == 1
    publish(database, objects)
    assert len(rows(objects, "tier_moves", day_before())) == 2 * (len(MINUTES) - 1)
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM history_files WHERE changes > built_changes")).scalar() == 0


def test_nothing_is_published_while_another_worker_does(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, _ = fleet
    with closing(Database(database.url)) as other, other.write() as holding:
        assert try_history_lock(holding)
        assert publish(database, objects).made == 0


def test_switched_off_files_are_left_and_on_again_made_anew(
    fleet: tuple[Database, Fleet], objects: ObjectStore
) -> None:
    database, made = fleet
    publish(database, objects)
    before = {key: read(objects, key) for key in keys(objects)}
    assert stop_publishing(database) > 0
    assert sorted(before) == keys(objects)
    host = internal_id(database, made.hosts[0])
    with database.read() as session:
        assert (
            session.execute(text("SELECT count(*) FROM history_files WHERE :n = ANY(hosts)"), {"n": host}).scalar() == 0
        )
    publish(database, objects, full=True)
    assert {key: read(objects, key) for key in keys(objects)} == before


def test_a_bucket_has_the_same_files(fleet: tuple[Database, Fleet], objects: ObjectStore, s3_address: str) -> None:
    database, _ = fleet
    publish(database, objects)
    empty_bucket(s3_address)
    bucket = opened(s3_history(s3_address))
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM history_files"))
    publish(database, bucket)
    assert keys(bucket) == keys(objects)
    for key in keys(objects):
        assert bucket.get(key, checksum(read(objects, key))) == read(objects, key)


def test_a_files_columns_are_of_their_types(fleet: tuple[Database, Fleet], objects: ObjectStore) -> None:
    database, _ = fleet
    publish(database, objects)
    schema = parquet.read_schema(io.BytesIO(read(objects, key_of("tier_moves", day_before()))))
    assert str(schema.field("interval_end").type) == "timestamp[us, tz=UTC]"
    assert {str(schema.field(name).type) for name in COLUMN_KEYS} == {"int64"}
    assert str(schema.field("host").type) == "string"
    units = json.loads(schema.metadata[b"units"])
    assert units["promoted_pages"] == "pages"
    assert np.all([name in units for name in COLUMN_KEYS])
