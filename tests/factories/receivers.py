"""Receivers on loopback that remember what they got: an HTTP server and a small mail server."""

import json
import socketserver
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, cast

from factories.loopback import LOOPBACK, QuietHandler, QuietServer, serving


@dataclass(frozen=True, slots=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - whatever was sent
        return json.loads(self.body)


@dataclass(slots=True)
class WebReceiver:
    """What came in, and how to answer: `statuses` are used up one by one, then every request gets 200."""

    port: int = 0
    requests: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    before_answer: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/hook"

    @property
    def place(self) -> str:
        """Host and port, as the list of allowed places takes them."""
        return f"{LOOPBACK}:{self.port}"


@contextmanager
def web_receiver(*, tls: ssl.SSLContext | None = None) -> Iterator[WebReceiver]:
    """A running HTTP receiver on a free port."""
    receiver = WebReceiver()

    class Handler(QuietHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name that the base class calls
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.requests.append(Received(self.command, self.path, dict(self.headers), body))
            receiver.before_answer()
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        do_GET = do_POST  # noqa: N815 - the name that the base class calls

    server = QuietServer((LOOPBACK, 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_port
    with serving(server):
        yield receiver


@dataclass(slots=True)
class MailReceiver:
    """What came in. Recipients in `refused` get 550; while `busy` every mail gets 451 after its text."""

    port: int = 0
    letters: list[tuple[str, list[str], EmailMessage]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    busy: bool = False


class _MailSession(socketserver.StreamRequestHandler):
    receiver: MailReceiver

    def handle(self) -> None:
        self.say("220 test")
        sender, recipients = "", cast("list[str]", [])
        while line := self.rfile.readline():
            command = line.strip().decode()
            verb = command.upper()
            if verb.startswith("MAIL FROM:"):
                sender, recipients = command[10:].split(">")[0].lstrip("<"), []
                self.say("250 ok")
            elif verb.startswith("RCPT TO:"):
                recipient = command[8:].split(">")[0].lstrip("<")
                if recipient in self.receiver.refused:
                    self.say("550 nobody here")
                else:
                    recipients.append(recipient)
                    self.say("250 ok")
            elif verb == "DATA":
                self.say("354 go on")
                self.take(sender, recipients)
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def take(self, sender: str, recipients: list[str]) -> None:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        if self.receiver.busy:
            self.say("451 later")
            return
        message = message_from_bytes(b"".join(lines), policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.receiver.letters.append((sender, recipients, message))
        self.say("250 taken")

    def say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")


@contextmanager
def mail_receiver() -> Iterator[MailReceiver]:
    """A running mail server on a free port, without TLS."""
    receiver = MailReceiver()
    session = type("Session", (_MailSession,), {"receiver": receiver})

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that goes away is its own affair."""

    server = Server((LOOPBACK, 0), session)
    receiver.port = server.server_address[1]
    with serving(server):
        yield receiver
