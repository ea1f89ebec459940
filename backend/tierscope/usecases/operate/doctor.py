"""What `tierscope doctor` says of a service: each part looked at, with the next step where something is wrong.

Everything is asked through the settings that the service itself uses, so that it works inside a container and beside
the embedded servers alike.
"""

import secrets
import stat
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import tierscope
from tierscope.core.clock import Clock
from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import TierscopeError
from tierscope.core.objects.open import open_store
from tierscope.core.objects.store import checksum
from tierscope.core.settings import Settings
from tierscope.domain.fleet.agent_versions import is_supported, oldest_supported, standing
from tierscope.storage.base.live_rows import WaitingChunk, waiting_chunks
from tierscope.storage.base.partitions import storage_mode
from tierscope.storage.base.schema import schema_state
from tierscope.storage.fleet.agent_versions import count_refused, list_versions
from tierscope.storage.operate import doctor as stored
from tierscope.storage.operate.doctor import ServerFacts
from tierscope.storage.operate.installation import read_installation
from tierscope.usecases.operate.checks import OLDEST_SERVER, SKEW_SECONDS, Check, Result, check_disk
from tierscope.usecases.operate.live_rows import describe_waiting
from tierscope.usecases.operate.node_checks import check_nodes
from tierscope.usecases.operate.telemetry.collector_calls import OtlpCollector
from tierscope.usecases.operate.unread import describe_unread, find_unread

LAG_SECONDS = 600.0
SILENT_SECONDS = 180.0
"""The most frequent tasks come every few seconds."""
_GIB = 2**30
_NAMED_CHUNKS = 5
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MOUNTED = Path("/run/secrets")
"""Where container engines put secrets, for the container alone."""


class ServiceDoctor:
    """Looks at the parts of a service."""

    def __init__(self, settings: Settings, *, clock: Clock, schedule: Mapping[str, float]) -> None:
        self._settings = settings
        self._clock = clock
        self._schedule = schedule
        """Seconds between starts by task."""

    def examine(self, database_url: str) -> list[Check]:
        """All checks; those that need the database are left out where it does not answer."""
        database = Database(database_url, pool_size=1, read_statement_seconds=30)
        try:
            found = self._database(database)
        finally:
            database.close()
        disk = check_disk(self._settings.data_dir, "data directory")
        return [*found, self._queue(), self._objects(), *self._collector(), disk, self._secrets()]

    def _database(self, database: Database) -> list[Check]:
        before = self._clock()
        try:
            with database.read() as session:
                server = stored.read_server(session)
        except TierscopeError as error:
            step = "see that the server runs and that TIERSCOPE_DATABASE_URL names it; then look at its log"
            return [Check("database", "failed", error.detail, step)]
        middle = before + (self._clock() - before) / 2
        checks = [
            _server(server),
            _encoding(server),
            _connections(server),
            _skew((server.now - middle).total_seconds()),
        ]
        checks.append(self._database_disk(server))
        state = schema_state(database)
        if not state.current:
            detail = f"revision {state.revision}, this release needs {state.head}"
            return [*checks, Check("schema", "failed", detail, "run `tierscope migrate`")]
        checks.append(Check("schema", "ok", f"revision {state.head}"))
        with database.read() as session:
            checks.append(_extension(server, storage_mode(session)))
            checks += self._work(session)
            checks.append(_agents(session))
            checks.append(_samples(session, self._clock()))
        checks += check_nodes(database, self._clock)
        return checks

    def _work(self, session: ReadSession) -> list[Check]:
        """Workers by the tasks that they ended, and what waits for them."""
        now = self._clock()
        tasks = {task.task: task for task in stored.read_tasks(session)}
        newest = max((task.last_at for task in tasks.values()), default=None)
        step = "start `tierscope worker` and one `tierscope beat`; look at their log"
        if newest is None:
            workers = Check("workers", "failed", "no worker has ended a task yet", step)
        elif (now - newest).total_seconds() > SILENT_SECONDS:
            ago = (now - newest).total_seconds() / 60
            workers = Check("workers", "failed", f"the newest task ended {ago:.0f} minutes ago", step)
        else:
            workers = Check("workers", "ok", f"the newest task ended {(now - newest).total_seconds():.0f} s ago")
        late = [
            name
            for name, seconds in self._schedule.items()
            if name in tasks and now - tasks[name].last_at > timedelta(seconds=3 * seconds + SILENT_SECONDS)
        ]
        # The runs of any task bound how long there have been workers: soon after a start some have not had their turn.
        lasted = min((tasks[name].runs * self._schedule[name] for name in self._schedule.keys() & tasks), default=0.0)
        missing = [
            name for name, seconds in self._schedule.items() if name not in tasks and seconds < SILENT_SECONDS < lasted
        ]
        if workers.result == "ok" and (late or missing):
            detail = f"not ended for long: {', '.join(late + missing)}"
            beat = Check(
                "schedule", "warning", detail, "see that exactly one `tierscope beat` runs, and workers enough"
            )
        else:
            result: Result = "ok" if workers.result == "ok" else "failed"
            beat = Check("schedule", result, f"{len(tasks)} tasks have run", "" if result == "ok" else step)
        waiting = read_installation(session, now)
        lag = 0.0 if waiting.oldest_mark_at is None else max(0.0, (now - waiting.oldest_mark_at).total_seconds())
        detail = f"{waiting.marks_pending} pieces of work wait, the oldest {lag:.0f} s"
        slow = lag > LAG_SECONDS
        more = "start more workers (`tierscope worker --concurrency N`), or look in their log for failures"
        lags = Check("lag", "warning" if slow else "ok", detail, more if slow else "")
        return [workers, beat, lags, _live_rows(waiting_chunks(session, now))]

    def _queue(self) -> Check:
        if self._settings.redis_url is None:
            return Check("queue", "ok", "none is configured: `tierscope up` brings its own")
        import redis  # noqa: PLC0415 - only where there is one

        url = self._settings.redis_url.get_secret_value()
        if url.startswith("filesystem://"):
            return Check("queue", "ok", "files take the place of a server")
        step = "see that the server runs and that TIERSCOPE_REDIS_URL names it; nothing is lost meanwhile"
        try:
            with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
                version = client.info("server").get("redis_version", "?")
                waiting = client.llen("celery")
        except (redis.RedisError, ValueError, OSError) as error:
            return Check("queue", "failed", f"Redis does not answer: {type(error).__name__}", step)
        return Check("queue", "ok", f"Redis {version}, {waiting} wake-ups wait")

    def _objects(self) -> Check:
        """Puts an object, reads it and removes it, as workers do with closed hours."""
        step = "see that the store runs, and that TIERSCOPE_OBJECTS__* and its keys are right; rows wait meanwhile"
        body = secrets.token_bytes(32)
        key = f"doctor/{checksum(body)}"
        try:
            store = open_store(self._settings)
            if store is None:
                return Check("objects", "ok", "none is configured: bodies stay in the database")
            store.put(key, body)
            store.get(key)
            store.delete([key])
        except TierscopeError as error:
            return Check("objects", "failed", error.detail, error.next_step or step)
        return Check("objects", "ok", f"the {self._settings.objects.store} store takes, returns and deletes objects")

    def _collector(self) -> list[Check]:
        """Sends a collector nothing, as metrics are sent to it."""
        if self._settings.otlp.endpoint is None:
            return []
        step = "see that the collector runs and takes OTLP over HTTP, and that TIERSCOPE_OTLP__* name it"
        try:
            OtlpCollector(self._settings).send_metrics(b"")
        except TierscopeError as error:
            return [Check("collector", "failed", error.detail, step)]
        return [Check("collector", "ok", "it takes metrics")]

    def _database_disk(self, server: ServerFacts) -> Check:
        size = f"the database has {server.database_bytes / _GIB:.2f} GiB"
        if server.data_place is None:
            return Check("database size", "ok", f"{size}; its disk is not seen from here")
        found = check_disk(server.data_place, "database size")
        return Check("database size", found.result, f"{size}; {found.detail}", found.next_step)

    def _secrets(self) -> Check:
        """Files with secrets that others than their owner may read."""
        files = list(_secret_files(self._settings))
        open_ones = [
            str(path)
            for path in files
            if path.exists() and path.stat().st_mode & _OTHERS and _MOUNTED not in path.parents
        ]
        gone = [str(path) for path in files if not path.exists()]
        if gone:
            return Check("secrets", "failed", f"not there: {', '.join(gone)}", "make them, or correct the setting")
        if open_ones:
            detail = f"others than the owner may read {', '.join(open_ones)}"
            return Check("secrets", "warning", detail, f"run `chmod 600 {' '.join(open_ones)}`")
        return Check("secrets", "ok", f"{len(files)} files, for their owner alone")


def _secret_files(settings: Settings) -> Iterable[Path]:
    single = (
        settings.database_url_file,
        settings.database_password_file,
        settings.mail.password_file,
        settings.oidc.client_secret_file,
    )
    yield from (path for path in single if path is not None)
    folder = settings.outgoing.secrets_dir
    if folder is not None and folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def _server(server: ServerFacts) -> Check:
    detail = f"PostgreSQL {server.version} answers"
    if server.version_number < OLDEST_SERVER:
        return Check("database", "failed", detail, "use PostgreSQL 15 or later")
    return Check("database", "ok", detail)


def _encoding(server: ServerFacts) -> Check:
    if server.encoding != "UTF8":
        step = "create the database again with ENCODING 'UTF8' and restore a backup into it"
        return Check("encoding", "failed", f"{server.encoding}: names in other scripts cannot be stored", step)
    return Check("encoding", "ok", server.encoding)


def _connections(server: ServerFacts) -> Check:
    detail = f"{server.connections} of {server.max_connections} connections are in use"
    if server.connections > 0.9 * server.max_connections:
        return Check("connections", "warning", detail, "raise max_connections, or lower TIERSCOPE_DATABASE_POOL_SIZE")
    return Check("connections", "ok", detail)


def _skew(seconds: float) -> Check:
    detail = f"the database's clock is {abs(seconds):.1f} s {'ahead' if seconds > 0 else 'behind'}"
    if abs(seconds) > SKEW_SECONDS:
        return Check("clock", "warning", detail, "synchronise both machines (chrony or systemd-timesyncd)")
    return Check("clock", "ok", detail)


def _extension(server: ServerFacts, storage: str) -> Check:
    if storage == "native":
        has = f"; TimescaleDB {server.timescaledb_available} could be used" if server.timescaledb_available else ""
        return Check("storage", "ok", f"native partitions{has}")
    if server.timescaledb is None:
        step = "start the server with the extension that the data was made with"
        return Check("storage", "failed", "the time tables are hypertables and TimescaleDB is not there", step)
    features = "with columnstore" if server.licence == "timescale" else "Apache features alone: no columnstore"
    return Check(
        "storage", "ok", f"TimescaleDB {server.timescaledb}, licence {server.licence or 'unknown'}: {features}"
    )


def _live_rows(waiting: Sequence[WaitingChunk]) -> Check:
    """Whether chunks of live rows go in time: work that fails keeps them, with the rows of all hosts."""
    if not waiting:
        return Check("live rows", "ok", "all chunks that are old enough have gone, or can go")
    step = (
        "look in the log of the workers for `rebuild failed` with this kind and subject, and start workers where none"
        " runs; nothing is lost meanwhile, but the chunks take room"
    )
    return Check("live rows", "warning", "; ".join(map(describe_waiting, waiting[:_NAMED_CHUNKS])), step)


def _samples(session: ReadSession, now: datetime) -> Check:
    """What came by remote write or OTLP: a warning where it tells of machines and gives no host."""
    unread = find_unread(session, now)
    if not unread:
        return Check("samples", "ok", "every series that came lately is of a host, or none came")
    missed = [one for one in unread if one.of_machines]
    if not missed:
        return Check("samples", "ok", describe_unread(unread))
    step = "see docs/howto/prometheus.md: which series are read, and which label names the host"
    return Check("samples", "warning", describe_unread(missed), step)


def _agents(session: ReadSession) -> Check:
    service = tierscope.__version__
    rows = [row for row in list_versions(session) if row.version is not None]
    old = [row for row in rows if not is_supported(standing(row.version, service))]
    refused = count_refused(session)
    detail = ", ".join(f"{row.hosts} with {row.version}" for row in rows) or "none has sent anything yet"
    if refused:
        step = "upgrade the service: their protocol is newer; they keep what they measure in their spool"
        return Check("agents", "failed", f"{detail}; batches of {refused} cannot be read", step)
    if old:
        step = f"upgrade agents to {oldest_supported(service)} or later: `GET /v1/agents/versions` lists them"
        return Check("agents", "warning", f"{detail}; {sum(row.hosts for row in old)} are not supported", step)
    return Check("agents", "ok", detail)
