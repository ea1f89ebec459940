"""The state file: what an instance runs, so that `status` and `down` work from anywhere, after a crash too."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from tierscope.core.embedded.account import Account
from tierscope.core.embedded.private_files import write_private
from tierscope.core.embedded.process import ProcessId, is_running, list_children

Phase = Literal["setting-up", "up", "stopping", "failed"]
Health = Literal["healthy", "starting", "degraded", "down", "absent"]
_SCHEMA = 1


@dataclass(slots=True)
class ComponentState:
    """One component: its health, why, its process if it has one, and how often it was started again."""

    status: Health
    detail: str
    since: datetime
    process: ProcessId | None = None
    restarts: int = 0


@dataclass(slots=True)
class InstanceState:
    """An instance as its supervisor last wrote it."""

    phase: Phase
    supervisor: ProcessId
    url: str
    note: str = ""
    storage: str | None = None
    components: dict[str, ComponentState] = field(default_factory=dict)
    saved: str = field(default="", compare=False, repr=False)
    """What was written last."""

    @property
    def supervised(self) -> bool:
        """Whether the supervisor that wrote this still runs."""
        return is_running(self.supervisor)

    def fate_of(self, component: ComponentState) -> tuple[Health, str] | None:
        """Its health and why, where its process is gone; None where it is not.

        The supervisor starts parts again and writes so here, unless the file cannot be written: it has other children.
        """
        if component.process is None or is_running(component.process):
            return None
        known = {one.process.pid for one in self.components.values() if one.process is not None}
        if self.supervised and set(list_children(self.supervisor.pid)) - known:
            return "degraded", "started again since the state file could be written: is its disk full, or read-only?"
        return "down", "its process is gone"

    def save(self, path: Path, *, account: Account | None = None) -> None:
        """Write the file at once or not at all; only its owner may read it, `account` or the caller.

        What stands there already is not written again. Raises OSError when it cannot be written; the file is as it was
        then, and nothing else is left.
        """
        shown = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "saved"}
        text = json.dumps({"schema": _SCHEMA, **shown}, indent=1, default=_encode)
        if text == self.saved and path.exists():
            return
        self.saved = ""
        write_private(path, text, account=account)
        self.saved = text


def load(path: Path) -> InstanceState | None:
    """Return the state of an instance; None when it never ran, was taken down, or the file is unreadable."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        return None
    try:
        components = {name: _component(value) for name, value in document["components"].items()}
        return InstanceState(
            phase=document["phase"],
            supervisor=ProcessId(**document["supervisor"]),
            url=document["url"],
            note=document["note"],
            storage=document["storage"],
            components=components,
        )
    except (KeyError, TypeError, ValueError):
        return None


def forget(path: Path) -> None:
    """Remove the state file of an instance that has ended. On a disk that cannot be written it stays.

    Nothing is lost then: whoever reads it finds that its processes are gone.
    """
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _component(value: dict[str, Any]) -> ComponentState:
    process = value["process"]
    return ComponentState(
        status=value["status"],
        detail=value["detail"],
        since=datetime.fromisoformat(value["since"]),
        process=None if process is None else ProcessId(**process),
        restarts=value["restarts"],
    )


def _encode(value: object) -> str | dict[str, Any]:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, ComponentState | ProcessId):
        return asdict(value)
    raise TypeError(type(value).__name__)
