"""The agent of an instance: enrolled with a join token, measuring heat of this instance's own processes alone."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import tierscope
from tierscope.cli.instance.find import Instance
from tierscope.core.database import Database
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.service import ServiceProcess
from tierscope.usecases.access import Access

INTERVAL_SECONDS = 60
FLEET_HOSTS = 50
FLEET_SERVICES = 8
FLEET_HISTORY_HOURS = 24
_PACKAGE = Path(tierscope.__file__).resolve().parent
_STATUS_FRESH = timedelta(seconds=3 * INTERVAL_SECONDS)
_JOIN_LIFETIME = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """The files that the agent and its supervisor share."""

    state_dir: Path

    @property
    def join_token(self) -> Path:
        """Read by the agent once, at enrolment."""
        return self.state_dir / "join-token"

    @property
    def credential(self) -> Path:
        """Written by the agent when it has enrolled."""
        return self.state_dir / "credential.json"

    @property
    def status(self) -> Path:
        """Written by the agent after each interval and each upload."""
        return self.state_dir / "status.json"


def make_agent(instance: Instance, binary: Path, url: str) -> ServiceProcess:
    """Return the agent of this host. It sends without spreading, because it is the only one."""
    files = AgentFiles(instance.places.agent_state)
    return ServiceProcess(
        command=[
            str(binary),
            "run",
            *("--server", url),
            *("--state-dir", str(files.state_dir)),
            *("--join-token-file", str(files.join_token)),
            *("--interval", str(INTERVAL_SECONDS)),
            *("--upload-spread", "0"),
            *("--heat-pids-file", str(instance.heat_pids_file)),
        ],
        log=instance.places.logs / "agent.log",
        prepare=lambda: provide_join_token(instance, files),
        probe=lambda: has_delivered(files),
    )


def make_fleet(instance: Instance, binary: Path, url: str) -> ServiceProcess:
    """Return the demo's fleet: simulated hosts replayed from recordings, a day at once and then live."""
    files = AgentFiles(instance.places.agent_state)
    return ServiceProcess(
        command=[
            str(binary),
            "fleet",
            *("--server", url),
            *("--state-dir", str(files.state_dir)),
            *("--join-token-file", str(files.join_token)),
            *("--recordings", str(recordings_dir())),
            *("--hosts", str(FLEET_HOSTS)),
            *("--services", str(FLEET_SERVICES)),
            *("--history-hours", str(FLEET_HISTORY_HOURS)),
            "--live",
        ],
        log=instance.places.logs / "fleet.log",
        prepare=lambda: provide_join_token(instance, files, uses=FLEET_HOSTS, origin="simulated"),
        probe=lambda: has_delivered(files),
    )


def recordings_dir() -> Path:
    """Return the recordings that the demo replays: inside an installed package, else in the source tree."""
    for candidate in (_PACKAGE / "_recordings", _PACKAGE.parents[1] / "tests" / "data"):
        if candidate.is_dir():
            return candidate
    raise EmbeddedError(cause="the demo's recordings are not installed", next_step="run it from a source tree")


def provide_join_token(instance: Instance, files: AgentFiles, *, uses: int = 1, origin: str = "live") -> None:
    """Leave a join token for an agent that has no credential yet, or for a fleet."""
    if files.credential.exists():
        return
    database = Database(instance.read_database_url(), pool_size=1)
    try:
        token = Access(database).create_join_token(
            uses=uses, lifetime=_JOIN_LIFETIME, origin=origin, note="tierscope up", actor="tierscope up"
        )
    finally:
        database.close()
    files.join_token.unlink(missing_ok=True)
    descriptor = os.open(files.join_token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token.secret + "\n")


def has_delivered(files: AgentFiles) -> bool:
    """Tell whether the agent delivered a batch lately, by its own status file."""
    try:
        document = json.loads(files.status.read_text(encoding="utf-8"))
        delivered = document.get("last_delivered_at")
    except (OSError, ValueError, AttributeError):
        return False
    if not isinstance(delivered, str):
        return False
    try:
        at = datetime.fromisoformat(delivered)
    except ValueError:
        return False
    return datetime.now(UTC) - at < _STATUS_FRESH
