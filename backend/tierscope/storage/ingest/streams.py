"""Streams of a group: locked in order, read, written back."""

from collections.abc import Iterable, Mapping

from tierscope.core.database import WriteTransaction
from tierscope.domain.ingest.sequences import Sequence

StreamKey = tuple[int, bytes]


def lock_streams(transaction: WriteTransaction, keys: Iterable[StreamKey]) -> dict[StreamKey, Sequence]:
    """Locks the rows of `keys`, makes those that are new, and returns their state. Order is fixed: no deadlocks."""
    ordered = sorted(set(keys))
    values = {"hosts": [host for host, _ in ordered], "streams": [stream for _, stream in ordered]}
    transaction.ask(
        "INSERT INTO streams (host_id, stream_id)"
        " SELECT h, s FROM unnest(%(hosts)s::bigint[], %(streams)s::bytea[]) AS k (h, s) ORDER BY h, s"
        " ON CONFLICT DO NOTHING",
        values,
    )
    rows = transaction.ask(
        "SELECT t.host_id, t.stream_id, t.next_seq, t.gaps FROM streams t"
        " JOIN unnest(%(hosts)s::bigint[], %(streams)s::bytea[]) AS k (h, s)"
        " ON t.host_id = k.h AND t.stream_id = k.s ORDER BY t.host_id, t.stream_id FOR UPDATE OF t",
        values,
    )
    return {
        (row.host_id, bytes(row.stream_id)): Sequence(
            next_seq=row.next_seq, gaps=tuple((part.lower, part.upper) for part in row.gaps)
        )
        for row in rows
    }


def write_streams(transaction: WriteTransaction, states: Mapping[StreamKey, tuple[Sequence, int]]) -> None:
    """Writes back state and number of newly stored batches of each stream."""
    if not states:
        return
    ordered = sorted(states.items())
    transaction.ask(
        "UPDATE streams SET next_seq = n.next, gaps = n.gaps::int8multirange, last_at = now(),"
        " batches = batches + n.stored FROM unnest(%(hosts)s::bigint[], %(streams)s::bytea[],"
        " %(next)s::bigint[], %(gaps)s::text[], %(stored)s::bigint[])"
        " AS n (host, stream, next, gaps, stored) WHERE host_id = n.host AND stream_id = n.stream",
        {
            "hosts": [host for (host, _), _ in ordered],
            "streams": [stream for (_, stream), _ in ordered],
            "next": [state.next_seq for _, (state, _) in ordered],
            "gaps": ["{" + ",".join(f"[{low},{high})" for low, high in state.gaps) + "}" for _, (state, _) in ordered],
            "stored": [stored for _, (_, stored) in ordered],
        },
    )
