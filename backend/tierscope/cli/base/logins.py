"""What `tierscope login` keeps: the service that commands ask, and tokens by address, in a file of mode 0600."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import typer

from tierscope.core.embedded.private_files import write_private


@dataclass(slots=True)
class Logins:
    """The content of the file. `url` is None where commands ask the instance of this machine."""

    url: str | None = None
    tokens: dict[str, str] = field(default_factory=dict)

    def save(self) -> None:
        """Write the file, readable by its owner alone. Raises OSError."""
        path = logins_file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, json.dumps(asdict(self)))


def logins_file() -> Path:
    """Where the file is: in the user's directory of settings."""
    return Path(typer.get_app_dir("tierscope")) / "logins.json"


def read_logins() -> Logins:
    """What is kept; nothing where the file is absent or cannot be read."""
    with suppress(OSError, ValueError, TypeError):
        return Logins(**json.loads(logins_file().read_text(encoding="utf-8")))
    return Logins()
