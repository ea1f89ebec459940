"""Between the service and a server of S3: it hands on what either says, or lies as it is told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from core.test_object_lies import Answers
from factories.loopback import LOOPBACK, NO_AUTHORITIES, listening
from factories.waiting import DEADLINE_SECONDS

_OF_THE_CONNECTION = {"connection", "content-length", "date", "server", "transfer-encoding"}


@dataclass(slots=True)
class Middleman:
    """Where it listens, and what it says in the server's place: None = what the server says."""

    port: int = 0
    lie: Callable[[Answers], None] | None = None
    asked: int = 0
    """Requests that came while it lied."""

    @property
    def place(self) -> str:
        """As settings name what may be called."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def address(self) -> str:
        """As settings name the server."""
        return f"http://{self.place}"


@contextmanager
def middleman(server: str) -> Iterator[Middleman]:
    """One in front of the server at that address; it ends with the block."""
    made = Middleman()
    with httpx.Client(base_url=server, timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES) as client:

        def say(answer: Answers) -> None:
            body = answer.rfile.read(int(answer.headers.get("Content-Length", 0)))
            if made.lie is not None:
                made.asked += 1
                made.lie(answer)
                return
            said = client.request(answer.command, answer.path, headers=list(answer.headers.items()), content=body)
            kept = {name: text for name, text in said.headers.items() if name.lower() not in _OF_THE_CONNECTION}
            answer.send(said.content, int(said.headers["Content-Length"]), said.status_code, **kept)

        methods = {f"do_{method}": say for method in ("GET", "HEAD", "PUT", "POST", "DELETE")}
        with listening(type("Handing", (Answers,), methods)) as port:
            made.port = port
            yield made
