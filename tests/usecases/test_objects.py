"""The object store: bodies move out of rows and read as before; what breaks off loses nothing and leaves nothing."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from sqlalchemy import text

from factories import batches
from factories.derived import drain, internal_id, to_ns
from factories.installations import Enrolled, enrol, store
from factories.loopback import LOOPBACK, free_port
from factories.object_stores import empty_bucket, s3_server, s3_settings
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import ObjectMissing, OutgoingRefused, Unavailable
from tierscope.core.objects.directory import DirectoryStore
from tierscope.core.objects.open import open_store
from tierscope.core.objects.store import ObjectStore
from tierscope.core.settings import Objects, Outgoing, Settings
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.storage.curve.page_samples import list_samples, read_samples
from tierscope.storage.tiles.rows import StoredTile, read_tiles
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.objects.mover import PUT_WITHIN, MoveObjects, sweep
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges
from tierscope.usecases.operate.retention import KeepPartitions

HOUR = timedelta(hours=1)
EPOCH = 7
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def start_of_data() -> datetime:
    """The hour that began three hours ago."""
    return utc_now().replace(minute=0, second=0, microsecond=0) - 3 * HOUR


@pytest.fixture(scope="module")
def s3_address() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture(params=["directory", "s3"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "directory":
        return Settings(objects=Objects(store="directory", directory=tmp_path / "objects"))
    address = request.getfixturevalue("s3_address")
    empty_bucket(address)
    return s3_settings(address)


@pytest.fixture
def objects(settings: Settings) -> ObjectStore:
    opened = open_store(settings)
    assert opened is not None
    return opened


@pytest.fixture
def database(database_url: str, objects: ObjectStore) -> Iterator[Database]:
    with closing(Database(database_url, objects=objects)) as opened:
        yield opened


@pytest.fixture
def host(database: Database) -> Enrolled:
    """A host with two hours of tiles and page samples that are over."""
    made = enrol(database)
    send(database, made, hours=2)
    drain(database)
    return made


def send(database: Database, host: Enrolled, *, hours: int, first: int = 0, seq: int = 0) -> None:
    """Two blocks of samples and six columns of tiles in each hour."""
    for hour in range(first, first + hours):
        for minute in range(10, 70, 10):
            end = to_ns(start_of_data() + hour * HOUR + timedelta(minutes=minute))
            batch = batches.make_batch(host_id=host.id, seq=seq + hour * 6 + minute // 10 - 1, sealed_wall_ns=end)
            batches.add_tiles(batch, epoch_id=EPOCH, rows=minute % 7 + 3 if minute == 70 else 4)
            if minute in (20, 60):
                batches.add_page_sample(batch, pages=3 + hour, intervals=2)
            batches.add_inventory(batch)
            assert store(database, host, [batch])


def mover(database: Database, objects: ObjectStore, *, clock: Clock = utc_now) -> MoveObjects:
    return MoveObjects(database, objects, clock)


def everything(database: Database, host: Enrolled) -> tuple[list[tuple[object, ...]], list[StoredTile]]:
    """All page samples and tiles as readers see them."""
    host_id = internal_id(database, host)
    with database.read() as session:
        service = int(session.execute(text("SELECT id FROM services")).scalar_one())
        span = (start_of_data() - HOUR, utc_now())
        heads = list_samples(session, service, *span, [host_id])
        samples = sorted((head.end_us, *_plain(pages)) for head, pages in read_samples(session, service, heads))
        tiles = [tile for level in range(3) for tile in read_tiles(session, host_id, service, EPOCH, level, *span)]
    return samples, tiles


def _plain(pages: SampledPages) -> tuple[object, ...]:
    return tuple(np.asarray(getattr(pages, name)).tolist() for name in SampledPages.__slots__)


def keys(objects: ObjectStore) -> list[str]:
    return [found.key for found in objects.list("")]


def held(database: Database) -> int:
    statement = "SELECT count(*) FROM {} WHERE object_key IS NULL"
    with database.read() as session:
        return sum(int(session.execute(text(statement.format(name))).scalar_one()) for name in ("traces", "tiles"))


def test_bodies_move_and_read_as_before(database: Database, objects: ObjectStore, host: Enrolled) -> None:
    before = everything(database, host)
    assert (len(before[0]), len(before[1])) == (4, 6)
    moved = mover(database, objects).run()
    assert (moved.objects, held(database)) == (4, 0)
    assert everything(database, host) == before
    with database.read() as session:
        bodies = "SELECT sum(length(body)) FROM traces UNION ALL SELECT sum(length(cells) + length(known)) FROM tiles"
        assert session.execute(text(bodies)).scalars().all() == [0, 0]
    assert mover(database, objects).run(full=True).objects == 0


def test_a_late_block_gets_an_object_of_its_own(database: Database, objects: ObjectStore, host: Enrolled) -> None:
    mover(database, objects).run()
    late = batches.make_batch(host_id=host.id, seq=40, sealed_wall_ns=to_ns(start_of_data() + timedelta(minutes=31)))
    batches.add_page_sample(late, pages=9)
    assert store(database, host, [late])
    before = everything(database, host)
    assert mover(database, objects).run().objects == 1
    assert everything(database, host) == before


def test_others_can_read_the_files(database: Database, objects: ObjectStore, host: Enrolled) -> None:
    mover(database, objects).run()
    first = next(key for key in keys(objects) if key.startswith("traces/"))
    assert first.startswith(f"traces/day={start_of_data():%Y-%m-%d}/service=")
    assert f"/host={host.id}/{start_of_data():%H}-" in first
    table = parquet.read_table(io.BytesIO(objects.get(first)))
    assert table.num_rows == 2 * 3 * 2
    assert set(table["kind"].to_pylist()) == {"anon"}
    assert max(table["at"].to_pylist()) == start_of_data() + HOUR
    assert table["loads"].to_pylist() == [1] * 12


class _Killer:
    """A store that ends this process once an object is put."""

    def __init__(self, inner: ObjectStore) -> None:
        self._inner = inner

    def put(self, key: str, body: bytes) -> None:
        self._inner.put(key, body)
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_kill_between_put_and_commit_loses_nothing(
    database: Database, database_url: str, objects: ObjectStore, settings: Settings, host: Enrolled
) -> None:
    before = everything(database, host)
    script = (
        "import sys; from datetime import datetime; from tierscope.core.database import Database;"
        "from tierscope.core.objects.open import open_store; from tierscope.core.settings import Settings;"
        "from tierscope.usecases.objects.mover import MoveObjects; from test_objects import _Killer;"
        "store = open_store(Settings.model_validate_json(sys.argv[2]));"
        "MoveObjects(Database(sys.argv[1], objects=store), _Killer(store),"
        " lambda: datetime.fromisoformat(sys.argv[3])).run()"
    )
    told = settings.model_dump(mode="json", exclude_unset=True)
    if settings.objects.store == "s3":
        told["objects"] |= {"access_key_id": "key", "secret_access_key": "secret"}
    killed = subprocess.run(
        [sys.executable, "-c", script, database_url, json.dumps(told), utc_now().isoformat()],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["tests/usecases", *sys.path])},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(keys(objects)) == 1
    assert everything(database, host) == before
    assert mover(database, objects).run().objects == 4
    assert len(keys(objects)) == 4
    assert everything(database, host) == before


def test_an_object_that_was_put_for_nothing_is_deleted(
    database: Database, objects: ObjectStore, host: Enrolled
) -> None:
    class Answerless:
        """A store that takes an object and does not say so."""

        def put(self, key: str, body: bytes) -> None:
            objects.put(key, body)
            raise Unavailable("no answer")

    with pytest.raises(Unavailable):
        MoveObjects(database, Answerless(), utc_now).run()  # type: ignore[arg-type]
    send(database, host, hours=1, seq=100)
    drain(database)
    mover(database, objects).run()
    stray = len(keys(objects))
    later = mover(database, objects, clock=lambda: utc_now() + 2 * PUT_WITHIN).run()
    with database.read() as session:
        listed = set(session.execute(text("SELECT key FROM objects")).scalars())
    assert set(keys(objects)) == listed
    assert later.deleted == stray - len(listed)


def test_a_store_that_is_down_stops_nothing_else(database_url: str, tmp_path: Path) -> None:
    down = open_store(s3_settings(f"http://{LOOPBACK}:{free_port()}"))
    assert down is not None
    with closing(Database(database_url, objects=down)) as database:
        host = enrol(database)
        send(database, host, hours=2)
        drain(database)
        before = everything(database, host)
        with pytest.raises(Unavailable, match="cannot be reached") as refused:
            mover(database, down).run()
        assert refused.value.retry_after_seconds
        send(database, host, hours=1, first=2)
        assert everything(database, host)[0][: len(before[0])] == before[0]
        up = DirectoryStore(tmp_path)
        mover(database, up).run()
        with pytest.raises(Unavailable) as unread:
            everything(database, host)
        assert unread.value.retry_after_seconds


def test_a_damaged_object_is_not_read(
    database: Database, settings: Settings, objects: ObjectStore, host: Enrolled
) -> None:
    if settings.objects.store != "directory":
        pytest.skip("damage is done to files")
    mover(database, objects).run()
    assert settings.objects.directory is not None
    path = settings.objects.directory / keys(objects)[0]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(ObjectMissing, match="damaged"):
        everything(database, host)


@pytest.mark.usefixtures("host")
def test_objects_go_with_their_rows(database: Database, objects: ObjectStore) -> None:
    mover(database, objects).run()
    later = utc_now() + timedelta(days=20)
    KeepPartitions(database, lambda: later).run()
    assert mover(database, objects, clock=lambda: later).run().deleted == 4
    assert keys(objects) == []


def test_a_purge_is_done_once_its_objects_are_deleted(database: Database, objects: ObjectStore, host: Enrolled) -> None:
    mover(database, objects).run()
    purge = Purges(database).start("host", host.id, confirm="node-1", actor="test")
    assert PurgeWork(Nodes(database), utc_now).run(at_most=timedelta(minutes=10)).finished == 0
    assert Purges(database).read(purge.id).status == "running"
    mover(database, objects).run()
    assert keys(objects) == []
    assert PurgeWork(Nodes(database), utc_now).run(at_most=timedelta(minutes=10)).finished == 1


@pytest.mark.usefixtures("host")
def test_what_lies_there_unlisted_is_swept(database: Database, objects: ObjectStore) -> None:
    mover(database, objects).run()
    kept = keys(objects)
    day = f"{start_of_data():%Y-%m-%d}"
    objects.put(f"traces/day={day}/service=s/host=h/00-strange.parquet", b"of a database that was restored")
    assert sweep([database], objects, "traces", start_of_data()) == 1
    assert keys(objects) == kept


def test_bodies_come_back(database: Database, objects: ObjectStore, host: Enrolled) -> None:
    before = everything(database, host)
    mover(database, objects).run()
    assert mover(database, objects).bring_back() == 4
    assert (held(database), keys(objects)) == (10, [])
    assert everything(database, host) == before


@pytest.mark.usefixtures("storage_mode")
def test_an_internal_address_must_be_listed() -> None:
    with pytest.raises(OutgoingRefused):
        open_store(s3_settings("http://127.0.0.1:9").model_copy(update={"outgoing": Outgoing()}))
