"""The instance that is judged: PostgreSQL, queue, API and worker as real processes, which answer over HTTP."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from factories.waiting import until
from faults.processes import Api, Program, api, worker
from faults.stage import NotHereError
from fixtures.server_logs import logs_kept
from fixtures.servers import running_cluster
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.places import find_places, prepare
from tierscope.core.embedded.postgres import PostgresCluster, open_cluster
from tierscope.core.embedded.queue import open_queue
from tierscope.storage.base.schema import upgrade
from tierscope.storage.fleet.services import list_services
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.alerts.rules import store_shipped
from tierscope.usecases.operate.load_figures import LoadFigures
from tierscope.usecases.simulate.placements import ReplayPlacements

REBUILD_SECONDS = 1800.0
"""How long a day of a fleet may take to be rebuilt: a busy machine takes many times what an idle one does."""

_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "100"}
"""Of the database, which is on a disk: a week of a fleet takes gigabytes."""


@dataclass(slots=True)
class Instance:
    folder: Path
    api: Api
    worker: Program
    database: Database

    @property
    def url(self) -> str:
        return self.api.url

    def join_token(self) -> Path:
        """A file with a token that enrols any number of simulated hosts."""
        path = self.folder / "join-token"
        token = Access(self.database).create_join_token(uses=None, origin="simulated", actor="truth")
        path.write_text(token.secret, encoding="utf-8")
        path.chmod(0o600)
        return path

    def wait_rebuilt(self) -> None:
        """Waits until workers have rebuilt all that was sent and is due.

        Raises:
            NeverHappenedError: they have not within `REBUILD_SECONDS`.
        """
        figures = LoadFigures(self.database, utc_now)
        until(
            lambda: figures.lag().pending == 0,
            "what was sent is rebuilt",
            seconds=REBUILD_SECONDS,
            log=self.worker.log,
            alive={"the worker": self.worker.process, "the API": self.api.process},
        )

    def store_rules(self) -> None:
        """Stores the shipped rules, as the first evaluation of alerts does: none may have come yet."""
        with self.database.write() as session:
            store_shipped(session, now=utc_now())

    def replay_placements(self) -> None:
        """Replays page samples of all services anew, as `tierscope recommend --replay` does and workers do daily."""
        with self.database.write() as session:
            session.execute(text("DELETE FROM replayed_placements"))
        replays = ReplayPlacements(self.database, utc_now)
        with self.database.read() as session:
            rows = list_services(session, origin=None, host=None, after=None, limit=None)
        for row in rows:
            replays.refresh_named(row.public_id)


@contextmanager
def _kept_cluster(base: Path) -> Iterator[PostgresCluster]:
    """A server whose database stays in `base`."""
    base.mkdir(parents=True, exist_ok=True)
    places, account = find_places(base), choose_account()
    prepare(places, account)
    cluster = open_cluster(places, account)
    cluster.extra_settings = _QUICK
    cluster.create()
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(places.run, ignore_errors=True)


@contextmanager
def running_instance(kept: Path | None = None) -> Iterator[Instance]:
    """An instance, empty unless its database was kept; everything ends with the block.

    Args:
        kept: where its database stays; nowhere without.

    Raises:
        NotHereError: no Redis-compatible server fits this machine.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tst-", dir="/tmp")))
        folder.chmod(0o755)
        stack.enter_context(logs_kept(folder))
        server = running_cluster("native", durable=True, settings=_QUICK) if kept is None else _kept_cluster(kept)
        cluster = stack.enter_context(server)
        upgrade(cluster.url())
        queue = open_queue(cluster.places, choose_account())
        if queue.binary is None:
            raise NotHereError("no Redis-compatible server fits this machine")
        queue.start()
        stack.callback(queue.stop)
        settings = {
            "TIERSCOPE_DATABASE_URL": cluster.url(),
            "TIERSCOPE_REDIS_URL": queue.url(),
            "TIERSCOPE_DATA_DIR": str(folder / "data"),
            "TIERSCOPE_LOG_LEVEL": "warning",
            "TIERSCOPE_RATE_LIMITS__ENABLED": "false",
            # A week and the hour that it begins earlier.
            "TIERSCOPE_LIMITS__LATE_DAYS": "8",
        }
        database = stack.enter_context(closing(Database(cluster.url())))
        service, background = api(folder, settings), worker(folder, settings)
        for program in (service, background):
            stack.callback(program.kill)
            program.start()
        service.wait_ready()
        yield Instance(folder, service, background, database)
