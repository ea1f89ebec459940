"""Child processes: how they are started, recognised later, and ended.

A pid alone is reused by the kernel; a pid together with the start time of the process is not, so that pair is what
state files keep and what every signal is checked against.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tierscope.core.embedded.account import Account
from tierscope.core.embedded.log_files import open_for_child

_PR_SET_PDEATHSIG = 1
_STAT_STATE, _STAT_PPID, _STAT_START = 0, 1, 19  # positions after the parenthesised command name, proc(5)
_STAT_CPU = slice(11, 13)
_POLL_SECONDS = 0.05
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process for good: its pid and its start time in clock ticks since boot."""

    pid: int
    start_ticks: int


def identify(pid: int) -> ProcessId | None:
    """Return the identity of the process that has `pid` now; None when there is none or it is a zombie."""
    fields = stat_fields(pid)
    if fields is None or fields[_STAT_STATE] in {"Z", "X"}:
        return None
    return ProcessId(pid=pid, start_ticks=int(fields[_STAT_START]))


def is_running(process: ProcessId) -> bool:
    """Tell whether exactly this process still runs."""
    return identify(process.pid) == process


def list_children(pid: int) -> list[int]:
    """Return the pids of the direct children of `pid`, in ascending order."""
    try:
        # The kernel's own list, where it keeps one: what else runs on the machine need not be looked at.
        lists = [(task / "children").read_text(encoding="ascii") for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return _search_children(pid)
    children = [int(child) for text in lists for child in text.split()]
    return sorted(child for child in children if identify(child) is not None)


def _search_children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = stat_fields(int(entry.name))
            if fields is not None and int(fields[_STAT_PPID]) == pid and fields[_STAT_STATE] != "Z":
                found.append(int(entry.name))
    return sorted(found)


def cpu_ticks(pid: int) -> int:
    """Clock ticks of CPU that a process has used itself: its children may work on while it does nothing."""
    fields = stat_fields(pid)
    return 0 if fields is None else sum(map(int, fields[_STAT_CPU]))


def list_with_cwd(directory: Path) -> list[int]:
    """Return the pids of processes whose working directory is `directory`, as it is for PostgreSQL's."""
    wanted = str(directory.resolve())
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if str((entry / "cwd").readlink()) == wanted:
                    found.append(int(entry.name))
    return sorted(found)


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: the command, the account, where it writes, and which signal it gets when its parent dies.

    What it makes is for itself alone unless `umask` says otherwise.
    """

    command: Sequence[str]
    log: Path
    account: Account | None = None
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    death_signal: signal.Signals = signal.SIGTERM
    umask: int = 0o077


def tie_to_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """What a child runs before its command so that the kernel signals it when the starting thread dies."""
    parent = os.getpid()

    def tie() -> None:
        # Runs after the change of ids, which would clear the setting.
        _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return tie


def start(launch: Launch) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own, so that Ctrl-C in a terminal reaches only its supervisor.

    The child is signalled by the kernel when the starting thread dies, even by SIGKILL: start children from the main
    thread only. Raises OSError when the command cannot be run.
    """
    account = launch.account
    drops = account is not None and account.drops
    with os.fdopen(open_for_child(launch.log), "ab") as log:
        return subprocess.Popen(  # noqa: S603 - commands are built here from found binaries, never from input
            list(launch.command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=None if launch.env is None else dict(launch.env),
            cwd=launch.cwd,
            start_new_session=True,
            preexec_fn=tie_to_parent(launch.death_signal),  # noqa: PLW1509 - one prctl call; the supervisor starts children from one thread
            user=account.uid if account is not None and drops else None,
            group=account.gid if account is not None and drops else None,
            extra_groups=[] if drops else None,
            umask=launch.umask,
        )


def run_as(account: Account, command: Sequence[str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a short command to its end as `account` and return it with its output (stdout and stderr together)."""
    return subprocess.run(  # noqa: S603 - as above
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=cwd,
        check=False,
        user=account.uid if account.drops else None,
        group=account.gid if account.drops else None,
        extra_groups=[] if account.drops else None,
    )


def stop(process: ProcessId, *, with_signal: signal.Signals, grace_seconds: float) -> bool:
    """Signal a process, wait, and end its whole session with SIGKILL after `grace_seconds`; tell whether it obeyed.

    Works for children and for processes of an earlier supervisor alike. Members of its session that outlive it (a
    forked scheduler) are ended too.
    """
    obeyed = True
    if is_running(process):
        _send(process.pid, with_signal)
        obeyed = wait_gone(process, timeout_seconds=grace_seconds)
        if not obeyed:
            _send(process.pid, signal.SIGKILL)
            wait_gone(process, timeout_seconds=grace_seconds)
    kill_session(process.pid)
    return obeyed


def stop_child(
    child: subprocess.Popen[bytes], *, grace_seconds: float, with_signal: signal.Signals = signal.SIGTERM
) -> None:
    """Stop a process of ours by a signal, later SIGKILL, and take its exit status; harmless when it has ended."""
    identity = identify(child.pid)
    if identity is not None:
        stop(identity, with_signal=with_signal, grace_seconds=grace_seconds)
    child.wait()


def kill_session(leader_pid: int) -> None:
    """Send SIGKILL to what is left of the process group that `leader_pid` led as session leader."""
    if leader_pid != os.getpgrp():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader_pid, signal.SIGKILL)


def wait_gone(process: ProcessId, *, timeout_seconds: float) -> bool:
    """Wait until a process has ended (or is a zombie that its parent has yet to reap); False on timeout."""
    deadline = time.monotonic() + timeout_seconds
    while is_running(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _send(pid: int, with_signal: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, with_signal)


def stat_fields(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat behind the name; None where the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
