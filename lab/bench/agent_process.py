"""The agent as a benchmark runs it: with settings of its own, sending to a service that takes everything."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import sink

# Budget and guard are out of the way, so that the work is measured and not their wish to do less of it.
_UNBOUNDED = """
[budget]
cpu_max_ratio = 1.0
kernel_cpu_max_ratio = 1.0
rss_max_mib = 1024

[guard]
cpu_max_ratio = 1.0
memory_max_ratio = 1.0
"""


@dataclass(frozen=True, slots=True)
class Agent:
    process: subprocess.Popen[bytes]
    sink: sink.Sink

    @property
    def pid(self) -> int:
        return self.process.pid


@contextmanager
def running(
    binary: Path, *, interval_seconds: int, backends: Sequence[str] = (), pids: Sequence[int] = ()
) -> Iterator[Agent]:
    """An agent that measures heat of `pids` by `backends`, or counters alone; it ends with the block."""
    with sink.serve() as server, tempfile.TemporaryDirectory(prefix="tierscope-bench-") as directory:
        token = Path(directory, "join-token")
        token.write_text("bench")
        token.chmod(0o600)
        listed = Path(directory, "pids")
        listed.write_text("".join(f"{pid}\n" for pid in pids))
        settings = Path(directory, "agent.toml")
        names = ", ".join(f'"{name}"' for name in backends)
        settings.write_text(
            f'server = "{server.url}"\n'
            f'state_dir = "{directory}/agent"\n'
            f'join_token_file = "{token}"\n'
            f"interval_seconds = {interval_seconds}\n"
            "upload_spread_seconds = 0\n"
            f'[heat]\npids_file = "{listed}"\nbackends = [{names}]\n{_UNBOUNDED}'
        )
        server.heat = bool(pids)
        command = [str(binary), "run", f"--config={settings}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield Agent(process, server)
        finally:
            process.terminate()
            process.wait()
