"""The real programs of a fault test: agent, API, worker. Each can be killed and started again as often as wanted."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from factories.loopback import LOOPBACK, NO_AUTHORITIES, free_port
from factories.waiting import DEADLINE_SECONDS, until

_LOG_TAIL_CHARS = 2500


@dataclass(slots=True)
class Program:
    """A program in a process group of its own."""

    name: str
    command: list[str]
    env: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=dict(self.env),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kills it with all its children, whatever they do."""
        if self.process is not None:
            # One that has ended by itself is gone already.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=DEADLINE_SECONDS)
            self.process = None

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self.process is not None, f"{self.name} does not run"
        return self.process.pid

    def log_tail(self) -> str:
        """The end of what it printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-_LOG_TAIL_CHARS:] if self.log.exists() else ""


def clean_env(**more: str) -> dict[str, str]:
    """The caller's environment without settings of the product, and with those given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIERSCOPE_")}
    return {**kept, "TIERSCOPE_CONFIG": "/nonexistent", "TIERSCOPE_ANONYMOUS_READS": "true", **more}


@dataclass(slots=True)
class Api(Program):
    """`tierscope serve` on one port."""

    port: int = 0

    @property
    def url(self) -> str:
        """Its own address, past any proxy."""
        return f"http://{LOOPBACK}:{self.port}"

    def ready(self) -> bool:
        """Whether it takes work now."""
        try:
            answer = httpx.get(f"{self.url}/readyz", timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES)
        except httpx.TransportError:
            return False
        return answer.status_code == httpx.codes.OK and answer.json()["ready"] is True

    def wait_ready(self) -> None:
        """Waits until it takes work."""

        def look() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, f"the API ended: {self.log_tail()}"
            return self.ready()

        until(look, "the API is ready")


def api(folder: Path, settings: Mapping[str, str], preload: Mapping[str, str] | None = None) -> Api:
    """The API with its own settings; `preload` holds more of its environment."""
    port = free_port()
    command = [sys.executable, "-m", "tierscope.cli", "serve", "--port", str(port)]
    env = clean_env(**settings, **(preload or {}))
    return Api("api", command, env, folder / "api.log", port=port)


def worker(folder: Path, settings: Mapping[str, str]) -> Program:
    """A worker with its scheduler."""
    command = [sys.executable, "-m", "tierscope.cli", "worker", "--with-beat"]
    return Program("worker", command, clean_env(**settings), folder / "worker.log")


@dataclass(slots=True)
class Agent(Program):
    """`tierscope-agent run` at one collection a second, with a state directory of its own."""

    state_dir: Path = field(default_factory=Path)

    def status(self) -> dict[str, Any]:
        """What it says of itself; empty before it has said anything."""
        try:
            document = json.loads((self.state_dir / "status.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        assert isinstance(document, dict)
        return document

    def has_delivered(self) -> bool:
        """Whether the service has taken a batch of this process; fails where it has ended."""
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} ended: {self.log_tail()}"
        return bool(self.status().get("last_delivered_at"))

    @property
    def host_id(self) -> str:
        """The id that it enrolled under."""
        kept = json.loads((self.state_dir / "credential.json").read_text(encoding="utf-8"))
        return str(kept["host_id"])


_AGENT_SETTINGS = """
server = "{server}"
state_dir = "{state_dir}"
join_token_file = "{token}"
hostname = "{name}"
interval_seconds = 1
upload_spread_seconds = 0
spool_max_mib = {spool_mib}
hardware_counters = false
{more}
[heat]
processes = "none"
[budget]
cpu_max_ratio = 1.0
kernel_cpu_max_ratio = 1.0
rss_max_mib = 1024
upload_max_mib_per_hour = 65536
[guard]
cpu_max_ratio = 1.0
memory_max_ratio = 1.0
"""


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """Where an agent sends to and keeps its things."""

    binary: Path
    server: str
    token: Path
    folder: Path
    state_dir: Path | None = None
    spool_mib: int = 64
    more: str = ""
    """More lines of settings, before the first table."""
    env: Mapping[str, str] = field(default_factory=dict)


def agent(name: str, place: AgentPlace) -> Agent:
    """An agent that has not started. Budget and guard are out of the way: faults are tested here, not modesty."""
    folder = place.folder / name
    folder.mkdir(parents=True)
    state_dir = place.state_dir or folder / "state"
    settings = folder / "agent.toml"
    settings.write_text(
        _AGENT_SETTINGS.format(
            server=place.server,
            state_dir=state_dir,
            token=place.token,
            name=name,
            spool_mib=place.spool_mib,
            more=place.more,
        )
    )
    command = [str(place.binary), "run", f"--config={settings}"]
    return Agent(name, command, clean_env(**place.env), folder / "agent.log", state_dir=state_dir)
