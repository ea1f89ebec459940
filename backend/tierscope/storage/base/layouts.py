"""Counter layouts: names once, values by place. Layouts never change, so that they are kept in memory once read."""

from collections.abc import Iterable, Sequence

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.cache import StoredCache
from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.counters.schema import schema_hash
from tierscope.storage.base.numbering import copy_rows, numbering
from tierscope.storage.tables import layouts

_kept: StoredCache[tuple[str, int], tuple[str, ...]] = StoredCache(4096)


def _database(session: ReadSession) -> str:
    info = session.driver.info
    return f"{info.host}:{info.port}/{info.dbname}"


def read_layouts(session: ReadSession, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the keys of layouts by id."""
    database = _database(session)
    known = {layout_id: _kept.get((database, layout_id)) for layout_id in set(ids)}
    found = {layout_id: keys for layout_id, keys in known.items() if keys is not None}
    if missing := known.keys() - found.keys():
        statement = select(layouts.c.id, layouts.c["keys"]).where(layouts.c.id.in_(missing))
        for row in session.execute(statement):
            found[row.id] = tuple(row[1])
            _kept.put((database, row.id), found[row.id], generation=session.generation)
    return found


def layouts_with_any(session: ReadSession, keys: Sequence[str]) -> list[int]:
    """All layouts, of any host or roll-up, that hold at least one of these keys."""
    statement = text("SELECT id FROM layouts WHERE keys && CAST(:keys AS text[]) ORDER BY id")
    return [int(found) for found in session.execute(statement, {"keys": list(keys)}).scalars()]


def ensure_layout(transaction: WriteTransaction, keys: Sequence[str]) -> int:
    """Return the id of the layout with these keys, made if it is new."""
    digest = schema_hash(keys)
    find = select(layouts.c.id).where(layouts.c.hash == digest)
    known = transaction.execute(find).scalar_one_or_none()
    if known is None:
        with numbering(transaction) as giving:
            giving.execute(insert(layouts).values(hash=digest, keys=list(keys)).on_conflict_do_nothing())
            known = giving.execute(find).scalar_one()
            copy_rows(giving, transaction, layouts, [known])
    return int(known)


def host_layout_ids(session: ReadSession, host_id: int) -> list[int]:
    """Return all layouts that a host has ever sent."""
    statement = text("SELECT layout_id FROM host_layouts WHERE host_id = :host ORDER BY first_seen_at DESC")
    return [int(row) for row in session.execute(statement, {"host": host_id}).scalars()]


def layouts_of_hosts(session: ReadSession, host_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return all layouts that each of these hosts has ever sent; hosts that sent none are left out."""
    statement = text("SELECT host_id, layout_id FROM host_layouts WHERE host_id = ANY(:hosts)")
    found: dict[int, list[int]] = {}
    for row in session.execute(statement, {"hosts": list(host_ids)}):
        found.setdefault(row.host_id, []).append(row.layout_id)
    return found
