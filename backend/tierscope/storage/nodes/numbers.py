"""A new server's numbers, and how many hosts a server has."""

from psycopg import sql
from psycopg.errors import UndefinedTable
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Unavailable
from tierscope.storage.nodes.placement import NUMBERED, numbers_of


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


def hosts_by_node(session: ReadSession) -> dict[int, int]:
    """Hosts by the number of their node."""
    size = numbers_of(1)[0]
    rows = session.execute(text("SELECT id / :size AS node, count(*) AS n FROM hosts GROUP BY 1"), {"size": size})
    return {int(row.node): int(row.n) for row in rows}
