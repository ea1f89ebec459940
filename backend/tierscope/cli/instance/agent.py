"""The agent of an instance: enrolled with a join token, measuring its own processes and the programs named."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

from tierscope.cli.base.instance import Instance
from tierscope.core.clock import utc_now
from tierscope.core.embedded.service import ServiceProcess

INTERVAL_SECONDS = 60
_STATUS_FRESH = timedelta(seconds=3 * INTERVAL_SECONDS)
_JOIN_LIFETIME = timedelta(hours=1)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._+-]+")
_COMM_CHARACTERS = 15
"""Of a process's name, as many as the kernel keeps."""


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
    def config(self) -> Path:
        """The agent's settings, written at each start."""
        return self.state_dir / "agent.toml"

    @property
    def status(self) -> Path:
        """Written by the agent after each interval and each upload."""
        return self.state_dir / "status.json"


def make_agent(instance: Instance, binary: Path, url: str, *, programs: Sequence[str] = ()) -> ServiceProcess:
    """Return the agent of this host. It sends without spreading, because it is the only one.

    `programs`: whose pages are sampled, beside the heat of this instance's own processes.
    """
    files = AgentFiles(instance.places.agent_state)

    def prepare() -> None:
        provide_join_token(instance, files, enrolled=files.credential)
        write_config(files, server=url, heat_pids=instance.heat_pids_file, programs=programs)

    return ServiceProcess(
        command=[str(binary), "run", "--config", str(files.config)],
        log=instance.places.logs / "agent.log",
        prepare=prepare,
        probe=Deliveries(files),
    )


def service_rules(program: str) -> list[str]:
    """Return lines of settings that make a program a service of its name; none where its name is not told.

    Without them a program is a part of whatever its control group is called, beside others.
    """
    name = program.rpartition("/")[2]
    if not _PLAIN_NAME.fullmatch(name) or program.startswith("pid:"):
        return []
    rules = {"exe": f"*/{name}", "comm": name[:_COMM_CHARACTERS]}
    return [
        line
        for key, pattern in rules.items()
        for line in ("[[services]]", f"name = {json.dumps(name)}", f"{key} = {json.dumps(pattern)}")
    ]


def write_config(files: AgentFiles, *, server: str, heat_pids: Path, programs: Sequence[str] = ()) -> None:
    """Write the agent's own settings file. TOML strings are written as JSON ones, which they contain."""
    # DAMON and hardware samplers are one per host: an installation for trying things out leaves them to others, unless
    # the owner names a program and by that asks for the best source.
    sources = [f"programs = {json.dumps(list(programs))}"] if programs else ['backends = ["referenced"]']
    lines = [
        f"server = {json.dumps(server)}",
        f"state_dir = {json.dumps(str(files.state_dir))}",
        f"join_token_file = {json.dumps(str(files.join_token))}",
        f"interval_seconds = {INTERVAL_SECONDS}",
        "upload_spread_seconds = 0",
        "[heat]",
        'processes = "listed"',
        f"pids_file = {json.dumps(str(heat_pids))}",
        *sources,
        "[guard]",
        # What is asked for here is measured however busy the machine is with other things.
        "cpu_max_ratio = 1.0",
        "memory_max_ratio = 1.0",
    ]
    for program in programs:
        lines += service_rules(program)
    files.config.write_text("\n".join(lines) + "\n", encoding="utf-8")


def provide_join_token(
    instance: Instance, files: AgentFiles, *, enrolled: Path, uses: int = 1, origin: str = "live"
) -> None:
    """Leave a join token for an agent or a fleet that has not enrolled yet: `enrolled` is what it writes then."""
    if enrolled.exists():
        return
    from tierscope.core.database import Database
    from tierscope.usecases.access.tokens import Access

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


@dataclass(slots=True)
class Deliveries:
    """Whether the agent delivers, by its own status file.

    How long ago it did is told by the monotonic clock, from when its file changed: the agent's clock may be set.
    """

    files: AgentFiles
    last: str | None = None
    changed_at: float = 0.0

    def __call__(self) -> bool:
        """Tell whether the agent has delivered a batch lately."""
        delivered = self._read()
        if delivered is None:
            return False
        if delivered != self.last:
            first = self.last is None
            self.last, self.changed_at = delivered, monotonic()
            if first and not _is_recent(delivered):
                self.changed_at -= _STATUS_FRESH.total_seconds()
        return monotonic() - self.changed_at < _STATUS_FRESH.total_seconds()

    def _read(self) -> str | None:
        try:
            delivered = json.loads(self.files.status.read_text(encoding="utf-8")).get("last_delivered_at")
        except (OSError, ValueError, AttributeError):
            return None
        return delivered if isinstance(delivered, str) else None


def _is_recent(delivered: str) -> bool:
    """Tell whether a delivery that an earlier agent left in the file counts, by the clock that it was written with."""
    try:
        return abs(utc_now() - datetime.fromisoformat(delivered)) < _STATUS_FRESH
    except (ValueError, TypeError):
        return False
