"""A new server's numbers, and how many hosts a server has."""

from collections import Counter

from psycopg import sql
from psycopg.errors import UndefinedTable
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Unavailable
from tierscope.storage.nodes.placement import NUMBERED, Placement, numbers_of


def take_numbers(transaction: WriteTransaction, node: int) -> None:
    """Lets a server number its rows from the first number of a node on, and never beyond its last."""
    first, beyond = numbers_of(node)
    for table in NUMBERED:
        transaction.driver.execute(
            sql.SQL("ALTER TABLE {} ALTER id SET MINVALUE {} SET MAXVALUE {} SET START {} RESTART").format(
                sql.Identifier(table.name), *map(sql.Literal, (max(first, 1), beyond - 1, max(first, 1)))
            )
        )


def read_revision(session: ReadSession) -> str:
    """The revision of a server's schema, in one statement: whether it answers is asked every few seconds.

    Raises:
        Unavailable: there is no schema.
    """
    try:
        return str(session.ask("SELECT string_agg(version_num, ',') AS number FROM alembic_version")[0].number)
    except UndefinedTable as error:
        raise Unavailable("the database has no schema", retry_after_seconds=5) from error


def which_database(session: ReadSession) -> str:
    """The same for all addresses that lead to one database, and for no other."""
    statement = (
        "SELECT concat_ws('/', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()))"
        " AS name FROM pg_control_system()"
    )
    return str(session.ask(statement)[0].name)


def has_tables(session: ReadSession) -> bool:
    """Whether a database has a schema of ours."""
    return bool(session.ask("SELECT to_regclass('public.installation') IS NOT NULL AS found")[0].found)


def count_hosts(session: ReadSession) -> int:
    """All hosts that the session sees, retired ones too."""
    return int(session.execute(text("SELECT count(*) FROM hosts")).scalar_one())


def hosts_by_node(session: ReadSession, placement: Placement) -> Counter[int]:
    """Hosts that the session sees by the number of their node."""
    statement = text(
        "SELECT r.node, count(h.id) AS n FROM unnest(CAST(:firsts AS bigint[]), CAST(:beyonds AS bigint[]),"
        " CAST(:nodes AS int[])) AS r (first, beyond, node)"
        " LEFT JOIN hosts h ON h.id >= r.first AND h.id < r.beyond GROUP BY 1"
    )
    spans = placement.spans()
    values = {
        "firsts": [span[0] for span, _ in spans],
        "beyonds": [span[1] for span, _ in spans],
        "nodes": [node for _, node in spans],
    }
    return Counter({int(row.node): int(row.n) for row in session.execute(statement, values)})
