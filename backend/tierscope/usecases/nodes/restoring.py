"""A restore of a whole fleet: it is decided by one commit of the coordinator's server, and then finished.

Each server is filled beside the database in use. The coordinator that was filled shows the filled databases of the
nodes, under the names that they have beside: the moment in which it takes its place is that of the restore, for all
servers at once. Then each node's takes its place too, and the coordinator is told its usual address. It keeps which
ones are left: whoever moves hosts, makes a backup or starts next goes on where a killed restore ended.
"""

import json
from collections.abc import Mapping

import structlog

from tierscope.core.database import Database
from tierscope.core.errors import Conflict, TierscopeError
from tierscope.storage.base.facts import delete_fact, find_fact, store_fact
from tierscope.storage.base.restore import Beside, tokens_left
from tierscope.storage.nodes.foreign import lead_to, show_fleet
from tierscope.storage.nodes.moving import try_move_lock
from tierscope.storage.nodes.numbers import has_tables
from tierscope.storage.nodes.rows import lock_nodes, move_nodes, note_url, read_nodes, read_placement

RESTORE_FACT = "restore"
"""Under which a coordinator that was restored keeps what is left to do."""
_COORDINATOR = 0
log = structlog.get_logger(__name__)


def adopt_nodes(coordinator: Beside, nodes: Mapping[int, Beside]) -> None:
    """Lets a filled coordinator show the filled databases of its nodes, and keep where they belong."""
    database = Database(coordinator.filled_url, pool_size=1, own_rows=True)
    left = {number: beside.url for number, beside in nodes.items()}
    urls = {number: beside.filled_url for number, beside in nodes.items()}
    try:
        with database.write() as transaction:
            lock_nodes(transaction)
            move_nodes(transaction, {_COORDINATOR: coordinator.url, **urls})
            show_fleet(transaction, read_nodes(transaction), read_placement(transaction))
            store_fact(transaction, RESTORE_FACT, json.dumps({"token": coordinator.token, "urls": left}))
    finally:
        database.close()


def drop_left(urls: Mapping[int, str]) -> None:
    """Drops what killed restores to these databases left beside them. Call it within `restoring` of the coordinator.

    The coordinator's goes last: as long as it is there nobody can have begun to use those of the nodes.
    """
    for token in tokens_left(urls[_COORDINATOR]):
        give_up({number: Beside(url, token) for number, url in urls.items()})


def give_up(parts: Mapping[int, Beside]) -> None:
    """Drops all databases of a restore that was not decided, and those that it replaced where it was."""
    if parts[_COORDINATOR].is_beside():
        for _, beside in sorted(parts.items(), reverse=True):
            beside.drop()
    parts[_COORDINATOR].drop_replaced()


def finish_if_free(database: Database) -> list[str] | None:
    """What `finish_restore` returns; None where somebody else moves hosts, who has done it before."""
    with database.own_rows.read() as session:
        if not has_tables(session) or find_fact(session, RESTORE_FACT) is None:
            return []
    with database.own_rows.write() as holding:
        return finish_restore(database) if try_move_lock(holding) else None


def finish_restore(database: Database) -> list[str]:
    """Goes on with a restore that was decided; names of nodes that have to be waited for. Nobody may move hosts now."""
    own = database.own_rows
    with own.read() as session:
        fact = find_fact(session, RESTORE_FACT) if has_tables(session) else None
        nodes = read_nodes(session) if fact is not None else ()
    if fact is None:
        return []
    told = json.loads(fact)
    besides = {int(number): Beside(url, told["token"]) for number, url in told["urls"].items()}
    waiting = []
    for node in nodes:
        beside = besides.get(node.number)
        if beside is None:
            continue
        try:
            beside.take_place()
            with own.write() as transaction:
                lock_nodes(transaction)
                note_url(transaction, node.number, beside.url)
                lead_to(transaction, node.server, beside.url)
            beside.drop_replaced()
        except TierscopeError as error:
            log.warning("a restored node has not its usual name yet", node=node.name, cause=error.detail)
            waiting.append(node.name)
    if not waiting:
        Beside(database.url, told["token"]).drop_replaced()
        with own.write() as transaction:
            delete_fact(transaction, RESTORE_FACT)
    return waiting


def require_finished(waiting: list[str]) -> None:
    """Raises Conflict where a restore is not finished, by what `finish_restore` returned."""
    if waiting:
        raise Conflict(
            f"the last restore is not finished: {', '.join(waiting)} does not answer",
            next_step="Start it, and run this again.",
        )
