"""What goes over the wire between agents and the service, read off the bytes that a proxy passes on.

Both sides of an HTTP/1.1 connection are cut into messages. An answer counts as given only when its last byte went to
the client, so that `Tap.acknowledged` is never more than what clients may rely on.
"""

import json
import threading
from collections import Counter
from dataclasses import dataclass, field

BATCHES = "/v1/ingest/batches"
TOLD_TO_WAIT = (429, 503)

Key = tuple[str, str, int]
"""Host id, stream id (hexadecimal), sequence number."""


@dataclass(frozen=True, slots=True)
class Message:
    """One request or answer: its first line, headers with lower-case names, body."""

    start: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target of a request."""
        return self.start.split(" ")[1]

    @property
    def status(self) -> int:
        """The status of an answer."""
        return int(self.start.split(" ")[1])


class Messages:
    """Cuts one direction of a connection into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes."""
        self._buffer += data
        found: list[Message] = []
        while (message := self._take()) is not None:
            found.append(message)
        return found

    def _take(self) -> Message | None:
        head, separator, _ = bytes(self._buffer).partition(b"\r\n\r\n")
        if not separator:
            return None
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        begin = len(head) + len(separator)
        if headers.get("transfer-encoding") == "chunked":
            return self._take_chunked(lines[0], headers, begin)
        end = begin + int(headers.get("content-length", "0"))
        if len(self._buffer) < end:
            return None
        message = Message(lines[0], headers, bytes(self._buffer[begin:end]))
        del self._buffer[:end]
        return message

    def _take_chunked(self, start: str, headers: dict[str, str], begin: int) -> Message | None:
        body, at, raw = b"", begin, bytes(self._buffer)
        while (line_end := raw.find(b"\r\n", at)) >= 0:
            size = int(raw[at:line_end].split(b";")[0], 16)
            at = line_end + 2 + size + 2
            if len(raw) < at:
                return None
            body += raw[line_end + 2 : line_end + 2 + size]
            if size == 0:
                del self._buffer[:at]
                return Message(start, headers, body)
        return None


@dataclass(slots=True)
class Tap:
    """What was sent and answered."""

    bodies: list[bytes] = field(default_factory=list)
    """Of all batches that reached the service whole, repeats included."""
    acknowledged: dict[Key, int] = field(default_factory=dict)
    """How often each batch was acknowledged to its client."""
    repeated: set[Key] = field(default_factory=set)
    """Batches that were answered with `duplicate`."""
    unheard: int = 0
    """Answers about stored batches that were lost on their way to the client."""
    statuses: Counter[int] = field(default_factory=Counter)
    without_retry_after: list[str] = field(default_factory=list)
    """Answers 429 and 503 that do not say when to come back."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def request(self, message: Message) -> None:
        """Notes a whole request."""
        if message.path == BATCHES:
            with self._lock:
                self.bodies.append(message.body)

    def answer(self, message: Message) -> None:
        """Notes an answer that the client got."""
        with self._lock:
            self.statuses[message.status] += 1
            if message.status in TOLD_TO_WAIT and not message.headers.get("retry-after", "").isdecimal():
                self.without_retry_after.append(f"{message.start}: {message.body[:300]!r}")
            if not _is_receipt(message):
                return
            receipt = json.loads(message.body)
            key = (receipt["host_id"], receipt["stream_id"], receipt["seq"])
            self.acknowledged[key] = self.acknowledged.get(key, 0) + 1
            if receipt["result"] == "duplicate":
                self.repeated.add(key)

    def lost(self, message: Message) -> None:
        """Notes an answer that the client did not get."""
        with self._lock:
            self.unheard += _is_receipt(message)

    def acknowledged_of(self, hosts: frozenset[str] | set[str]) -> list[Key]:
        """Batches of these hosts that their clients know to be stored."""
        with self._lock:
            return [key for key in self.acknowledged if key[0] in hosts]

    def taken(self) -> int:
        """How many different batches have been acknowledged."""
        with self._lock:
            return len(self.acknowledged)


def _is_receipt(message: Message) -> bool:
    return message.status == 200 and b'"stream_id"' in message.body
