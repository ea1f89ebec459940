"""What a pair of work and fault is played on: a stage whose clock can be set, and senders whose account is kept."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from kombu.exceptions import OperationalError

from factories.acknowledged import OF_SAMPLES, Account, Senders, Way
from factories.installations import Enrolled
from factories.remote_writes import HEADERS, HEADERS_V2
from factories.services import batch_headers
from factories.waiting import NeverHappenedError, until
from factories.workers import send_tasks
from faults.processes import clean_env
from faults.stage import Stage
from faults.tap import BATCHES, TOLD_TO_WAIT
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError, Unavailable, UnknownCredential
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.usecases.access.tokens import Access

ROWS = 20
"""Samples of each series in a request."""
_PATHS: dict[Way, str] = {
    "agent": BATCHES,
    "remote_write": "/api/v1/write",
    "remote_write_2": "/api/v1/write",
    "otlp": "/otlp/v1/metrics",
}
_SAMPLES: dict[Way, dict[str, str]] = {
    "remote_write": HEADERS,
    "remote_write_2": HEADERS_V2,
    "otlp": {"Content-Type": "application/x-protobuf"},
}
_REQUEST_SECONDS, _PAUSE_SECONDS = 6.0, 0.2
_END_SECONDS = 120.0


class SaidFailedError(Exception):
    """A work that did not come to its end, and said so."""


class Outside:
    """A running service behind a proxy: requests are sent again until they are acknowledged or refused for good."""

    def __init__(self, url: str, api_token: str, join_token: str) -> None:
        self._url, self._api_token, self._join_token = url, api_token, join_token
        self._client: httpx.AsyncClient | None = None
        self.given_up = False

    def headers(self, way: Way, host: Enrolled | None) -> dict[str, str]:
        """Of a request."""
        if host is not None:
            return batch_headers(host.credential)
        return {**_SAMPLES[way], "Authorization": f"Bearer {self._api_token}"}

    def enrol(self, name: str) -> Enrolled:
        """A new host of that name."""
        body = {"join_token": self._join_token, "hostname": name}
        while not self.given_up:
            with contextlib.suppress(httpx.TransportError):
                answer = httpx.post(f"{self._url}/v1/agents/enrol", json=body, timeout=_REQUEST_SECONDS)
                if answer.status_code == httpx.codes.CREATED:
                    made = answer.json()
                    return Enrolled(HostIdentity(0, made["host_id"], name, "live"), made["credential"])
                # A join token is good for a day, by the clock of the service: it is not where that is ahead.
                to_wait = (*TOLD_TO_WAIT, httpx.codes.UNAUTHORIZED)
                assert answer.status_code in to_wait, f"enrolment: {answer.status_code} {answer.text}"
            threading.Event().wait(_PAUSE_SECONDS)
        raise Unavailable("the scene is over")

    async def deliver(self, way: Way, body: bytes, host: Enrolled | None) -> None:
        """Sends a request until it is taken."""
        if self._client is None:
            self._client = httpx.AsyncClient(base_url=self._url, timeout=_REQUEST_SECONDS)
        while not self.given_up:
            with contextlib.suppress(httpx.TransportError):
                answer = await self._client.post(_PATHS[way], content=body, headers=self.headers(way, host))
                if answer.is_success:
                    assert way != "otlp" or not answer.content, answer.content
                    return
                if answer.status_code == httpx.codes.UNAUTHORIZED and host is not None:
                    raise UnknownCredential(answer.text)
                assert answer.status_code in TOLD_TO_WAIT, f"{way}: {answer.status_code} {answer.text}"
            await asyncio.sleep(_PAUSE_SECONDS)
        raise Unavailable("the scene is over")

    async def close(self) -> None:
        """Ends the connections, within the loop that has them."""
        if self._client is not None:
            await self._client.aclose()


@dataclass(slots=True)
class Bench:
    """A stage, its clock, and the senders of one pair."""

    stage: Stage
    clock: Path
    rng: random.Random
    prefix: str
    """Of the names of this pair's hosts and instances."""
    api_token: str
    senders: Senders
    door: Outside
    clock_ahead: timedelta = timedelta()
    command_process: "subprocess.Popen[bytes] | None" = None
    """The command that does the work, while it runs."""
    taken: tuple[Path, tuple[int, int]] | None = None
    """The last copy, and when it was taken."""
    subjects: frozenset[str] = frozenset()
    """What a purge is to remove, or which host is to move."""
    move_to: str = ""
    """The server that it moves to."""
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _ending: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def account(self) -> Account:
        """Of what was acknowledged."""
        return self.senders.account

    @property
    def agents(self) -> tuple[str, str]:
        """Names of hosts: one sends of the last hours, one of a day that is over."""
        return f"{self.prefix}h1", f"{self.prefix}h2"

    @property
    def instances(self) -> tuple[str, str]:
        """The same of instances."""
        return f"{self.prefix}w1", f"{self.prefix}w2"

    def now(self) -> datetime:
        """The time as the service has it."""
        return utc_now() + self.clock_ahead

    def start(self) -> None:
        """Lets all senders begin."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._send_all()), daemon=True)
        self._thread.start()

    async def _send_all(self) -> None:
        ways: list[tuple[Way, str]] = [("agent", name) for name in self.agents]
        ways += [(way, name) for way in OF_SAMPLES for name in self.instances]
        try:
            await asyncio.gather(*(self._send(way, name) for way, name in ways))
        finally:
            await self.door.close()

    async def _send(self, way: Way, name: str) -> None:
        try:
            while not self._ending.is_set():
                await self.senders.send(way, name)
                await asyncio.sleep(_PAUSE_SECONDS)
        except AssertionError as error:
            self.failures.append(f"{way} {name}: {error}")

    def progress(self, requests: int) -> None:
        """Waits until so many more requests are acknowledged."""
        goal = len(self.account.sent) + requests
        until(
            lambda: len(self.account.sent) >= goal or self.failures, f"{requests} more requests", seconds=_END_SECONDS
        )

    def settle(self) -> None:
        """Ends the senders once what they are at is taken."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)
            assert not self._thread.is_alive(), f"senders cannot deliver what they have\n{self.stage.logs()}"

    def give_up(self) -> None:
        """Ends the senders whatever they do."""
        self.door.given_up = True
        self._ending.set()

    def command(self, *words: str) -> None:
        """Runs `tierscope`.

        Raises:
            SaidFailedError: it ended with another status than 0 and said why, or was killed.
        """
        path = f"{self.stage.cluster.binaries.bin_dir}:{os.environ['PATH']}"
        env = clean_env(**self.stage.settings) | {"PATH": path}
        command = [sys.executable, "-m", "tierscope.cli", *words]
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.command_process = process
        try:
            _, written = process.communicate(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise NeverHappenedError(f"`tierscope {words[0]}` neither ended nor failed") from error
        finally:
            self.command_process = None
        if process.returncode == -signal.SIGKILL:
            raise SaidFailedError("it was killed")
        if process.returncode:
            said = written.decode(errors="replace").strip()
            assert said, f"`tierscope {words[0]}` ended with {process.returncode} without a word"
            assert "Traceback" not in said, f"`tierscope {words[0]}` failed unclearly: {said[-1500:]}"
            raise SaidFailedError("; ".join(dict.fromkeys(said.splitlines())))

    def ask(self, path: str, body: object) -> int:
        """Sends a request to the API past the proxy; its status.

        Raises:
            SaidFailedError: there is no answer, or one that says to come again.
        """
        headers = {"Authorization": f"Bearer {self.api_token}"}
        try:
            answer = httpx.post(f"{self.stage.api.url}{path}", json=body, headers=headers, timeout=_REQUEST_SECONDS)
        except httpx.TransportError as error:
            raise SaidFailedError(f"no answer: {type(error).__name__}") from error
        if answer.status_code in TOLD_TO_WAIT:
            raise SaidFailedError(json.loads(answer.text)["detail"])
        assert answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR, f"{path}: {answer.text}"
        return answer.status_code

    def wake(self, task: str) -> None:
        """Puts a task into the queue, as the scheduler does at its time; nothing where the queue is away."""
        with contextlib.suppress(OSError, OperationalError):
            send_tasks(self.stage.queue.url(), task)

    def servers(self) -> Iterator[Database]:
        """Each server's own rows."""
        yield self.stage.database.other(self.stage.cluster.url())
        if self.stage.node is not None:
            yield self.stage.database.other(self.stage.node_url())

    def on_each(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of all servers. Raises SaidFailedError where one does not answer."""
        rows: list[tuple[Any, ...]] = []
        try:
            for own in self.servers():
                with own.read() as session:
                    rows += session.driver.execute(statement.encode(), values).fetchall()
        except TierscopeError as error:
            raise SaidFailedError(error.detail) from error
        return rows


def make_tokens(stage: Stage) -> str:
    """A token that may do everything."""
    return Access(stage.database).create_api_token(role="admin", note="pairs", lifetime=None, actor="faults").secret


def new_bench(stage: Stage, clock: Path, api_token: str, prefix: str, rng: random.Random) -> Bench:
    """Senders of their own on a stage."""
    door = Outside(stage.proxy.url, api_token, stage.token.read_text())
    return Bench(stage, clock, rng, prefix, api_token, Senders(door, Account(), rows=ROWS), door)
