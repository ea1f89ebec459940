"""How large hosts' rows are."""

from collections.abc import Sequence

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.nodes.placement import OF_HOSTS, Span

_SIZES = text(
    "WITH RECURSIVE tree AS ("
    " SELECT CAST('public.' || quote_ident(name) AS regclass)::oid AS oid, name"
    " FROM unnest(CAST(:names AS text[])) AS name"
    " UNION ALL SELECT i.inhrelid, tree.name FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid)"
    " SELECT tree.name, sum(pg_total_relation_size(oid))::bigint AS bytes, sum(greatest(c.reltuples, 0)) AS n_rows,"
    " bool_or(c.reltuples < 0 AND pg_relation_size(oid) > 0) AS uncounted"
    " FROM tree JOIN pg_class c USING (oid) GROUP BY 1 ORDER BY 1"
)
"""Of each table with its partitions or chunks: its size with indexes, and how many rows the planner knows of."""


def host_bytes(session: ReadSession, spans: Sequence[Span]) -> int:
    """What the rows of ranges of hosts take on their server: of each table, its size by the share of its rows.

    Rows are counted where the planner does not know yet how many a table has.
    """
    firsts, beyonds = [span[0] for span in spans], [span[1] for span in spans]
    keys = {table.name: key for table, key in OF_HOSTS.items()}
    total = 0.0
    for size in session.execute(_SIZES, {"names": list(keys)}).all():
        mine = text(
            f'SELECT count(*) FROM "{size.name}" t JOIN unnest(CAST(:firsts AS bigint[]), CAST(:beyonds AS bigint[]))'  # noqa: S608
            f" AS r (first, beyond) ON t.{keys[size.name]} >= r.first AND t.{keys[size.name]} < r.beyond"
        )
        rows = int(session.execute(mine, {"firsts": firsts, "beyonds": beyonds}).scalar_one())
        if rows:
            known = float(size.n_rows)
            if size.uncounted:
                known = float(session.execute(text(f'SELECT count(*) FROM "{size.name}"')).scalar_one())  # noqa: S608
            total += size.bytes * min(1.0, rows / max(known, rows))
    return round(total)
