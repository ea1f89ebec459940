"""Backups of a fleet on several servers: a cut through all of them, and where its parts may be restored to."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tierscope.core.database import Database
from tierscope.core.errors import Conflict, TierscopeError, Unavailable, Unprocessable
from tierscope.storage.base.facts import find_fact
from tierscope.storage.base.partitions import Mode, storage_mode, timescaledb_version
from tierscope.storage.nodes.cut import OpenSnapshot, hold_writes, open_snapshot
from tierscope.storage.nodes.moving import try_move_lock
from tierscope.storage.nodes.numbers import has_tables, which_database
from tierscope.storage.nodes.rows import DataNode, read_nodes
from tierscope.usecases.nodes.changes import NODE_FACT
from tierscope.usecases.nodes.fleet import Nodes, until_free
from tierscope.usecases.nodes.restoring import finish_restore, require_finished

TRIES = 20
"""Of a cut: each ends where another transaction writes for long."""


@dataclass(frozen=True, slots=True)
class CutPart:
    """A server with the name of its snapshot, which stands while the cut is open."""

    node: DataNode
    storage: Mode
    timescaledb: str | None
    """The version of the extension; None where the tables are partitions."""
    snapshot: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Snapshots of one moment of a fleet. Writes to several servers waited for `held_seconds`."""

    parts: tuple[CutPart, ...]
    held_seconds: float


@contextmanager
def hosts_stay(database: Database) -> Iterator[None]:
    """Keeps hosts from being moved between nodes: views that show them come and go meanwhile.

    Raises:
        Conflict: they move now, or a restore is not finished as a node does not answer.
    """
    with database.own_rows.write() as holding:
        if not try_move_lock(holding):
            raise Conflict(
                "hosts move between nodes now",
                next_step="Wait until that has ended. A drain may be stopped: it goes on when run again.",
            )
        require_finished(finish_restore(database))
        yield


@contextmanager
def consistent_cut(database: Database) -> Iterator[Cut]:
    """Takes a snapshot of each server, the coordinator's last: it knows all services that rows of nodes refer to.

    No host moves before the block ends.

    Raises:
        Conflict: hosts move now.
        Unavailable: a node does not answer, or others wrote for long, again and again.
    """
    nodes = Nodes(database)
    with ExitStack() as opened:
        opened.enter_context(hosts_stay(database))
        listed, modes, versions = nodes.listed()[::-1], {}, {}
        snapshots = {}
        for node in listed:
            try:
                with nodes.own(node.number).read() as session:
                    modes[node.number] = storage_mode(session)
                    versions[node.number] = timescaledb_version(session)
                snapshots[node.number] = opened.enter_context(open_snapshot(nodes.own(node.number).url))
            except TierscopeError as error:
                raise Unavailable(f"node {node.name}: {error.detail}", retry_after_seconds=5) from error
        taken, held_seconds = until_free(lambda: _take(database, snapshots), tries=TRIES)
        parts = tuple(CutPart(node, modes[node.number], versions[node.number], taken[node.number]) for node in listed)
        yield Cut(parts, held_seconds)


def _take(database: Database, snapshots: Mapping[int, OpenSnapshot]) -> tuple[dict[int, str], float]:
    """Takes all snapshots at one moment; their names, and for how many seconds writes to several servers waited."""
    with database.own_rows.write() as fence:
        began = time.monotonic()
        hold_writes(fence)
        taken = {number: snapshot.take() for number, snapshot in snapshots.items()}
    return taken, time.monotonic() - began


def known_addresses(database: Database) -> dict[str, str]:
    """Where nodes are now, by name; none where the coordinator's database is empty."""
    with database.own_rows.read() as session:
        listed = read_nodes(session) if has_tables(session) else ()
    return {node.name: node.url for node in listed if node.number}


def check_targets(database: Database, names: Mapping[int, str], urls: Mapping[int, str]) -> None:
    """Whether each server of a backup may be restored to its address; nothing is changed.

    `names`, `urls`: of all servers, by their numbers in the backup.

    Raises:
        Unprocessable: two of the addresses lead to one database.
        Conflict: a database belongs to another fleet, or holds tables that are no node's.
        Unavailable: a server cannot be reached.
    """
    seen: dict[str, str] = {}
    for number, url in urls.items():
        name = names[number]
        server = database.own_rows if number == 0 else database.other(url)
        try:
            with server.read() as session:
                there = which_database(session)
                filled = has_tables(session)
                holds = find_fact(session, NODE_FACT) if filled else None
        except Unavailable as error:
            raise Unavailable(f"node {name}: {error.detail}", retry_after_seconds=5) from error
        if there in seen:
            raise Unprocessable(
                f"the addresses of {seen[there]} and {name} lead to one database",
                next_step="Name a database of its own for each: --node NAME=URL.",
            )
        seen[there] = name
        if number and filled and holds != name:
            raise Conflict(
                f"the database for node {name} holds {'the node ' + holds if holds else 'tables that are no node'}",
                next_step="Name an empty database, or that of the node of this name.",
            )
