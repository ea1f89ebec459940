"""PostgreSQL's own tools on one database: the password travels in the environment, not on the command line."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import typer

from tierscope.cli.base.exits import fail
from tierscope.cli.base.instance import find_instance
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.process import tie_to_parent
from tierscope.core.settings import Settings

DEADLOCK = "deadlock detected"
NO_CATALOGUE = "--exclude-schema=pg_catalog"
"""Of `pg_dump`: who may call which function of PostgreSQL is set anew where a backup goes."""


@dataclass(frozen=True, slots=True)
class ClientTools:
    """Runs `pg_dump` and `pg_restore` of the release that the instance of this machine has."""

    settings: Settings
    demo: bool

    def run(
        self,
        address: str,
        command: list[str],
        *,
        quiet: bool = False,
        tries: int = 1,
        reads: IO[bytes] | None = None,
        writes: IO[bytes] | None = None,
        options: str = "",
    ) -> str:
        """Run a tool, which ends with this process; an empty argument stands for the database's name.

        With `tries`, a tool of one transaction begins again where it and another session waited for each other, and the
        server chose to end its transaction. Returns what it printed, where it is to be `quiet`. `reads` is what it gets
        on its standard input, `writes` where its standard output goes, `options` what its session sets on the server.
        """
        from tierscope.core.database import libpq_url
        from tierscope.core.embedded.postgres import open_cluster

        tool, *arguments = command
        places = find_instance(self.settings, demo=self.demo).places
        account = choose_account(self.settings.account, create=False)
        binary = open_cluster(places, account).binaries.tool(tool)
        connection = _connection_environment(libpq_url(address))
        arguments = [argument or connection["PGDATABASE"] for argument in arguments]
        words, env = [str(binary), *arguments], {**os.environ, **connection}
        if options:
            env["PGOPTIONS"] = f"{env.get('PGOPTIONS', '')} {options}"
        while True:
            tries -= 1
            if reads is None and writes is None:
                done = subprocess.run(  # noqa: S603
                    words,
                    env=env,
                    preexec_fn=tie_to_parent(signal.SIGTERM),
                    stdout=subprocess.PIPE if quiet else None,
                    stderr=subprocess.PIPE,
                    text=True,
                    check=False,
                )
                status, out, told = done.returncode, done.stdout or "", done.stderr
            else:
                (status, told), out = _piped(words, env, reads, writes), ""
            if status == 0 or tries <= 0 or DEADLOCK not in told:
                break
            typer.echo("Others read what is replaced; beginning again.", err=True)
        typer.echo(told, nl=False, err=True)
        if status != 0:
            fail(f"{tool} ended with status {status}", next_step="its own message stands above")
        return out


def _piped(words: list[str], env: dict[str, str], reads: IO[bytes] | None, writes: IO[bytes] | None) -> tuple[int, str]:
    """Status and messages. What is no file of the system is copied: one of both at most is, so none waits."""
    into: IO[bytes] | int | None = writes if _is_file(writes) else None if writes is None else subprocess.PIPE
    # Messages go to a file: a pipe that nobody empties meanwhile would fill, and the tool wait.
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(  # noqa: S603
            words,
            env=env,
            stdin=subprocess.PIPE if reads is not None else subprocess.DEVNULL,
            stdout=into,
            stderr=messages,
            preexec_fn=tie_to_parent(signal.SIGTERM),  # noqa: PLW1509 - commands have one thread
        ) as ended,
    ):
        if reads is not None and ended.stdin is not None:
            with suppress(BrokenPipeError):  # its message says why it ended, where it failed
                shutil.copyfileobj(reads, ended.stdin, 1 << 20)
            with suppress(BrokenPipeError):
                ended.stdin.close()
        if writes is not None and ended.stdout is not None:
            shutil.copyfileobj(ended.stdout, writes, 1 << 20)
        status = ended.wait()
        messages.seek(0)
        return status, messages.read().decode(errors="replace")


def _is_file(stream: IO[bytes] | None) -> bool:
    try:
        return stream is not None and stream.fileno() >= 0
    except OSError:
        return False


def _connection_environment(address: str) -> dict[str, str]:
    from psycopg.conninfo import conninfo_to_dict

    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
    parsed = conninfo_to_dict(address)
    return {names[key]: str(value) for key, value in parsed.items() if key in names and value is not None}
