"""The coordinator's list of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select, text, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import nodes


@dataclass(frozen=True, slots=True)
class DataNode:
    """A server of a fleet. The first one, number 0, is the coordinator itself."""

    number: int
    name: str
    url: str
    """As the coordinator and its processes reach it, with the password."""
    added_at: datetime | None = None
    away_since: datetime | None = None
    """Since when its rows are left out of answers, as it does not answer."""

    @property
    def server(self) -> str:
        """Its name as a foreign server, and of the schema of its tables."""
        return f"tierscope_node_{self.number}"


def read_nodes(session: ReadSession) -> tuple[DataNode, ...]:
    """All nodes by number; none where one server holds everything."""
    c = nodes.c
    rows = session.execute(select(c.number, c.name, c.url, c.added_at, c.away_since).order_by(c.number))
    return tuple(DataNode(*row) for row in rows)


def has_list(session: ReadSession) -> bool:
    """Whether the schema knows of nodes: one of an older release does not."""
    return bool(session.execute(text("SELECT to_regclass('nodes') IS NOT NULL")).scalar_one())


def insert_node(transaction: WriteTransaction, node: DataNode) -> None:
    """Adds one to the list."""
    transaction.execute(insert(nodes).values(number=node.number, name=node.name, url=node.url))


def move_nodes(transaction: WriteTransaction, urls: Mapping[int, str]) -> None:
    """Lets nodes have other addresses, by their numbers; they count as there."""
    for number, url in urls.items():
        transaction.execute(update(nodes).where(nodes.c.number == number).values(url=url, away_since=None))


def note_away(transaction: WriteTransaction, number: int, since: datetime | None) -> bool:
    """Notes since when a node is away, None where it answers again; False where that stood there already."""
    c = nodes.c
    other = c.away_since.is_(None) if since is not None else c.away_since.is_not(None)
    statement = update(nodes).where(c.number == number, other).values(away_since=since).returning(c.number)
    return transaction.execute(statement).one_or_none() is not None


def lock_nodes(transaction: WriteTransaction) -> None:
    """Waits for who else changes the list or the tables of the fleet; held until the transaction ends."""
    transaction.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x7469_6572_6E6F_6465})  # "tiernode"
