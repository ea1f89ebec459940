"""Bringing an instance up and keeping it up: what runs inside the process that `tierscope up` becomes."""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from tierscope.cli.access.first_link import first_link
from tierscope.cli.access.loopback_trust import say_loopback_trust
from tierscope.cli.base.instance import Instance
from tierscope.cli.base.source_tree import AGENT, FLEET, ProgramBuild, find_program, shipped_program, source_workspace
from tierscope.cli.instance.agent import AgentFiles, make_agent, write_config
from tierscope.cli.instance.claim import choose_port, hold_lock
from tierscope.cli.instance.components import ConfiguredServer, Runtime, make_api, make_worker, write_heat_pids
from tierscope.cli.instance.fleet import FleetLog, enter_decisions, make_fleet
from tierscope.cli.instance.heat import ask_sources, kept_programs, say_sources
from tierscope.cli.instance.nodes import add_nodes, open_nodes
from tierscope.cli.instance.options import Options
from tierscope.cli.instance.reach import check_settings_readable
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.embedded.account import Account, choose_account
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.log_files import bound_own_log, settle, start_copying
from tierscope.core.embedded.postgres import open_cluster
from tierscope.core.embedded.process import identify, list_children
from tierscope.core.embedded.program import reachable_program
from tierscope.core.embedded.queue import open_queue
from tierscope.core.embedded.state import ComponentState, InstanceState, Phase, forget
from tierscope.core.embedded.supervisor import Supervisor
from tierscope.core.errors import TierscopeError
from tierscope.core.settings import Settings
from tierscope.usecases.nodes.changes import upgrade_all
from tierscope.usecases.operate.readiness import Readiness

_READY_SECONDS = 120.0
_BUSY_SECONDS = 0.5
_STEADY_SECONDS = 30.0
"""The longest sleep; what happens to a part ends it."""
_API_TRIES = 3
_BUILD_REPORT_SECONDS = 10.0
_SERVICES = {
    "database": "tierscope/database",
    "queue": "tierscope/queue",
    "api": "tierscope/api",
    "worker": "tierscope/worker",
}


@dataclass(slots=True)
class InstanceRun:
    """One life of an instance."""

    instance: Instance
    settings: Settings
    options: Options
    say: Callable[[str], None]
    state: InstanceState = field(init=False)
    supervisor: Supervisor = field(init=False)
    account: Account = field(init=False)
    queue_url: str = ""
    build: ProgramBuild | None = None
    build_reported_at: float = 0.0
    fleet_log: FleetLog | None = None
    decided: bool = False
    unwritten: bool = False
    build_since: datetime = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        """Begin with an empty state."""
        self.supervisor = Supervisor(say=self.say)
        self.account = choose_account(self.settings.account)
        own = identify(os.getpid())
        if own is None:
            raise EmbeddedError(cause="/proc is not readable", next_step="mount it")
        self.state = InstanceState(phase="setting-up", supervisor=own, url="")

    def run(self) -> None:
        """Bring everything up, look after it until a signal arrives, and stop everything.

        Raises EmbeddedError or TierscopeError when it cannot come up; nothing is left running then.
        """
        self.supervisor.catch_signals()
        lock = hold_lock(self.instance)
        try:
            self._bring_up()
            while self.supervisor.pause(_STEADY_SECONDS if self._settled else _BUSY_SECONDS):
                self.supervisor.tick()
                self._follow_build()
                self._follow_fleet()
                self._enter_decisions()
                self._list_heat_pids()
                self.publish("up")
                self._bound_own_log()
            self.say("stopping")
        except (EmbeddedError, TierscopeError) as error:
            self.state.note = str(error)
            self.publish("failed")
            raise
        finally:
            self._shut_down()
            lock.close()

    @property
    def _settled(self) -> bool:
        """Whether nothing is under way that has to be followed."""
        sending = self.sender is None or bool(self.state.note) or self._status(self.sender) is not None
        return sending and (self.fleet_log is None or self.fleet_log.loaded)

    def _bring_up(self) -> None:
        start_copying()
        self.state.url = f"http://127.0.0.1:{choose_port(self.instance, self.options, self.account)}"
        check_settings_readable(self.settings, self.account)
        program = reachable_program(self.account)
        self._start_build()
        self._start_database()
        for line in say_loopback_trust(self.instance.read_database_url(), self.anonymous_reads):
            self.say(line)
        self._start_queue()
        url = self.state.url
        runtime = Runtime(
            self.instance, program, self.account, self.queue_url, url, self.anonymous_reads, self.late_days
        )
        self.supervisor.add("api", make_api(runtime))
        self.supervisor.add("worker", make_worker(runtime))
        self._await_service()
        self.say(f"Tierscope is up: {self.state.url}")
        for line in first_link(self.instance.read_database_url(), self.state.url, private=self.options.private):
            self.say(line)
        for line in notes_for_user(agent=self.options.agent):
            self.say(line)

    @property
    def anonymous_reads(self) -> bool | None:
        """Whether reading needs no login: as set; in a demonstration it does not, because its data is simulated."""
        return True if self.instance.demo and self.settings.anonymous_reads is None else self.settings.anonymous_reads

    @property
    def late_days(self) -> int | None:
        """How old accepted points may be: a demonstration's history is sent when it starts; None as set."""
        if not self.instance.demo:
            return None
        return self.settings.demo_older_days + self.settings.demo_hours // 24 + 2

    def _start_database(self) -> None:
        configured = None if self.instance.demo else self.settings.resolve_database_url()
        if configured is not None:
            self.instance.write_database_url(configured, account=self.account)
            self.supervisor.add("database", ConfiguredServer(probe=lambda: database_answers(configured)))
            self.say("using the configured database")
        else:
            cluster = open_cluster(self.instance.places, self.account)
            self.say(f"database: PostgreSQL {cluster.binaries.major} from {cluster.binaries.bin_dir}")
            if cluster.create():
                self.say(f"database: made a new cluster in {self.instance.places.database}")
            self.publish("setting-up")
            self.supervisor.add("database", cluster)
            self.instance.write_database_url(cluster.url(), account=self.account)
        nodes = self._start_nodes() if self.instance.demo else {}
        self.publish("setting-up")
        self.say("database: bringing the schema up to date")
        storage = "auto" if self.instance.demo else self.settings.storage
        self.state.storage = upgrade_all(self.instance.read_database_url(), storage=storage)
        if nodes:
            for name in add_nodes(self.instance.read_database_url(), nodes):
                self.say(f"node {name}: takes hosts")

    def _start_nodes(self) -> dict[str, str]:
        """Start the demo's further database servers; their addresses by name."""
        urls = {}
        for name, cluster in open_nodes(self.instance, self.account, self.options.nodes):
            self.supervisor.add(f"node-{name}", cluster)
            self.say(f"node {name}: PostgreSQL on the socket in {cluster.places.database_socket_dir}")
            urls[name] = cluster.url()
        return urls

    def _start_queue(self) -> None:
        configured = None if self.instance.demo else self.settings.redis_url
        if configured is not None:
            self.queue_url = configured.get_secret_value()
            return
        queue = open_queue(self.instance.places, self.account)
        self.queue_url = queue.url()
        self.supervisor.add("queue", queue)
        self.publish("setting-up")

    def _await_service(self) -> None:
        """Wait until the API answers; its first start imports a lot."""
        deadline = time.monotonic() + _READY_SECONDS
        while self.supervisor.pause(0.2):
            self.supervisor.tick()
            self.publish("setting-up")
            if self._status("api") == "healthy":
                return
            api = next(item for item in self.supervisor.items if item.name == "api")
            if api.failures >= _API_TRIES or time.monotonic() >= deadline:
                log = self.instance.places.logs / "api.log"
                raise EmbeddedError(
                    cause=f"the API did not become ready; its log ends with: {last_line(log)}",
                    next_step=f"read {log}",
                )

    def _start_build(self) -> None:
        """Begin compiling the sender's program beside everything else, where it is not shipped with the package."""
        workspace = source_workspace()
        if self.sender is None or shipped_program(self.program) is not None or workspace is None:
            return
        build = ProgramBuild(workspace, self.instance.places.logs / "agent-build.log")
        if build.start():
            self.build = build
            self.build_reported_at = time.monotonic()

    @property
    def sender(self) -> str | None:
        """Name of the component that sends: it measures this host, or plays the demo's fleet."""
        if self.instance.demo:
            return "fleet"
        return "agent" if self.options.agent else None

    @property
    def program(self) -> str:
        """Name of the sender's program."""
        return FLEET if self.instance.demo else AGENT

    def _follow_build(self) -> None:
        """Report on the build; start the sender as soon as its program exists and is up to date."""
        if self.build is not None and self.build.running:
            if time.monotonic() - self.build_reported_at >= _BUILD_REPORT_SECONDS:
                self.build_reported_at = time.monotonic()
                self.say(f"{self.sender}: compiling, {self.build.count_crates()} crates so far")
            return
        if self.build is not None and self.build.failed:
            self.say(f"{self.sender}: does not compile; the end of {self.build.log}:\n{self.build.last_lines()}")
            self.state.note = f"{self.program} does not compile, see {self.build.log}"
        self.build = None
        name = self.sender
        if name is None or self.state.note or self._status(name) is not None:
            return
        binary = find_program(self.program)
        if binary is None:
            self.state.note = (
                f"{self.program} is missing: install Rust (https://rustup.rs) and run `tierscope up` again"
            )
            self.say(f"{name}: {self.state.note}")
            return
        if name == "agent":
            self._add_agent(binary)
        else:
            self.fleet_log = FleetLog.at_end_of(self.instance.places.logs / "fleet.log")
            fleet = make_fleet(self.instance, binary, self.state.url, log=self.fleet_log, settings=self.settings)
            self.supervisor.add(name, fleet, patient=True)
        self.say(f"{name}: started")

    def _add_agent(self, binary: Path) -> None:
        """Start the agent. Where programs are named, say before it runs which source samples their pages."""
        programs = kept_programs(self.instance)
        agent = make_agent(self.instance, binary, self.state.url, programs=programs)
        if programs:
            files = AgentFiles(self.instance.places.agent_state)
            write_config(files, server=self.state.url, heat_pids=self.instance.heat_pids_file, programs=programs)
            for line in say_sources(programs, ask_sources(binary, files.config)):
                self.say(line)
        self.supervisor.add("agent", agent, patient=True)

    def _follow_fleet(self) -> None:
        """Pass the fleet's progress on while it loads its history."""
        if self.fleet_log is not None and not self.fleet_log.loaded:
            for line in self.fleet_log.new_lines():
                self.say(f"fleet: {line}")

    def _enter_decisions(self) -> None:
        """Enter what the owners of the demonstration's fleet would have, as soon as its history is worked up."""
        if self.fleet_log is None or not self.fleet_log.loaded or self.decided:
            return
        try:
            self.decided = enter_decisions(self.instance)
        except (SQLAlchemyError, OSError, ValueError, TierscopeError) as error:
            # The next turn tries again; the demonstration is whole without it.
            self.say(f"fleet: what its owners decided cannot be entered yet: {error}")

    def _status(self, name: str) -> str | None:
        return next((item.state.status for item in self.supervisor.items if item.name == name), None)

    def _list_heat_pids(self) -> None:
        """Name this instance's own processes, the database's backends included, to its agent."""
        lines = []
        for item in self.supervisor.items:
            service = _SERVICES.get(item.name)
            server = item.component.server
            if service is None or server is None:
                continue
            for pid in (server.pid, *list_children(server.pid)):
                process = identify(pid)
                if process is not None:
                    lines.append(f"{process.pid} {process.start_ticks} {service}")
        try:
            write_heat_pids(self.instance.heat_pids_file, lines)
        except OSError as error:
            self._note_unwritten(error)

    def publish(self, phase: Phase) -> None:
        """Write what runs to the state file, for `status` and `down`; where that fails it is kept in memory."""
        self.state.phase = phase
        self.state.components = {item.name: item.state for item in self.supervisor.items}
        name = self.sender
        if name is not None and name not in self.state.components:
            self.state.components[name] = self._unborn_sender()
        try:
            self.state.save(self.instance.places.state_file, account=self.account)
        except OSError as error:
            self._note_unwritten(error)
        else:
            if self.unwritten:
                self.say("the state file can be written again")
            self.unwritten = False

    def _bound_own_log(self) -> None:
        with contextlib.suppress(OSError):
            bound_own_log(self.instance.log)

    def _note_unwritten(self, error: OSError) -> None:
        """Go on with the state in memory: who looks after the parts must outlive a full disk. It is said once."""
        if not self.unwritten:
            self.say(f"the state file cannot be written; supervision continues: {error}")
        self.unwritten = True

    def _unborn_sender(self) -> ComponentState:
        """The sender's state while its program does not exist."""
        if self.state.note:
            return ComponentState(status="down", detail=self.state.note, since=self.build_since)
        if self.build is None or self.build.process is None:
            return ComponentState(status="starting", detail="not started yet", since=self.build_since)
        detail = f"compiling, {self.build.count_crates()} crates so far"
        process = identify(self.build.process.pid)
        return ComponentState(status="starting", detail=detail, since=self.build_since, process=process)

    def _shut_down(self) -> None:
        if self.build is not None:
            self.build.stop()
        failed = self.state.phase == "failed"
        if not failed:
            self.publish("stopping")
        self.supervisor.stop_all()
        if not failed:
            forget(self.instance.places.state_file)


def database_answers(url: str) -> bool:
    """Tell whether a configured database answers and has this release's schema."""
    database = Database(url, pool_size=1)
    try:
        return Readiness(database).obstacle() is None
    finally:
        database.close()


def last_line(log: Path) -> str:
    """Return the last line of a log that says something."""
    settle()
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return "(no log)"
    return next((line.strip() for line in reversed(lines) if line.strip()), "(empty)")


def notes_for_user(*, agent: bool) -> list[str]:
    """Return what the user should know about privileges: what is not collected, and what would change that."""
    if not agent or os.geteuid() == 0:
        return []
    return [
        "not running as root: counters of this host are complete; heat covers this service's own processes",
        "root would add: heat of other users' processes (opt-in), per-process kinds of all services, kernel knobs",
    ]
