"""A hostile server against the real agent: it lives, stays small, and sends its credential nowhere else."""

import contextlib
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from attack.assault import Assault
from factories.api_watch import memory_mib
from factories.loopback import LOOPBACK, QuietHandler, QuietServer, serving
from factories.waiting import until
from faults.processes import Agent, AgentPlace, agent

MOST_MIB = 64.0
_GIB = 1 << 30
_ENDLESS_BYTES = 256 << 20
_CREDENTIAL = "tsh_" + "a" * 43
_DRIP_SECONDS = 1.0
_PLAN = {"interval_seconds": 1, "paused": False, "heat": {"enabled": True, "services": None, "sample_services": None}}
Answer = Callable[["Hostile", BaseHTTPRequestHandler], None]


@dataclass(slots=True)
class Hostile:
    """A server that answers all but the enrolment in its own way."""

    name: str
    answer: Answer
    elsewhere: str
    asked: int = 0
    port: int = 0
    over: threading.Event = field(default_factory=threading.Event)


def attack(assault: Assault) -> None:
    """An agent for each way to answer, all at once."""
    binary = assault.arena.agent_binary
    if binary is None:
        assault.notes.append("not played: no agent is compiled")
        return
    wanted = assault.of(3, 1)
    folder = assault.arena.folder / f"agents-{assault.dice.getrandbits(40):x}"
    folder.mkdir()
    token = folder / "join-token"
    token.write_text("tsj_" + "a" * 43)
    token.chmod(0o600)
    with contextlib.ExitStack() as stack:
        foreign = stack.enter_context(_foreign())
        played: list[tuple[Hostile, Agent]] = []
        for name, answer in assault.some(WAYS.items(), 6):
            hostile = stack.enter_context(_hostile(name, answer, foreign.url))
            place = AgentPlace(binary, f"http://{LOOPBACK}:{hostile.port}", token, folder)
            made = agent(name.replace(" ", "-"), place)
            made.start()
            stack.callback(made.kill)
            played.append((hostile, made))
        for hostile, made in played:
            _wait(hostile, made, wanted)
        for hostile, made in played:
            _judge(assault, hostile, made)
        if foreign.asked:
            assault.found("an agent followed a redirect to another server")
    assault.notes.append(f"{len(played)} agents")


def _wait(hostile: Hostile, made: Agent, wanted: int) -> None:
    what = f"{hostile.name}: the agent asks {wanted} times"
    until(lambda: hostile.asked >= wanted or _ended(made), what, log=made.log)


def _judge(assault: Assault, hostile: Hostile, made: Agent) -> None:
    assault.requests += hostile.asked
    if _ended(made):
        assault.found(f"{hostile.name}: the agent has ended: {made.log_tail()[-300:]}")
        return
    _, peak = memory_mib(made.pid)
    assault.notes.append(f"{hostile.name}: {peak:.0f} MiB")
    if peak > MOST_MIB:
        assault.found(f"{hostile.name}: the agent grew to {peak:.0f} MiB")
    if "panicked" in made.log_tail():
        assault.found(f"{hostile.name}: the agent panicked: {made.log_tail()[-300:]}")
    if _CREDENTIAL in made.log_tail():
        assault.found(f"{hostile.name}: the agent logged its credential")


def _ended(made: Agent) -> bool:
    return made.process is None or made.process.poll() is not None


@contextlib.contextmanager
def _hostile(name: str, answer: Answer, elsewhere: str) -> Iterator[Hostile]:
    hostile = Hostile(name, answer, elsewhere)

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # noqa: N802 - the name that the base class calls
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/v1/agents/enrol":
                _say(self, 201, json.dumps({"host_id": "h" * 16, "credential": _CREDENTIAL}).encode())
                return
            hostile.asked += 1
            # The agent goes away in the middle of most of these.
            with contextlib.suppress(OSError):
                hostile.answer(hostile, self)
            self.close_connection = True

        do_GET = do_POST  # noqa: N815 - the name that the base class calls

    server = QuietServer((LOOPBACK, 0), Handler)
    hostile.port = server.server_port
    with serving(server):
        try:
            yield hostile
        finally:
            hostile.over.set()


@dataclass(slots=True)
class Foreign:
    """A server that nobody configured."""

    url: str = ""
    asked: int = 0


@contextlib.contextmanager
def _foreign() -> Iterator[Foreign]:
    foreign = Foreign()

    class Handler(QuietHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name that the base class calls
            foreign.asked += 1
            _say(self, 200, b"{}")

        do_GET = do_POST  # noqa: N815 - the name that the base class calls

    server = QuietServer((LOOPBACK, 0), Handler)
    foreign.url = f"http://{LOOPBACK}:{server.server_port}"
    with serving(server):
        yield foreign


def _say(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    sent = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    for name, value in sent.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def _announced(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
    _say(handler, 200, b"{", Content_Length=str(_GIB))
    hostile.over.wait(_DRIP_SECONDS)


def _endless(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for _ in range(_ENDLESS_BYTES >> 16):
        if hostile.over.is_set():
            return
        handler.wfile.write(b"10000\r\n" + b"[" * (1 << 16) + b"\r\n")


def _drip(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
    """A byte a second, until the attack is over."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not hostile.over.wait(_DRIP_SECONDS):
        handler.wfile.write(b"x")


def _redirect(status: int) -> Answer:
    def answer(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
        _say(handler, status, b"", Location=f"{hostile.elsewhere}/v1/ingest/batches")

    return answer


def _said(status: int, body: bytes, **headers: str) -> Answer:
    def answer(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
        del hostile
        _say(handler, status, body, **headers)

    return answer


def _plan(**changed: object) -> Answer:
    return _said(200, json.dumps({**_PLAN, **changed}).encode(), ETag='"x"')


def _many_headers(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    for number in range(10_000):
        if hostile.over.is_set():
            return
        handler.send_header(f"X-{number}", "y" * 50)
    handler.end_headers()


def _garbage(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
    del hostile
    handler.wfile.write(b"\x00\xff" * 100_000)


def _long_header(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(_ENDLESS_BYTES >> 16):
        if hostile.over.is_set():
            return
        handler.wfile.write(b"y" * (1 << 16))


def _closed(hostile: Hostile, handler: BaseHTTPRequestHandler) -> None:
    """The connection ends without a word."""


WAYS: dict[str, Answer] = {
    "1 GiB announced": _announced,
    "an answer without end": _endless,
    "a byte a second": _drip,
    "a redirect 301": _redirect(301),
    "a redirect 302": _redirect(302),
    "a redirect 307": _redirect(307),
    "a redirect 308": _redirect(308),
    "a plan of no interval": _plan(interval_seconds=0),
    "a plan of 4294967295 s": _plan(interval_seconds=4_294_967_295),
    "a plan of -1 s": _plan(interval_seconds=-1),
    "a plan of 1e400 s": _said(200, b'{"interval_seconds":1e400,"paused":false}'),
    "a plan with unknown fields": _plan(exec="touch /tmp/x", server="http://evil.example", path="/etc/passwd"),
    "a plan with a million services": _plan(heat={"enabled": True, "services": ["a/b"] * 30_000}),
    "a plan that is deep": _said(200, b"[" * 200_000),
    "10000 headers": _many_headers,
    "a header without end": _long_header,
    "another content type": _said(200, b"<html>", Content_Type="text/html"),
    "a gzip bomb": _said(200, gzip.compress(bytes(64 << 20)), Content_Encoding="gzip"),
    "garbage": _garbage,
    "an empty 200": _said(200, b""),
    "200 and no UTF-8": _said(200, b"\xff\xfe\x00" * 1000),
    "500": _said(500, b"x" * 100_000),
    "429 for ever": _said(429, b"{}", Retry_After="99999999999999999999"),
    "401": _said(401, b'{"type":"https://tierscope.dev/problems/unknown-credential"}'),
    "no answer": _closed,
}
