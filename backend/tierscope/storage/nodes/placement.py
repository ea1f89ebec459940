"""Which server a host's rows are on: its number says so.

Each server takes numbers of its own range for hosts and for what belongs to them, so that a row is found without a
look-up, and PostgreSQL asks no other server for it.
"""

from sqlalchemy import Table

from tierscope.storage.tables import (
    TIME_TABLES,
    boots,
    findings,
    host_layouts,
    host_pods,
    host_recent,
    host_services,
    hosts,
    inventory,
    layouts,
    ledger_trusts,
    marks,
    objects,
    streams,
)

HOSTS_PER_NODE = 1 << 40
"""Numbers of a node: 0 to this less one are those of the first server. A bigint has room for 8 million nodes."""

MAX_NODE = (1 << 13) - 1
"""The largest number of a node: numbers of hosts stay below 2**53, which JSON programs read without loss."""


def node_of(host_id: int) -> int:
    """The number of the node that holds a host."""
    return host_id // HOSTS_PER_NODE


def numbers_of(node: int) -> tuple[int, int]:
    """The first number of a node, and the first one beyond it."""
    return node * HOSTS_PER_NODE, (node + 1) * HOSTS_PER_NODE


_BY_HOST = (
    boots,
    findings,
    host_layouts,
    host_pods,
    host_recent,
    host_services,
    inventory,
    objects,
    streams,
    *(entry.table for entry in TIME_TABLES if "host_id" in entry.table.c),
)
KEYS: dict[Table, str] = {
    **dict.fromkeys((hosts, layouts, ledger_trusts, marks), "id"),
    **dict.fromkeys(_BY_HOST, "host_id"),
}
"""Tables that are on each node, with the column whose number says on which one a row is. All others have rows of the
whole fleet, on the coordinator; nodes have services too, as copies that their own rows refer to."""

NUMBERED = tuple(table for table in KEYS if "id" in table.c)
"""Those of them that number their rows, each node from its first number on."""
