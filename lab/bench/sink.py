"""A service that takes every batch of an agent at once, and what the batches say of the agent's own cost."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tierscope.wire._generated.batch_pb2 import Batch
from tierscope.wire.inflate import inflate

MAX_INFLATED_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Collection:
    """One counter collection: its CPU time by the agent's own clock, and the files that have a cadence of their own."""

    cpu_ns: int
    zoneinfo: bool
    cgroups: bool


@dataclass(slots=True)
class Sink:
    """Where the agent sends to, and the bodies that it sent."""

    url: str
    bodies: list[bytes] = field(default_factory=list)
    heat: bool = False
    """Whether the plan that it hands out lets heat be measured."""

    def batches(self) -> list[Batch]:
        """All batches, in the order in which they came."""
        return [Batch.FromString(inflate(body, cap_bytes=MAX_INFLATED_BYTES)) for body in list(self.bodies)]

    def collections(self) -> list[Collection]:
        """The collections in order, the first left out: it opens files and walks over all processes."""
        keys: dict[bytes, list[str]] = {}
        found: list[Collection] = []
        for batch in self.batches():
            keys.update({layout.hash: list(layout.keys) for layout in batch.layouts})
            report = batch.self
            costs = [cost for cost in report.collectors if cost.name == "counters" and cost.runs == 1]
            for block, cost in zip(batch.counters, costs, strict=True):
                present = _present(keys[block.layout_hash], block.validity)
                zoneinfo = any("|zoneinfo|" in key for key in present)
                cgroups = any(key.startswith("cgroup:") for key in present)
                found.append(Collection(cost.cpu_ns, zoneinfo, cgroups))
        return found[1:]


def _present(keys: list[str], validity: bytes) -> list[str]:
    """Keys with a value in the first row of a block."""
    return [key for index, key in enumerate(keys) if not validity or validity[index // 8] >> (index % 8) & 1]


@contextmanager
def serve() -> Iterator[Sink]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    sink = Sink(f"http://127.0.0.1:{server.server_address[1]}")
    server.sink = sink  # type: ignore[attr-defined]  # handlers know their server alone
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/v1/agents/enrol":
            self._answer(201, {"host_id": "h_bench", "credential": "x" * 43})
        else:
            self.server.sink.bodies.append(body)  # type: ignore[attr-defined]  # see serve
            self._answer(200, {"result": "accepted", "too_late": 0, "set_aside": 0, "warnings": []})

    def do_GET(self) -> None:
        heat = {"enabled": self.server.sink.heat}  # type: ignore[attr-defined]  # see serve
        self._answer(200, {"interval_seconds": 60, "paused": False, "heat": heat, "version": 1})

    def _answer(self, status: int, body: dict[str, object]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Requests are not logged: the terminal belongs to the report."""
