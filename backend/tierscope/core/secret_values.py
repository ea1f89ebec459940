"""Values of secrets that settings stored elsewhere only name: from the environment, or from one directory of files."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tierscope.core.errors import ConfigurationError

MAX_BYTES = 8192
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")


class SecretValues:
    """Reads secrets when they are needed, so that a changed file or a restart with another variable is enough."""

    def __init__(self, directory: Path | None, environment: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._environment = os.environ if environment is None else environment

    def is_set(self, source: Literal["environment", "file"], name: str) -> bool:
        """Whether there is a value."""
        try:
            return bool(self.read(source, name))
        except ConfigurationError:
            return False

    def read(self, source: Literal["environment", "file"], name: str) -> str:
        """The value, without white space around it.

        Raises:
            ConfigurationError: it is not there, or cannot be read; never with any of its content.
        """
        value = self._environment.get(name, "").strip() if source == "environment" else self._read_file(name)
        if not value:
            where = f"the variable {name}" if source == "environment" else f"the secret file {name}"
            raise ConfigurationError(f"{where} is empty or not there", next_step="Set it where the service runs.")
        return value

    def _read_file(self, name: str) -> str:
        if self._directory is None:
            raise ConfigurationError(
                f"the secret file {name} is named, and there is no directory of secrets",
                next_step="Set TIERSCOPE_OUTGOING__SECRETS_DIR.",
            )
        if not _FILE.match(name):
            raise ConfigurationError("a secret file is named without a path")
        try:
            with (self._directory / name).open("rb") as file:
                return file.read(MAX_BYTES).decode().strip()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeError) as error:
            raise ConfigurationError(f"the secret file {name} cannot be read") from error
