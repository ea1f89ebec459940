"""The run that nothing disturbs: the same batches once, in order, into another database; rollups are compared."""

from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta

import psycopg

from factories.installations import enrol
from faults.oracle import Sent
from tierscope.core.clock import utc_now
from tierscope.core.database import FLEET_SCHEMA, Database, libpq_url
from tierscope.domain.base.jobs import due_table
from tierscope.domain.ingest.arrival import Clocks
from tierscope.domain.ingest.batch import Batch
from tierscope.storage.base.dirty_buckets import backlog
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.storage.ingest import Incoming, Registry, Stored, StoreLimits, store_group
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.rebuild.by_node import DrainNodes

_AHEAD = timedelta(days=4)
"""All buckets have closed by then, and rolled-up counters are packed."""
_DRAIN_LIMIT = timedelta(minutes=5)
_AT_ONCE = 32
_TABLES = ("tier_moves", "blocks", "metrics_1d", "heat_1h", "heat_1d")
_PACKED = " AND t.kind IN ('metrics_10m_days', 'metrics_1h_days')"
"""Of blocks: those kinds that do not tell when something arrived."""
_NUMBERS_OF_THE_DATABASE = {"host_id", "service_id", "layout_id", "keys_layout_id", "trust_id"}
"""Columns that refer to rows by a number, which another database gives in another order."""

Rows = dict[str, list[tuple[object, ...]]]


def replay(url: str, sent: Sent) -> None:
    """Stores all batches in order of their numbers, host by host."""
    with closing(Database(url)) as database:
        for host_id in sorted({key[0] for key in sent.batches}):
            identity = _adopt(database, host_id)
            batches = [sent.batches[key] for key in sorted(key for key in sent.batches if key[0] == host_id)]
            for first in range(0, len(batches), _AT_ONCE):
                _store(database, identity, batches[first : first + _AT_ONCE])


def _adopt(database: Database, host_id: str) -> HostIdentity:
    """A host of the same public id."""
    made = enrol(database, name=host_id).identity
    with psycopg.connect(libpq_url(database.url)) as connection:
        connection.execute("UPDATE hosts SET public_id = %s WHERE id = %s", (host_id, made.id))
    return HostIdentity(id=made.id, public_id=host_id, name=made.name, origin=made.origin)


def _store(database: Database, host: HostIdentity, batches: list[Batch]) -> None:
    clocks = Clocks(int(utc_now().timestamp() * 1e9), None, None)
    group = [Incoming(host=host, batch=batch, services_left_out=0, clocks=clocks) for batch in batches]
    registry = Registry(database)
    registry.prepare(group)
    with database.write() as transaction:
        outcomes = store_group(transaction, group, registry=registry, limits=StoreLimits())
    for batch, outcome in zip(batches, outcomes, strict=True):
        assert isinstance(outcome, Stored), f"undisturbed, {batch.host_id} {batch.seq} was refused: {outcome}"
        assert not outcome.duplicate, f"undisturbed, {batch.host_id} {batch.seq} is a duplicate"


def drain(url: str) -> int:
    """Rebuilds everything as if days had passed, packs what packs by then; gives the due marks that are left."""
    with closing(Database(url)) as database:
        drained = DrainNodes(Nodes(database), lambda: utc_now() + _AHEAD).run(at_most=_DRAIN_LIMIT)
        assert not drained.failures, f"buckets could not be rebuilt: {drained.failures}"
        now = utc_now() + _AHEAD
        with database.read() as session:
            return backlog(session, now=now, due=due_table(now)).pending


def rollups(url: str, hosts: Sequence[str]) -> Rows:
    """What was derived for these hosts, in an order that both databases share."""
    found: Rows = {}
    with psycopg.connect(libpq_url(url), options=f"-c timezone=UTC -c search_path={FLEET_SCHEMA},public") as connection:
        for table in _TABLES:
            columns = [
                str(name)
                for (name,) in connection.execute(
                    "SELECT column_name FROM information_schema.columns"
                    " WHERE table_schema = 'public' AND table_name = %s ORDER BY 1",
                    (table,),
                ).fetchall()
            ]
            plain = ", ".join(f't."{name}"::text' for name in columns if name not in _NUMBERS_OF_THE_DATABASE)
            joins, more = "JOIN hosts h ON h.id = t.host_id", ""
            for name in {"layout_id", "keys_layout_id"} & set(columns):
                joins += f" LEFT JOIN layouts l ON l.id = t.{name}"
                more += ", encode(l.hash, 'hex')"
            if "trust_id" in columns:
                joins += " LEFT JOIN ledger_trusts r ON r.id = t.trust_id"
                more += ", r.body::text"
            if "service_id" in columns:
                joins += " LEFT JOIN services s ON s.id = t.service_id"
                more += ", s.namespace || '/' || s.name"
            where = f"h.public_id = ANY(%s){_PACKED if table == 'blocks' else ''}"
            rows = connection.execute(
                f"SELECT h.public_id, {plain}{more} FROM {table} t {joins} WHERE {where}".encode(), (list(hosts),)
            ).fetchall()
            found[table] = sorted(rows, key=repr)
    return found


def differences(disturbed: Rows, undisturbed: Rows) -> list[str]:
    """One line per table that differs, with the first row of each side that the other lacks."""
    found = []
    for table in _TABLES:
        ours, theirs = disturbed[table], undisturbed[table]
        if ours != theirs:
            only_ours = [row for row in ours if row not in theirs][:1]
            only_theirs = [row for row in theirs if row not in ours][:1]
            found.append(
                f"{table}: {len(ours)} rows, undisturbed {len(theirs)}; only here {str(only_ours)[:400]};"
                f" only there {str(only_theirs)[:400]}"
            )
    return found
