"""What is attacked: PostgreSQL, queue, API and worker as real processes, with something of everything in them."""

import contextlib
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from attack.middleman import Middleman, middleman
from attack.trail import Trail
from bench.queries import PAGES
from factories.api_watch import memory_mib
from factories.installations import Enrolled, enrol
from factories.loopback import LOOPBACK
from factories.object_stores import empty_bucket, s3_environment, s3_server
from factories.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, oidc_provider
from factories.people import session_of
from factories.populated import Populated, populate, populate_by_api
from factories.receivers import WebReceiver, web_receiver
from factories.waiting import DEADLINE_SECONDS
from faults.processes import Api, Program, api, worker
from faults.stage import NotHereError
from fixtures.server_logs import logs_kept
from fixtures.servers import running_cluster
from tierscope.core.database import Database
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.queue import open_queue
from tierscope.domain.access.permissions import Role
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.access.tokens import Access

LONG_NAME = "x" * 28
"""Of a host: what expressions that explode are tried on."""
HOSTS = 12
"""As many as make questions about a fleet worth more than the overhead of asking."""
MOST_OVER_IDLE_MIB = 256
"""Above what the API has once it has answered every page: its bounds on all that is asked add up to less."""
ROLES: tuple[Role, ...] = ("viewer", "operator", "admin")


@dataclass(slots=True)
class Arena:
    """Everything that runs, and who may ask it what."""

    folder: Path
    database: Database
    database_url: str
    queue_url: str
    api: Api
    worker: Program
    made: Populated
    host: Enrolled
    """A host with an unwieldy name, whose credential sends batches."""
    sessions: dict[str, dict[str, str]]
    """Headers of a session by role; they do for writes too."""
    provider: Provider
    """Of logins; attacks make it lie."""
    objects: Middleman
    """Between the service and its object store; attacks make it lie."""
    redirecting: WebReceiver
    """A receiver that the settings allow; attacks make it redirect."""
    agent_binary: Path | None
    idle_mib: float
    """Resident size of the API before the first attack, when all that it loads once has been asked for."""
    api_log: Trail
    worker_log: Trail

    @property
    def admin(self) -> dict[str, str]:
        """The headers of an administrator's program."""
        return {"Authorization": f"Bearer {self.made.token}"}

    def alive(self) -> bool:
        """Whether API and worker run."""
        return all(
            program.process is not None and program.process.poll() is None for program in (self.api, self.worker)
        )

    @property
    def access(self) -> Access:
        """Makes tokens."""
        return Access(self.database)


@contextmanager
def running_arena(agent_binary: Path | None, storage: str = "native") -> Iterator[Arena]:
    """A populated instance; everything ends with the block. `storage`: of `fixtures.servers.STORAGE_MODES`."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tsa-", dir="/tmp")))
        folder.chmod(0o755)
        stack.enter_context(logs_kept(folder))
        cluster = stack.enter_context(running_cluster(storage))
        upgrade(cluster.url())
        queue = open_queue(cluster.places, choose_account())
        if queue.binary is None:
            raise NotHereError("no Redis-compatible server fits this machine")
        queue.start()
        stack.callback(queue.stop)
        redirecting = stack.enter_context(web_receiver())
        provider = stack.enter_context(oidc_provider())
        bucket = stack.enter_context(s3_server())
        empty_bucket(bucket)
        objects = stack.enter_context(middleman(bucket))
        settings = _settings(provider, objects, redirecting) | {
            "TIERSCOPE_DATABASE_URL": cluster.url(),
            "TIERSCOPE_REDIS_URL": queue.url(),
            "TIERSCOPE_DATA_DIR": str(folder / "data"),
        }
        database = stack.enter_context(closing(Database(cluster.url())))
        made, host = populate(database, n_hosts=HOSTS), enrol(database, name=LONG_NAME)
        service = api(folder, settings)
        stack.callback(service.kill)
        service.start()
        service.wait_ready()
        with httpx.Client(base_url=service.url, timeout=DEADLINE_SECONDS) as client:
            populate_by_api(client, database, made)
            _warm_up(client, made)
        idle_mib, _ = memory_mib(service.pid)
        background = worker(folder, settings)
        stack.callback(background.kill)
        background.start()
        yield Arena(
            folder=folder,
            database=database,
            database_url=cluster.url(),
            queue_url=queue.url(),
            api=service,
            worker=background,
            made=made,
            host=host,
            sessions={role: session_of(database, name=f"a-{role}", role=role) for role in ROLES},
            provider=provider,
            objects=objects,
            redirecting=redirecting,
            agent_binary=agent_binary,
            idle_mib=idle_mib,
            api_log=Trail(service.log),
            worker_log=Trail(background.log),
        )


def _settings(provider: Provider, objects: Middleman, redirecting: WebReceiver) -> dict[str, str]:
    return s3_environment(objects.address) | {
        "TIERSCOPE_OBJECTS__READ_SECONDS": "2",
        "TIERSCOPE_OIDC__ISSUER": provider.issuer,
        "TIERSCOPE_OIDC__CLIENT_ID": CLIENT_ID,
        "TIERSCOPE_OIDC__CLIENT_SECRET": CLIENT_SECRET,
        "TIERSCOPE_OIDC__ALLOW": LOOPBACK,
        "TIERSCOPE_OIDC__DEFAULT_ROLE": "viewer",
        "TIERSCOPE_LOG_LEVEL": "warning",
        # Nothing hides behind them.
        "TIERSCOPE_RATE_LIMITS__ENABLED": "false",
        "TIERSCOPE_OUTGOING__ALLOW": f"{redirecting.place},{objects.place}",
        "TIERSCOPE_OUTGOING__CONNECT_SECONDS": "0.5",
        "TIERSCOPE_OUTGOING__TOTAL_SECONDS": "2",
    }


def _warm_up(client: httpx.Client, made: Populated) -> None:
    """Each page once; what a page cannot answer here is loaded all the same."""
    service = made.ids["service_id"][0]
    for calls in PAGES.values():
        for path in calls.values():
            client.get(path.format(service=service, large=service, host=made.ids["host_id"][0]))
