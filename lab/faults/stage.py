"""The service of a fault test: PostgreSQL, Redis, API and worker as real processes, behind a proxy, on a small disk."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from factories.waiting import DEADLINE_SECONDS, until
from faults.processes import Agent, AgentPlace, Api, Program, agent, api, worker
from faults.proxy import Proxy, proxying
from fixtures.server_logs import logs_kept
from fixtures.servers import running_cluster
from tierscope.core.database import Database, libpq_url
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.places import find_places, prepare
from tierscope.core.embedded.postgres import PostgresCluster, open_cluster
from tierscope.core.embedded.queue import QueueServer, open_queue
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.nodes.changes import NodeChanges

DISK_MIB = 700
GOLDEN = "golden"
"""A database of the same schema, for the run that nothing disturbs."""
# Its log before writing stays small, so that the disk is full when the test fills it and not by itself.
_DATABASE_SETTINGS = {"max_wal_size": "96MB", "min_wal_size": "32MB", "shared_buffers": "64MB"}
_BLOCK_BYTES = 4096


class NotHereError(Exception):
    """This machine cannot run this row; the text says why."""


@contextmanager
def small_disk(folder: Path, size_mib: int) -> Iterator[bool]:
    """A disk of its own at `folder`; False where this account may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={size_mib}m,mode=0755", "tmpfs", str(folder)]
    mounted = (
        subprocess.run(["mount", *options], capture_output=True, check=False, timeout=DEADLINE_SECONDS).returncode == 0
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False, timeout=DEADLINE_SECONDS)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fills the disk of `folder` to the last block, and frees it at the end."""
    ballast = folder / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            size, step = 0, os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
            while step >= _BLOCK_BYTES:
                # Others write at the same time: what was free a moment ago may be too much, and is then taken in parts.
                try:
                    os.posix_fallocate(file.fileno(), size, step)
                    size += step
                except OSError:
                    step //= 2
        yield
    finally:
        ballast.unlink(missing_ok=True)


@dataclass(slots=True)
class Stage:
    """Everything that runs. `small` tells whether the databases have disks that can be filled."""

    folder: Path
    small: bool
    cluster: PostgresCluster
    queue: QueueServer
    database: Database
    settings: Mapping[str, str]
    api: Api
    worker: Program
    proxy: Proxy
    agent_binary: Path
    dynamic_agent: Path | None
    """An agent that is linked dynamically, so that its clock can be set."""
    token: Path
    node: PostgresCluster | None = None
    """A second server of the fleet, where there is one."""
    _agents: list[Agent] = field(default_factory=list)

    @property
    def database_disk(self) -> Path:
        """The disk that the database is on."""
        return self.cluster.places.data

    @property
    def node_disk(self) -> Path:
        """The disk that the second server is on."""
        return self._second().places.data

    def golden_url(self) -> str:
        """The address of the undisturbed database."""
        return self.cluster.url(GOLDEN)

    @contextmanager
    def another_api(self, **preload: str) -> Iterator[None]:
        """All requests go to another API process, with more in its environment; to the first again afterwards."""
        other = api(self.folder, self.settings, preload)
        other.start()
        try:
            other.wait_ready()
            self.proxy.lead_to(other.port)
            yield
        finally:
            self.proxy.lead_to(self.api.port)
            other.kill()

    def kill_database(self) -> None:
        """SIGKILL to the server; its children end by themselves."""
        _kill(self.cluster)

    def revive_database(self) -> None:
        """Starts the server again if it has ended, as the supervisor of `tierscope up` would."""
        _revive(self.cluster)

    def node_url(self) -> str:
        """The address of the second server."""
        return self._second().url()

    def kill_node(self) -> None:
        """SIGKILL to the second server."""
        _kill(self._second())

    def revive_node(self) -> None:
        """Starts the second server again."""
        _revive(self._second())

    def _second(self) -> PostgresCluster:
        assert self.node is not None, "this stage has one server"
        return self.node

    def kill_queue(self) -> None:
        """SIGKILL to Redis."""
        if self.queue.server is not None:
            self.queue.server.send_signal(signal.SIGKILL)
            self.queue.server.wait(timeout=DEADLINE_SECONDS)

    def place(self) -> AgentPlace:
        """Where agents of this stage live unless a test says otherwise."""
        return AgentPlace(self.agent_binary, self.proxy.url, self.token, self.folder / "agents")

    def add_agent(self, name: str, place: AgentPlace | None = None) -> Agent:
        """A new agent behind the proxy; it is killed with the stage at the latest."""
        made = agent(name, place or self.place())
        self._agents.append(made)
        return made

    def end(self) -> None:
        """Kills agents, worker and API."""
        for program in (*self._agents, self.worker, self.api):
            program.kill()

    def logs(self) -> str:
        """The ends of the logs, for a failure's message."""
        programs = (self.api, self.worker, *self._agents[-3:])
        return "\n".join(f"--- {program.name}\n{program.log_tail()}" for program in programs)


def _kill(cluster: PostgresCluster) -> None:
    if cluster.server is not None:
        cluster.server.send_signal(signal.SIGKILL)
        cluster.server.wait(timeout=DEADLINE_SECONDS)


def _revive(cluster: PostgresCluster) -> None:
    if cluster.server is not None and cluster.server.poll() is None and cluster.answers():
        return

    def start() -> bool:
        try:
            cluster.start()
        except EmbeddedError:
            return False
        return True

    until(start, "the database starts again")


def _make_databases(cluster: PostgresCluster) -> None:
    upgrade(cluster.url())
    with psycopg.connect(libpq_url(cluster.url("postgres")), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {GOLDEN} TEMPLATE tierscope STRATEGY FILE_COPY".encode())


def _join_token(database: Database, folder: Path) -> Path:
    path = folder / "join-token"
    path.write_text(Access(database).create_join_token(uses=None, actor="faults").secret)
    path.chmod(0o600)
    return path


@contextmanager
def staged(
    agent_binary: Path, dynamic_agent: Path | None, settings: Mapping[str, str], *, two_servers: bool = False
) -> Iterator[Stage]:
    """A running service, on request with its fleet on two servers; everything ends with the block."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tsf-", dir="/tmp")))
        folder.chmod(0o755)
        stack.enter_context(logs_kept(folder))
        places = find_places(folder / "disk")
        small = stack.enter_context(small_disk(folder / "disk", DISK_MIB))
        account = choose_account()
        prepare(places, account)
        cluster = open_cluster(places, account)
        cluster.extra_settings = _DATABASE_SETTINGS
        cluster.create()
        cluster.start()
        stack.callback(cluster.stop, with_signal=signal.SIGQUIT)
        _make_databases(cluster)
        queue = open_queue(places, account)
        if queue.binary is None:
            raise NotHereError("no Redis-compatible server fits this machine")
        queue.start()
        stack.callback(queue.stop)
        database = stack.enter_context(closing(Database(cluster.url())))
        node = None
        if two_servers:
            small = stack.enter_context(small_disk(folder / "node-disk", DISK_MIB)) and small
            node = stack.enter_context(
                running_cluster("native", durable=True, settings=_DATABASE_SETTINGS, parent=str(folder / "node-disk"))
            )
            NodeChanges(database).add("n1", node.url(), actor="faults", storage="native")
        env = {
            "TIERSCOPE_DATABASE_URL": cluster.url(),
            "TIERSCOPE_REDIS_URL": queue.url(),
            "TIERSCOPE_DATA_DIR": str(folder / "data"),
            **settings,
        }
        service = api(folder, env)
        proxy = stack.enter_context(proxying(service.port))
        stage = Stage(
            folder=folder,
            small=small,
            cluster=cluster,
            queue=queue,
            database=database,
            settings=env,
            api=service,
            worker=worker(folder, env),
            proxy=proxy,
            agent_binary=agent_binary,
            dynamic_agent=dynamic_agent,
            token=_join_token(database, folder),
            node=node,
        )
        stack.callback(stage.end)
        service.start()
        stage.worker.start()
        service.wait_ready()
        yield stage
