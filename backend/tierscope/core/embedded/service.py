"""A component that is one command: started, probed and stopped like the embedded servers."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tierscope.core.embedded.account import Account
from tierscope.core.embedded.process import Launch, start, stop_child

_STOP_SECONDS = 20.0


@dataclass(slots=True)
class ServiceProcess:
    """One child process of ours. `probe` tells whether it does its work now; it must answer within seconds."""

    command: Sequence[str]
    log: Path
    probe: Callable[[], bool]
    env: Mapping[str, str] = field(default_factory=dict)
    alive: Callable[[], bool] | None = None
    """Tells whether it responds at all, whatever it depends on; None = as `probe`."""
    prepare: Callable[[], None] | None = None
    account: Account | None = None
    cwd: Path | None = None
    server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process without waiting for it to be ready. Raises OSError when it cannot be run."""
        if self.prepare is not None:
            self.prepare()
        env = {**os.environ, **self.env}
        self.server = start(Launch(command=self.command, log=self.log, account=self.account, env=env, cwd=self.cwd))

    def stop(self) -> None:
        """Stop the process and what it started; harmless when it does not run."""
        if self.server is None:
            return
        stop_child(self.server, grace_seconds=_STOP_SECONDS)
        self.server = None

    def answers(self) -> bool:
        """Tell whether the process runs and does its work."""
        return self.server is not None and self.server.poll() is None and self.probe()

    def hangs(self) -> bool:
        """Tell whether the process runs and responds to nothing."""
        return self.server is not None and self.server.poll() is None and not (self.alive or self.probe)()
