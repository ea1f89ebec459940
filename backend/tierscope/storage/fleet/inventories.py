"""When hosts sent inventories, and parts of what those say, without the rest of them.

An inventory has 8 kB, and to take it apart costs more than to read it. So hosts' newest inventories are looked up by
their times alone, and of an inventory that is known nothing is read again: what it says does not change.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.base.binary import EPOCH, Ints, copy_out, from_us, parse_int8_array, parse_times_us, to_us

NONE_US = to_us(EPOCH)
"""In place of the time of an inventory that is not there."""
_AT_ONCE = 10_000


def newest_inventories(
    session: ReadSession, at: Sequence[datetime], host_ids: Sequence[int] | None = None
) -> tuple[Ints, list[Ints]]:
    """Hosts that have an inventory, and for each moment when each host sent its newest one until then.

    Microseconds; `NONE_US` where it had sent none. All hosts unless some are named. Nodes sum up their own hosts.
    """
    times = [f"coalesce(max(at) FILTER (WHERE at <= '{moment.isoformat()}'), 'epoch')" for moment in at]
    named = ", ".join(f"{time} AS t{place}" for place, time in enumerate(times))
    listed = ", ".join(f"array_agg(t{place})" for place in range(len(times)))
    numbers = ",".join(str(int(host)) for host in host_ids or ())
    some = "" if host_ids is None else f" AND host_id = ANY('{{{numbers}}}'::bigint[])"
    query = (
        f"SELECT array_agg(host_id), {listed} FROM (SELECT host_id, {named} FROM inventory"  # noqa: S608 - own words
        f" WHERE at <= '{max(at).isoformat()}'{some} GROUP BY host_id ORDER BY host_id) AS t"
    )
    hosts, *found = next(copy_out(session, query))
    if hosts is None:
        return parse_int8_array(None), [parse_int8_array(None) for _ in at]
    return parse_int8_array(hosts), [parse_times_us(one) for one in found]


def read_parts(
    session: ReadSession, keys: Sequence[tuple[int, int]], parts: Sequence[str]
) -> dict[tuple[int, int], dict[str, Any]]:
    """Fields of inventories (names of the contract), by host and time in microseconds, as if they had no others."""
    # Grouped by what is read, nodes take their inventories apart and send these parts alone; an operator instead of
    # the function would not be sent to them, as its text has a collation.
    read = ", ".join(f"jsonb_path_query_first(body, '$.{name}') AS {name}" for name in parts)
    statement = text(
        f"SELECT host_id, at, {read} FROM inventory WHERE host_id = ANY(:hosts) AND at = ANY(:times)"  # noqa: S608
        f" GROUP BY {', '.join(str(1 + place) for place in range(2 + len(parts)))}"
    )
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for first in range(0, len(keys), _AT_ONCE):
        some = keys[first : first + _AT_ONCE]
        values = {"hosts": [host for host, _ in some], "times": [from_us(at) for at in sorted({at for _, at in some})]}
        for host, at, *said in session.execute(statement, values):
            found[host, to_us(at)] = {name: value for name, value in zip(parts, said, strict=True) if value is not None}
    return found
