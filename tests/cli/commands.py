"""Running the `tierscope` command on a data directory of a test's own."""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from factories.waiting import DEADLINE_SECONDS
from fixtures.memory import data_parent
from fixtures.server_logs import logs_kept
from fixtures.servers import Template
from tierscope.cli.main import main
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.process import list_with_cwd

START_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Ended:
    status: int
    stdout: str
    stderr: str


def call(*words: str | Path, env: Mapping[str, str] | None = None) -> Ended:
    """Run `tierscope` within this process, because to import it anew takes longer than most commands.

    `env` is the whole environment; by default that of the tests.
    """
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in written)
    status: object = 0
    with (
        mock.patch.object(sys, "argv", ["tierscope", *map(str, words)]),
        mock.patch.dict(os.environ, os.environ if env is None else env, clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    texts = (stream.getvalue().decode() for stream in written)
    return Ended(status if isinstance(status, int) else int(status is not None), *texts)


def database_environment(template: Template, url: str, folder: Path) -> dict[str, str]:
    """The whole environment of a command on a database, with the tools of that server's release first."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TIERSCOPE_")}
    env |= {"TIERSCOPE_DATABASE_URL": url, "TIERSCOPE_DATA_DIR": str(folder)}
    return env | {"PATH": f"{template.cluster.binaries.bin_dir}:{env['PATH']}"}


def tierscope(template: Template, url: str, folder: Path, *words: str) -> Ended:
    return call(*words, env=database_environment(template, url, folder))


@dataclass(frozen=True, slots=True)
class Tierscope:
    """The command with its own data directory and nothing from the caller's settings."""

    data_dir: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment beside the data directory."""

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TIERSCOPE_")}
        agent = os.environ.get("TIERSCOPE_AGENT_BINARY")
        extra = {"TIERSCOPE_AGENT_BINARY": agent} if agent else {}
        return {
            **kept,
            **extra,
            "TIERSCOPE_DATA_DIR": str(self.data_dir),
            "TIERSCOPE_CONFIG": "/nonexistent",
            "TIERSCOPE_ANONYMOUS_READS": "true",
            "XDG_CONFIG_HOME": str(self.data_dir),
            **self.settings,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tierscope.cli", *arguments]

    def run(self, *arguments: str, expect: int | None = 0, env: dict[str, str] | None = None) -> str:
        """Run to the end, compare the exit status, return stdout. What starts an instance is a process of its own."""
        environment = {**self.env, **(env or {})}
        done = self._started(arguments, environment) if arguments[0] == "up" else call(*arguments, env=environment)
        if expect is not None:
            assert done.status == expect, f"{arguments}: {done.status}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _started(self, arguments: tuple[str, ...], environment: dict[str, str]) -> Ended:
        done = subprocess.run(
            self.command(*arguments),
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def status(self, *arguments: str, expect: int | None = 0) -> dict[str, Any]:
        """The answer of `status --json`. Where all is to be healthy, that is waited for."""
        wait = ("--wait", str(int(DEADLINE_SECONDS))) if expect == 0 else ()
        document = json.loads(self.run("status", "--json", *wait, *arguments, expect=expect))
        assert isinstance(document, dict)
        return document

    def leftovers(self) -> list[str]:
        """Processes that still work on this data directory."""
        found = [f"{pid} in the database directory" for pid in list_with_cwd(find_places(self.data_dir).database)]
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    environment = (entry / "environ").read_bytes()
                except OSError:
                    continue
                if f"TIERSCOPE_DATA_DIR={self.data_dir}\0".encode() in environment:
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found


@contextmanager
def fresh_tierscope(settings: Mapping[str, str] | None = None) -> Iterator[Tierscope]:
    """Yield the command on a new data directory; whatever still runs there is stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="tsc-cli-", dir=data_parent()) as directory:
        base = Path(directory)
        base.chmod(0o755)
        tierscope = Tierscope(base, settings or {})
        try:
            with logs_kept(base):
                yield tierscope
        finally:
            tierscope.run("down")
