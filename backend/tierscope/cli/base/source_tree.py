"""Where compiled programs come from: wheels of their names, or the source tree, compiled in the background.

Compiling takes minutes, so the service never waits for it: it is done beside, at low priority, and the program joins
when it is done. `deploy/dev/compile.sh` makes all of them and the simulator core in one run; `make up` calls it before.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import tierscope
from tierscope.core.embedded.log_files import settle
from tierscope.core.embedded.process import Launch, start, stop_child

AGENT = "tierscope-agent"
"""It measures this host."""
FLEET = "tierscope-fleet"
"""It plays simulated hosts."""
_PACKAGE = Path(tierscope.__file__).resolve().parent
_CRATE = re.compile(r"^\s*Compiling (\S+)", re.MULTILINE)
_LAST_LINES = 12
_STOP_SECONDS = 10.0


def source_workspace() -> Path | None:
    """Return the agent's cargo workspace when the package runs from a source tree."""
    workspace = _PACKAGE.parents[1] / "collector-agent"
    return workspace if (workspace / "Cargo.toml").is_file() else None


def shipped_program(name: str) -> Path | None:
    """Return the agent named by TIERSCOPE_AGENT_BINARY or what is beside it, else what a wheel installed."""
    override = os.environ.get("TIERSCOPE_AGENT_BINARY")
    if override and name == AGENT:
        return Path(override)
    beside = Path(override).with_name(name) if override else None
    if beside is not None and os.access(beside, os.X_OK):
        return beside
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return None
    # The wheel's record says where its script went: the environment need not be active, nor its scripts be on PATH.
    placed = [Path(os.path.normpath(file.locate())) for file in files if file.name == name]
    return next((path for path in placed if os.access(path, os.X_OK)), None)


def find_agent() -> Path | None:
    """Return the agent's program, where it exists now."""
    return find_program(AGENT)


def find_program(name: str) -> Path | None:
    """Return a program that exists now: shipped, compiled, or on PATH; None without one."""
    shipped = shipped_program(name)
    if shipped is not None:
        return shipped
    workspace = source_workspace()
    if workspace is not None:
        built = Path(os.environ.get("CARGO_TARGET_DIR", workspace / "target")) / "checkout" / name
        return built if os.access(built, os.X_OK) else None
    found = shutil.which(name)
    return None if found is None else Path(found)


@dataclass(slots=True)
class ProgramBuild:
    """The programs and the simulator core of a source tree, compiled in the background."""

    workspace: Path
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> bool:
        """Start cargo; return False where there is none. An up-to-date program takes it a moment."""
        cargo = shutil.which("cargo") or _rustup_cargo()
        if cargo is None:
            return False
        self.log.unlink(missing_ok=True)
        nice = shutil.which("nice")
        command = [str(self.workspace.parent / "deploy" / "dev" / "compile.sh")]
        env = {**os.environ, "CARGO_TERM_COLOR": "never", "PATH": f"{os.environ.get('PATH', '')}:{Path(cargo).parent}"}
        command = [nice, *command] if nice else command
        # What is compiled belongs to the checkout, whose other users may run it.
        self.process = start(Launch(command=command, log=self.log, env=env, cwd=self.workspace, umask=0o022))
        return True

    @property
    def running(self) -> bool:
        """Whether cargo still works."""
        return self.process is not None and self.process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether cargo ended with an error."""
        return self.process is not None and self.process.poll() not in (None, 0)

    def stop(self) -> None:
        """End cargo and its compilers; harmless when it has ended."""
        if self.process is None:
            return
        stop_child(self.process, grace_seconds=_STOP_SECONDS)

    def count_crates(self) -> int:
        """Return how many crates cargo has begun so far."""
        return len(_CRATE.findall(self._text()))

    def last_lines(self) -> str:
        """Return the end of cargo's output, where it says why it failed."""
        return "\n".join(self._text().splitlines()[-_LAST_LINES:])

    def _text(self) -> str:
        settle()
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _rustup_cargo() -> str | None:
    candidate = Path.home() / ".cargo" / "bin" / "cargo"
    return str(candidate) if os.access(candidate, os.X_OK) else None
