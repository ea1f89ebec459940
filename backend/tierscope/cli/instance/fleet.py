"""The demo's fleet: the hosts of the twin, whose truth is known; history at once and then live."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tierscope.cli.base.instance import Instance
from tierscope.cli.instance.agent import AgentFiles, provide_join_token
from tierscope.cli.instance.workloads import HOSTS_EACH, kept_workloads
from tierscope.core.embedded.service import ServiceProcess
from tierscope.core.settings import Settings

HOSTS = 33
"""As many as the twin's default laws name."""
_COMPLETE = re.compile(r"history of \d+ hosts is complete")


@dataclass(slots=True)
class FleetLog:
    """The fleet's progress, as it writes it."""

    path: Path
    offset: int = 0
    loaded: bool = False

    @classmethod
    def at_end_of(cls, path: Path) -> Self:
        """Begin behind what an earlier fleet wrote."""
        return cls(path=path, offset=path.stat().st_size if path.exists() else 0)

    def new_lines(self) -> list[str]:
        """Return the complete lines since the last call."""
        try:
            with self.path.open("rb") as file:
                # A log that was rotated starts again.
                self.offset = self.offset if self.offset <= self.path.stat().st_size else 0
                file.seek(self.offset)
                text, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return []
        self.offset += len(text) + len(newline)
        lines = text.decode("utf-8", errors="replace").splitlines()
        self.loaded = self.loaded or any(_COMPLETE.search(line) for line in lines)
        return lines


def make_fleet(instance: Instance, binary: Path, url: str, *, log: FleetLog, settings: Settings) -> ServiceProcess:
    """Return the fleet. It counts as healthy once its history is loaded. Started again it goes on with its hosts."""
    files = AgentFiles(instance.places.agent_state)
    workloads = kept_workloads(instance)
    uses = HOSTS + HOSTS_EACH * len(workloads)
    remembered = files.state_dir / "fleet.json"
    return ServiceProcess(
        command=[
            str(binary),
            "send",
            *("--server", url),
            *("--state-dir", str(files.state_dir)),
            *("--join-token-file", str(files.join_token)),
            *("--hours", str(settings.demo_hours)),
            *("--older-days", str(settings.demo_older_days)),
            *(word for name in workloads for word in ("--workload", name)),
        ],
        log=log.path,
        prepare=lambda: provide_join_token(instance, files, enrolled=remembered, uses=uses, origin="simulated"),
        probe=lambda: log.loaded,
    )


def enter_decisions(instance: Instance) -> bool:
    """Enter what the fleet's owners would have, once it is worked up; whether all that can be is there.

    Raises:
        SQLAlchemyError: the database does not answer.
        OSError: the fleet has not written what was tried.
        ValueError: what it wrote cannot be read.
    """
    # What supervises real data does without the analytics behind this.
    from tierscope.core.database import Database
    from tierscope.usecases.operate.demonstration import TRIED, Demonstration

    tried = TRIED.validate_json((AgentFiles(instance.places.agent_state).state_dir / "experiments.json").read_bytes())
    database = Database(instance.read_database_url(), pool_size=1)
    try:
        demonstration = Demonstration(database)
        demonstration.confirm_price()
        demonstration.enter_scenarios()
        return demonstration.enter(tried) is not None
    finally:
        database.close()
