"""docker-compose.yml under podman, run in namespaces of its own by `proofs.images`; prints what held, a line each.

podman starts what is asked for alone, and no health check by itself: the order that the file asks for is kept here.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from factories.waiting import DEADLINE_SECONDS, NeverHappenedError, until
from proofs.artefacts import ROOT, NotProvenError, run
from proofs.containers import Podman, podman
from proofs.images import COMPOSE
from tierscope import __version__
from tierscope.core.clock import utc_now

BEFORE = ROOT / ".build" / "dist-before" / "images"
"""Where `deploy/dist/before.sh` puts the service's image of an older commit."""
URL = "http://localhost:8480"
PROJECT = "tierscope-proof"
INTERVAL_SECONDS = 10
SERVERS, ROLES = ("timescaledb", "redis"), ("web", "api", "worker", "beat")
_AGENT = f"""
server = "{URL}"
join_token_file = "/etc/tierscope/join-token"
state_dir = "/var/lib/tierscope-agent"
interval_seconds = {INTERVAL_SECONDS}
"""


class Composed:
    """The project: its store, its containers, and the environment that docker-compose.yml reads."""

    def __init__(self, podman: Podman) -> None:
        self.podman = podman
        self.version = __version__
        self._password = podman.folder / "database-password"
        self._password.write_text(os.urandom(16).hex(), encoding="ascii")

    def compose(self, *words: str) -> str:
        """Run a command of podman-compose on docker-compose.yml."""
        settings = {
            "TIERSCOPE_VERSION": self.version,
            "TIERSCOPE_DATABASE_PASSWORD_FILE": str(self._password),
            "PATH": os.environ["PATH"],
            "HOME": str(self.podman.folder),
        }
        program: list[str | Path] = [COMPOSE, "--podman-path", self.podman.program]
        project: list[str | Path] = ["--file", ROOT / "docker-compose.yml", "--project-name", PROJECT]
        return run([*program, *project, *words], env=settings)

    def start(self, *services: str) -> None:
        """Start services and wait until their health checks pass."""
        self.compose("up", "--detach", "--no-build", "--no-deps", *services)
        for service in services:
            self.wait_until_healthy(service)

    def migrate(self) -> str:
        """Run the schema's step to its end and return what it printed."""
        self.compose("up", "--detach", "--no-build", "--no-deps", "migrate")
        name = container("migrate")
        status = self.podman.run("wait", name).strip()
        printed = self.podman.run("logs", name)
        if status != "0":
            raise NotProvenError(f"migrate ended with {status}: {printed[-3000:]}")
        return printed.strip()

    def is_healthy(self, service: str) -> bool:
        """Whether the health check of docker-compose.yml passes now."""
        return self.podman.succeeds("healthcheck", "run", container(service))

    def wait_until_healthy(self, service: str) -> None:
        """Wait until the health check passes."""
        until(lambda: self.is_healthy(service), f"{service} is healthy", seconds=2 * DEADLINE_SECONDS)

    def kill(self, service: str) -> None:
        """End the first process of a service as a crash does, and wait until its container has another."""
        before = self._pid(service)
        os.kill(before, signal.SIGKILL)
        until(lambda: self._pid(service) not in (0, before), f"{service} was started again")

    def _pid(self, service: str) -> int:
        return int(self.podman.run("inspect", "--format", "{{.State.Pid}}", container(service)))

    def document(self, *words: str) -> Any:  # noqa: ANN401 - answers differ
        """The JSON that a command of the service prints, in the worker's container."""
        return json.loads(self.podman.run("exec", container("worker"), "tierscope", *words, "--json"))

    @contextmanager
    def agent(self, token: str) -> Iterator[None]:
        """The agent's image with nothing but its settings, without rights, on a root that is read-only."""
        settings = self.podman.folder / "agent"
        settings.mkdir()
        (settings / "agent.toml").write_text(_AGENT, encoding="ascii")
        (settings / "join-token").write_text(token, encoding="ascii")
        (settings / "join-token").chmod(0o600)
        for path in (settings, *settings.iterdir()):
            os.chown(path, 65534, 65534)
        confined = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "host"]
        places = ["--volume", f"{settings}:/etc/tierscope:ro", "--volume", "agent-state:/var/lib/tierscope-agent:U"]
        self.podman.run("run", "--detach", "--name", "agent", *confined, *places, f"tierscope/agent:{__version__}")
        try:
            yield
        finally:
            self.podman.run("rm", "--force", "agent")


def container(service: str) -> str:
    return f"{PROJECT}_{service}_1"


class Seen:
    """What the API has of the one host that sends."""

    def __init__(self, token: str) -> None:
        self._client = httpx.Client(
            base_url=URL, headers={"Authorization": f"Bearer {token}"}, timeout=DEADLINE_SECONDS
        )

    def ask(self, path: str, **parameters: str) -> Any:  # noqa: ANN401 - answers differ
        return self._client.get(path, params=parameters).raise_for_status().json()

    def is_ready(self) -> bool:
        """Whether the API answers and has its database, in this schema."""
        try:
            return self._client.get("/readyz").is_success
        except httpx.TransportError:
            return False

    def times(self) -> list[float]:
        """When the host's intervals ended that are stored, Unix seconds."""
        for host in self.ask("/v1/hosts")["items"]:
            found = self.ask(f"/v1/hosts/{host['id']}/counters", name="pgfault", scope="host", max_points="2000")
            return list(found["axis"]["times"])
        return []

    def wait_for_more(self, count: int = 3) -> list[float]:
        """Wait until intervals that ended from now on are stored, and return all."""
        now = utc_now().timestamp()
        until(
            lambda: sum(time > now for time in self.times()) >= count,
            f"{count} intervals that ended from now on are stored",
            seconds=2 * DEADLINE_SECONDS,
        )
        return self.times()


def held(composed: Composed, archives: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Load, start, send, break, upgrade, end; yield each statement that held with what was seen."""
    old = load(composed, archives)
    if old:
        composed.version = "before"
    composed.start(*SERVERS)
    yield "the schema is made", composed.migrate()
    composed.start(*ROLES)
    yield "servers and roles start in the order of docker-compose.yml", f"{len(SERVERS + ROLES)} health checks pass"
    join = composed.podman.run("exec", container("web"), "tierscope", "token", "join", "--uses", "1").strip()
    seen = Seen(composed.document("token", "api", "--role", "viewer")["token"])
    with composed.agent(join):
        first = seen.wait_for_more()
        yield "the agent's image sends", f"{len(first)} intervals of this host are stored"
        if old:
            yield from upgraded(composed, seen, first)
        yield from broken(composed, seen, first)
    composed.compose("down")
    if left := composed.podman.run("ps", "--all", "--quiet").split():
        raise NotProvenError(f"`compose down` left {len(left)} containers")
    yield "compose down ends it", "no container is left, the volume stays"


def load(composed: Composed, archives: Mapping[str, Path]) -> bool:
    """Load the archives; whether an image of an older commit is there, which is then called `before`."""
    old = sorted(BEFORE.glob("tierscope-service-*.oci.tar"))
    if old:
        composed.podman.run("load", "--quiet", "--input", old[0])
        composed.podman.run("tag", f"tierscope/service:{__version__}", "tierscope/service:before")
    for archive in archives.values():
        composed.podman.run("load", "--quiet", "--input", archive)
    for name in ("database", "queue"):
        composed.podman.run("tag", f"tierscope/{name}:{__version__}", f"tierscope/{name}:before")
    return bool(old)


def upgraded(composed: Composed, seen: Seen, first: list[float]) -> Iterator[tuple[str, str]]:
    """The service of this release takes over the database of the one before while the agent goes on."""
    was = schema_of(composed)
    composed.compose("down")
    composed.version = __version__
    composed.start(*SERVERS)
    printed = composed.migrate()
    composed.start(*ROLES)
    after = schema_of(composed)
    if was == after:
        raise NotProvenError(f"the image of the version before has this version's schema, {was}")
    without_gap(seen.wait_for_more(), first)
    yield "upgraded from the version before", f"schema {was} to {after}: {printed} What was stored is there, no gap"


def schema_of(composed: Composed) -> str:
    ask = "select version_num from alembic_version"
    words = ("psql", "--username", "tierscope", "--dbname", "tierscope", "--host", "localhost", "--tuples-only")
    secret = 'PGPASSWORD=$(cat /run/secrets/database-password) exec "$@"'
    asked = ("exec", container("timescaledb"), "sh", "-c", secret, "sh", *words, "--no-align", "--command", ask)
    return composed.podman.run(*asked).strip()


def broken(composed: Composed, seen: Seen, first: list[float]) -> Iterator[tuple[str, str]]:
    """Processes are killed; their containers start again and every interval arrives."""
    composed.kill("worker")
    composed.wait_until_healthy("worker")
    yield "the worker is killed", "its container is started again and its health check passes"
    composed.kill("timescaledb")
    until(seen.is_ready, "the API has its database again", seconds=2 * DEADLINE_SECONDS)
    times = without_gap(seen.wait_for_more(), first)
    yield "the database is killed", f"it recovers; {len(times)} intervals from the first on, none is missing"


def without_gap(times: list[float], first: list[float]) -> list[float]:
    """Return the times; raise where one of the first is gone, or an interval between them is missing."""
    gone = sorted(set(first) - set(times))
    gaps = [(a, b - a) for a, b in pairwise(times) if b - a > 1.5 * INTERVAL_SECONDS]
    if gone or gaps:
        raise NotProvenError(f"intervals that were stored are gone: {gone}; gaps (from, seconds): {gaps}")
    return times


def main() -> int:
    """Run, print, and say on stderr what did not hold."""
    archives = {Path(path).name.split("-")[1]: Path(path) for path in sys.argv[1:]}
    with podman() as found:
        try:
            for statement in held(Composed(found), archives):
                print(json.dumps(statement), flush=True)
        except (NotProvenError, NeverHappenedError) as reason:
            print(f"{reason}\n{found.logs()}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
