"""A database that is stopped, not gone: nobody waits for it for ever."""

import os
import signal
from contextlib import closing

import pytest

from tierscope.core import database as databases
from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import Unavailable

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def _pid(session: ReadSession) -> int:
    return int(session.ask("SELECT pg_backend_pid() AS pid")[0].pid)


def _ask_one_that_stops(database: Database, pids: list[int]) -> None:
    with database.read() as session:
        pids.append(_pid(session))
        os.kill(pids[0], signal.SIGSTOP)
        session.ask("SELECT 1")


def test_whoever_waits_for_a_stopped_server_is_told_and_the_next_one_is_served(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "GRACE_SECONDS", 0.2)
    with closing(Database(database_url, pool_size=1, read_statement_seconds=0.2)) as database:
        with database.read() as session:
            pid = _pid(session)
        os.kill(pid, signal.SIGSTOP)
        try:
            with database.read() as session:
                assert _pid(session) != pid, "what has not begun goes over a new connection"
        finally:
            os.kill(pid, signal.SIGCONT)
        pids: list[int] = []
        try:
            with pytest.raises(Unavailable, match="cannot be reached"):
                _ask_one_that_stops(database, pids)
        finally:
            os.kill(pids[0], signal.SIGCONT)
        with database.snapshot() as session:
            assert session.ask("SELECT pg_sleep(0.6), 1 AS one")[0].one == 1, "who takes time is waited for"
        with database.read() as session:
            assert session.ask("SELECT 1 AS one")[0].one == 1
