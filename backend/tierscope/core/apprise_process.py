"""The library apprise in a process of its own, in which no connection can be made that the guard does not let through.

The library looks up and calls addresses by itself, in many ways. So it is not asked where it will call: an audit hook
of the interpreter, which nothing in the process can take off, judges every connection when it is made.

    python -m tierscope.core.apprise_process < request.json > answer.json
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tierscope.core.addresses import Allowed, parse_allowed, plain_address
from tierscope.core.errors import OutgoingFailed, OutgoingRefused
from tierscope.core.settings import Outgoing

_PROGRAMS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork"})
_MACHINE = frozenset({"syslog.openlog", "syslog.syslog"})
_LOCAL = frozenset({"dbus", "glib", "gnome", "macosx", "syslog", "windows"})
"""Channels of the machine that the service runs on, by module of the library."""
_CALLS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_INTERNET = (socket.AF_INET, socket.AF_INET6)


def send_by_apprise(settings: Outgoing, url: str, *, title: str, text: str, kind: str) -> None:
    """Sends a message to the channel of an apprise URL; `kind` is `warning`, `failure`, `success` or `info`.

    Raises:
        OutgoingRefused: it led to an internal address, or the library does not know such a URL.
        OutgoingFailed: the channel did not take it, or it took longer than `total_seconds`.
    """
    request = {"url": url, "title": title, "text": text, "kind": kind, "allow": list(settings.allow)}
    command = [sys.executable, "-m", __spec__.name]
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH") if name in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - our own module; the request goes through stdin
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            check=False,
            timeout=settings.total_seconds + _START_SECONDS,
            env=environment,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise OutgoingFailed(f"the channel took longer than {settings.total_seconds:g} s") from error
    except ValueError as error:
        raise OutgoingFailed("the channel's library stopped without an answer") from error
    if answer["refused"]:
        raise OutgoingRefused(f"the channel {answer['refused']}")
    if not answer["known"]:
        raise OutgoingRefused("apprise knows no such URL", next_step="Look the channel up in the apprise manual.")
    if not answer["sent"]:
        raise OutgoingFailed("the channel did not take it")


_START_SECONDS = 10.0
"""For loading the library with all its channels."""


class Guard:
    """The hook: raises where a connection may not be made, and remembers the first time."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._places = {(address, port) for host, port in allowed.places for address in _look_up(host, port)}
        self.refused: str | None = None

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Judges one event of the interpreter."""
        if event in _PROGRAMS:
            self._refuse("would start a program")
        elif event in _MACHINE:
            self._refuse("would talk to this machine")
        elif event in _CALLS and arguments[1] is not None:
            self._judge(arguments[0], arguments[1])

    def _judge(self, caller: socket.socket, address: Any) -> None:  # noqa: ANN401 - as sockets take it
        if caller.family not in _INTERNET:
            self._refuse("would talk to this machine")
        try:
            plain = plain_address(str(address[0]))
        except ValueError:
            self._refuse("calls a name that was not looked up")
        if not self._allowed.permits(plain, "", 0) and (str(plain), address[1]) not in self._places:
            self._refuse(f"leads to the internal address {plain}")

    def _refuse(self, what: str) -> None:
        self.refused = self.refused or what
        raise PermissionError(what)


def _look_up(host: str, port: int) -> set[str]:
    try:
        return {str(plain_address(str(entry[4][0]))) for entry in socket.getaddrinfo(host, port)}
    except OSError:
        return set()


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    guard = Guard(parse_allowed(request["allow"]))
    sys.addaudithook(guard)
    import apprise  # noqa: PLC0415 - only here, behind the guard: it is large, and other processes do without it

    channel = apprise.Apprise.instantiate(request["url"], suppress_exceptions=True)
    if not isinstance(channel, apprise.NotifyBase):
        return {"known": False, "sent": False, "refused": guard.refused}
    if type(channel).__module__.rpartition(".")[2] in _LOCAL:
        return {"known": True, "sent": False, "refused": "would talk to this machine"}
    sent = channel.notify(title=request["title"], body=request["text"], notify_type=request["kind"], body_format="text")
    return {"known": True, "sent": bool(sent), "refused": None if sent else guard.refused}


if __name__ == "__main__":
    out = os.dup(1)
    os.dup2(2, 1)  # whatever the library prints is not our answer
    os.write(out, json.dumps(_answer(json.load(sys.stdin))).encode())
