"""A new server's numbers, and how many hosts a server has."""

from psycopg import sql
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
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


def answers(session: ReadSession) -> None:
    """Asks for nothing but an answer."""
    session.execute(text("SELECT 1"))


def count_hosts(session: ReadSession) -> int:
    """All hosts that the session sees, retired ones too."""
    return int(session.execute(text("SELECT count(*) FROM hosts")).scalar_one())


def hosts_by_node(session: ReadSession) -> dict[int, int]:
    """Hosts by the number of their node."""
    size = numbers_of(1)[0]
    rows = session.execute(text("SELECT id / :size AS node, count(*) AS n FROM hosts GROUP BY 1"), {"size": size})
    return {int(row.node): int(row.n) for row in rows}
