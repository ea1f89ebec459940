"""What `tierscope doctor` says of the servers of a fleet: each is compared with the coordinator."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.storage.base.facts import find_fact
from tierscope.storage.base.partitions import Mode, storage_mode
from tierscope.storage.base.schema import SchemaState, schema_state
from tierscope.storage.nodes.foreign import is_seen
from tierscope.storage.nodes.rows import DataNode
from tierscope.storage.operate.doctor import ServerFacts, read_server
from tierscope.usecases.nodes.changes import NODE_FACT
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.operate.checks import OLDEST_SERVER, SKEW_SECONDS, Check, Result, check_disk

_BY_CODE_POINT = frozenset({"C", "POSIX", "C.UTF-8", "C.UTF8", "C.utf8"})
"""Names of one and the same order of UTF-8."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A server as it answered. Its clock was `skew_s` ahead of ours, known to within `half_trip_s` on either side."""

    facts: ServerFacts
    schema: SchemaState
    mode: Mode
    holds: str | None
    skew_s: float
    half_trip_s: float


def check_nodes(database: Database, clock: Clock) -> list[Check]:
    """What is wrong with each server, or that it is well; nothing where one server holds everything."""
    nodes = Nodes(database)
    listed = nodes.listed()
    asked: dict[int, _Asked] = {}
    checks = []
    for node in listed:
        name = f"node {node.name}"
        try:
            asked[node.number] = _ask(nodes.own(node.number), clock)
        except TierscopeError as error:
            step = "see that the server runs, and lets this machine connect to the address that `nodes add` was given"
            checks.append(Check(name, "failed", f"it does not answer: {error.detail}", step))
            continue
        found = list(_findings(node, asked[node.number], asked.get(0), database))
        checks += [Check(name, *finding) for finding in found] or [Check(name, "ok", _well(asked[node.number]))]
    return checks


def _ask(server: Database, clock: Clock) -> _Asked:
    with server.read() as session:
        session.driver.execute("SELECT 1")  # what follows is the time of one round trip
        before = clock()
        now: datetime = session.ask("SELECT clock_timestamp() AS now")[0].now
        after = clock()
        facts, holds, mode = read_server(session), find_fact(session, NODE_FACT), storage_mode(session)
    half = (after - before) / 2
    return _Asked(facts, schema_state(server), mode, holds, (now - before - half).total_seconds(), half.total_seconds())


def _findings(
    node: DataNode, asked: _Asked, coordinator: _Asked | None, database: Database
) -> Iterator[tuple[Result, str, str]]:
    """Result, detail and next step of each thing that is wrong."""
    facts = asked.facts
    if asked.holds != node.name:
        step = "see where its address leads: a copy or another server answers there"
        yield "failed", f"the database there is {asked.holds or 'no node of a fleet'}", step
    if not asked.schema.current:
        yield (
            "failed",
            f"revision {asked.schema.revision}, this release needs {asked.schema.head}",
            "run `tierscope migrate`: it brings all nodes to this release",
        )
    if facts.version_number < OLDEST_SERVER:
        yield "failed", f"PostgreSQL {facts.version}", "use PostgreSQL 15 or later"
    if facts.encoding != "UTF8":
        step = "create its database again with ENCODING 'UTF8' and restore a backup into it"
        yield "failed", f"encoding {facts.encoding}: names in other scripts cannot be stored", step
    yield from _differences(asked, coordinator)
    if abs(asked.skew_s) - asked.half_trip_s > SKEW_SECONDS:
        detail = f"its clock is {_skew(asked)}"
        yield "warning", detail, "synchronise both machines (chrony or systemd-timesyncd)"
    if facts.connections > 0.9 * facts.max_connections:
        detail = f"{facts.connections} of {facts.max_connections} connections are in use"
        yield "warning", detail, "raise max_connections: each process, and each session of the coordinator, has one"
    disk = None if facts.data_place is None else check_disk(facts.data_place, "")
    if disk is not None and disk.result != "ok":
        yield disk.result, disk.detail, disk.next_step
    if node.away_since is not None:
        since = f"{node.away_since:%Y-%m-%d %H:%M:%S} UTC"
        step = "start `tierscope serve`: it shows the node again within seconds"
        yield "warning", f"it answers, and is left out of answers since {since}", step
    else:
        try:
            is_seen(database, node)
        except TierscopeError as error:
            step = "let the node's pg_hba.conf and firewalls admit the coordinator's machine, not this one alone"
            yield "failed", f"the coordinator cannot read it: {error.detail}", step


def _differences(asked: _Asked, coordinator: _Asked | None) -> Iterator[tuple[Result, str, str]]:
    """What is not as on the coordinator, where that answers."""
    if coordinator is None or coordinator is asked:
        return
    own, first = asked.facts, coordinator.facts
    if own.collation != first.collation and not {own.collation, first.collation} <= _BY_CODE_POINT:
        step = "create its database again with the coordinator's LC_COLLATE and restore a backup into it"
        yield (
            "failed",
            f"it sorts names by {own.collation}, the coordinator by {first.collation}: pages miss rows",
            step,
        )
    if own.version_number // 10_000 != first.version_number // 10_000:
        step = "bring both to one major release; until then statements may be worked on more slowly"
        yield "warning", f"PostgreSQL {own.version}, the coordinator has {first.version}", step
    if own.time_zone != first.time_zone:
        step = "ALTER DATABASE ... SET timezone = 'UTC' on both"
        yield (
            "warning",
            f"timezone {own.time_zone}, the coordinator has {first.time_zone}: psql shows other times",
            step,
        )
    if asked.mode == coordinator.mode == "timescaledb" and own.timescaledb != first.timescaledb:
        step = "install one version of the extension on both"
        yield "warning", f"TimescaleDB {own.timescaledb}, the coordinator has {first.timescaledb}", step
    if asked.mode == "timescaledb" and own.timescaledb is None:
        step = "start the server with the extension that the data was made with"
        yield "failed", "the time tables are hypertables and TimescaleDB is not there", step


def _skew(asked: _Asked) -> str:
    side = "ahead" if asked.skew_s > 0 else "behind"
    return f"{abs(asked.skew_s):.3f} ± {asked.half_trip_s:.3f} s {side}"


def _well(asked: _Asked) -> str:
    facts = asked.facts
    place = facts.data_place
    room = "its disk is not seen from here" if place is None else check_disk(place, "").detail
    extension = f", TimescaleDB {facts.timescaledb}" if asked.mode == "timescaledb" else ""
    return f"PostgreSQL {facts.version}{extension}, revision {asked.schema.head}, clock {_skew(asked)}, {room}"
