"""Adding servers to a fleet, and bringing all of them to this release."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.core.database import Database
from tierscope.core.errors import Conflict, TierscopeError, Unprocessable
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.base.facts import find_fact, store_fact, store_fact_once
from tierscope.storage.base.partitions import Mode, storage_mode
from tierscope.storage.base.schema import SchemaState, downgrade, schema_state, upgrade
from tierscope.storage.nodes.foreign import drop_pieces, make_pieces, show_fleet
from tierscope.storage.nodes.leaving import own_numberings
from tierscope.storage.nodes.numbers import count_hosts, take_numbers
from tierscope.storage.nodes.placement import MAX_NODE, Placement, numbers_of, place_of
from tierscope.storage.nodes.rows import (
    DataNode,
    has_ranges,
    insert_node,
    lock_nodes,
    note_cut,
    read_nodes,
    read_placement,
    read_urls,
    store_placement,
)
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.nodes.restoring import finish_if_free

COORDINATOR = "coordinator"
"""The name of the first server, which holds what is of the whole fleet and hosts of its own."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
NODE_FACT = "node"
"""Under which a database keeps its name within its fleet."""
LAST_NUMBER_FACT = "node_last_number"
"""Under which a coordinator that has no nodes any more keeps the largest number that one had."""


@dataclass(frozen=True, slots=True)
class NodeState:
    """A server of the fleet as it is now."""

    number: int
    name: str
    hosts: int | None
    """None while it is away."""
    storage: Mode | None
    revision: str | None
    current: bool | None
    """Whether its schema is that of this release; None while it is away."""
    draining: bool
    """Whether it takes no new hosts."""
    away_since: datetime | None
    problem: str | None
    """Why it does not answer."""


class NodeChanges(ClockedUseCase):
    """Changes the list of nodes and what follows from it."""

    def list(self) -> list[NodeState]:
        """All servers, each asked now; the one server where there is no list."""
        with self._database.own_rows.read() as session:
            nodes = read_nodes(session)
        return [self._state(node) for node in nodes or (DataNode(0, COORDINATOR, self._database.url),)]

    def add(
        self, name: str, url: str, *, actor: str, storage: Literal["auto", "timescaledb", "native"] = "auto"
    ) -> NodeState:
        """Makes the schema on an empty server and lets the fleet use it: new hosts go to the emptiest.

        Raises:
            Unprocessable: the name is not one.
            Conflict: the name is in use, or the server holds hosts already or is a node.
            ConfigurationError: the database user may not make foreign servers.
            Unavailable: the server cannot be reached.
        """
        if not _NAME.fullmatch(name):
            raise Unprocessable(
                f"{name[:40]!r} names no node: it has 1 to 31 small letters, digits and hyphens, a letter first"
            )
        with self._database.own_rows.read() as session:
            there = read_nodes(session)
            given = max(read_placement(session).last_given, int(find_fact(session, LAST_NUMBER_FACT) or 0))
        if name in {node.name for node in there} | {COORDINATOR}:
            raise Conflict(f"a node with the name {name} is there already")
        number = given + 1
        if number > MAX_NODE:
            raise Conflict(f"a fleet has at most {MAX_NODE} nodes")
        node = DataNode(number, name, url)
        self._prepare(node, storage)
        self._show(node, actor)
        return self._state(node)

    def _prepare(self, node: DataNode, storage: Literal["auto", "timescaledb", "native"]) -> None:
        """Makes the schema, and lets the server number its rows from its own first number on."""
        upgrade(node.url, storage=storage)
        with self._database.own_rows.write() as transaction:
            store_fact_once(transaction, NODE_FACT, COORDINATOR)
        with self._database.other(node.url).write() as transaction:
            held = find_fact(transaction, NODE_FACT) or node.name
            if held != node.name:
                raise Conflict(f"this database is the node {held} of a fleet", next_step="Name an empty database.")
            if count_hosts(transaction):
                raise Conflict(
                    "this database holds hosts of an installation of its own", next_step="Name an empty database."
                )
            take_numbers(transaction, node.number)
            store_fact(transaction, NODE_FACT, node.name)

    def _show(self, node: DataNode, actor: str) -> None:
        """Lists the node and shows its rows, at once for all processes."""
        with self._database.write() as transaction:
            lock_nodes(transaction)
            ranges = {span[0]: number for span, number in read_placement(transaction).spans()}
            is_first = not read_nodes(transaction)
            if is_first:
                insert_node(transaction, DataNode(0, COORDINATOR, self._database.url))
                # Hosts that came back from servers which are no nodes any more keep their numbers.
                ranges = {numbers_of(number)[0]: 0 for number in {0, *own_numberings(transaction)}}
            insert_node(transaction, node)
            placement = place_of(ranges | {numbers_of(node.number)[0]: node.number})
            store_placement(transaction, placement)
            if is_first and placement.nodes.count(0) > 1:
                make_pieces(transaction, 0, placement)
                note_cut(transaction, 0)
            show_fleet(transaction, read_nodes(transaction), placement)
            append_audit(transaction, AuditRow(self._clock(), actor, "node.add", node.name, {}))

    def _state(self, node: DataNode) -> NodeState:
        server = self._database.own_rows if node.number == 0 else self._database.other(node.url)
        hosts: int | None = None
        mode: Mode | None = None
        schema: SchemaState | None = None
        problem: str | None = None
        try:
            schema = schema_state(server)
            with server.read() as session:
                mode, hosts = storage_mode(session), count_hosts(session)
        except TierscopeError as error:
            hosts = mode = schema = None
            problem = error.detail
        return NodeState(
            number=node.number,
            name=node.name,
            hosts=hosts,
            storage=mode,
            revision=None if schema is None else schema.revision,
            current=None if schema is None else schema.current,
            draining=node.draining,
            away_since=node.away_since,
            problem=problem,
        )


def upgrade_all(database_url: str, *, storage: Literal["auto", "timescaledb", "native"] = "auto") -> Mode:
    """Brings all servers of a fleet to this release: data nodes first, then the coordinator, then what shows them.

    Raises:
        Unavailable: a server cannot be reached; those before it are at this release, which reads on as before.
    """
    database = Database(database_url, pool_size=1, own_rows=True)
    try:
        finish_if_free(database)
        with database.read() as session:
            urls = read_urls(session)
        for number, url in urls.items():
            if number:
                _upgrade_node(database, number, url)
        mode = _upgrade_node(database, 0, database_url, storage) if urls else upgrade(database_url, storage=storage)
        if urls:
            with database.write() as transaction:
                lock_nodes(transaction)
                show_fleet(transaction, read_nodes(transaction), read_placement(transaction))
    finally:
        database.close()
    return mode


def take_back(database_url: str, revision: str) -> None:
    """Takes the schema of an installation on one server back to an earlier revision: what came after it is lost.

    Raises:
        Conflict: it has data nodes. Revisions of several servers do not go back together: a host that was written to,
            or moved, between two of them would be in neither or in both.
        Unavailable: the server cannot be reached.
        ConfigurationError: there is no such revision below the database's own.
    """
    database = Database(database_url, pool_size=1, own_rows=True)
    try:
        with database.read() as session:
            on_several_servers = any(read_urls(session))
    finally:
        database.close()
    if on_several_servers:
        raise Conflict(
            "this fleet has data nodes beside its coordinator, and their schemas do not go back together",
            next_step="Install the previous release: it works with the newer schema. Or restore a backup of all"
            " servers that the previous release made (`tierscope restore`).",
        )
    downgrade(database_url, revision)


def _upgrade_node(
    database: Database, number: int, url: str, storage: Literal["auto", "timescaledb", "native"] = "auto"
) -> Mode:
    """Brings a server to this release. Its tables cannot change under the views of its ranges: they are made again."""
    with database.read() as session:
        nodes = read_nodes(session) if has_ranges(session) else ()
        placement = read_placement(session) if nodes else Placement()
    own = database.other(url)
    is_cut = any(node.cut for node in nodes if node.number == number)
    if is_cut:
        with own.write() as transaction:
            drop_pieces(transaction)
    mode = upgrade(url, storage=storage)
    if is_cut:
        with own.write() as transaction:
            make_pieces(transaction, number, placement)
    return mode
