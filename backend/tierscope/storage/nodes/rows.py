"""The coordinator's list of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert, make_url, select, text, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.nodes.placement import Placement, Span, place_of
from tierscope.storage.tables import node_ranges, nodes

_LOCK = 0x7469_6572_6E6F_6465  # "tiernode"


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
    draining: bool = False
    """Whether it takes no new hosts."""
    cut: bool = False
    """Whether it is shown by ranges of numbers; else as a whole, which a server is until a host moves."""

    @property
    def server(self) -> str:
        """Its name as a foreign server, and of the schema of its tables."""
        return f"tierscope_node_{self.number}"

    @property
    def place(self) -> str:
        """Its host and database, without a password."""
        url = make_url(self.url)
        return f"{url.host or url.query.get('host') or 'this machine'}/{url.database}"


@dataclass(frozen=True, slots=True)
class Away:
    """Nodes that are away, by name, and the numbers of their hosts."""

    names: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()


def read_nodes(session: ReadSession) -> tuple[DataNode, ...]:
    """All nodes by number; none where one server holds everything."""
    c = nodes.c
    columns = (c.number, c.name, c.url, c.added_at, c.away_since, c.draining, c.cut)
    rows = session.execute(select(*columns).order_by(c.number))
    return tuple(DataNode(*row) for row in rows)


def read_placement(session: ReadSession) -> Placement:
    """Which node holds which numbers."""
    c = node_ranges.c
    return place_of({row.first: row.node for row in session.execute(select(c.first, c.node))})


def read_away(session: ReadSession) -> Away:
    """What the rows of the fleet lack now."""
    away = {node.number: node.name for node in read_nodes(session) if node.away_since is not None}
    spans = read_placement(session).spans() if away else []
    return Away(tuple(away.values()), tuple(span for span, number in spans if number in away))


def store_placement(transaction: WriteTransaction, placement: Placement) -> None:
    """Puts ranges in place of those that were there."""
    transaction.execute(delete(node_ranges))
    rows = [{"first": span[0], "node": node} for span, node in placement.spans()]
    transaction.execute(insert(node_ranges), rows)


def note_draining(transaction: WriteTransaction, number: int, *, draining: bool) -> None:
    """Says whether a node takes new hosts."""
    transaction.execute(update(nodes).where(nodes.c.number == number).values(draining=draining))


def note_cut(transaction: WriteTransaction, number: int) -> None:
    """Says that a node is shown by ranges of numbers from now on."""
    transaction.execute(update(nodes).where(nodes.c.number == number).values(cut=True))


def has_ranges(session: ReadSession) -> bool:
    """Whether the schema knows of ranges of numbers: one of an older release does not."""
    return bool(session.execute(text("SELECT to_regclass('node_ranges') IS NOT NULL")).scalar_one())


def read_urls(session: ReadSession) -> dict[int, str]:
    """Addresses of nodes by number, of whatever release the schema is."""
    if not has_list(session):
        return {}
    rows = session.execute(select(nodes.c.number, nodes.c.url).order_by(nodes.c.number))
    return {int(row.number): str(row.url) for row in rows}


def has_list(session: ReadSession) -> bool:
    """Whether the schema knows of nodes: one of an older release does not."""
    return bool(session.execute(text("SELECT to_regclass('nodes') IS NOT NULL")).scalar_one())


def insert_node(transaction: WriteTransaction, node: DataNode) -> None:
    """Adds one to the list."""
    transaction.execute(insert(nodes).values(number=node.number, name=node.name, url=node.url))


def delete_nodes(transaction: WriteTransaction, *numbers: int) -> None:
    """Takes nodes off the list; ranges that are theirs no more may have been stored before."""
    transaction.execute(delete(node_ranges).where(node_ranges.c.node.in_(numbers)))
    transaction.execute(delete(nodes).where(nodes.c.number.in_(numbers)))


def move_nodes(transaction: WriteTransaction, urls: Mapping[int, str]) -> None:
    """Lets nodes have other addresses, by their numbers; they count as there."""
    for number, url in urls.items():
        transaction.execute(update(nodes).where(nodes.c.number == number).values(url=url, away_since=None))


def note_url(transaction: WriteTransaction, number: int, url: str) -> None:
    """Lets a node have another address, of the same database."""
    transaction.execute(update(nodes).where(nodes.c.number == number).values(url=url))


def note_away(transaction: WriteTransaction, number: int, since: datetime | None) -> bool:
    """Notes since when a node is away, None where it answers again; False where that stood there already."""
    c = nodes.c
    other = c.away_since.is_(None) if since is not None else c.away_since.is_not(None)
    statement = update(nodes).where(c.number == number, other).values(away_since=since).returning(c.number)
    return transaction.execute(statement).one_or_none() is not None


def lock_nodes(transaction: WriteTransaction) -> None:
    """Waits for who else changes the list or the tables of the fleet; held until the transaction ends."""
    transaction.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def try_lock_nodes(transaction: WriteTransaction) -> bool:
    """The same without waiting; False where somebody else holds it."""
    return bool(transaction.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK}).scalar_one())
