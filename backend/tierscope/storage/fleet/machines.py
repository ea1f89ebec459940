"""What a host's inventories say of its machine and its network, without the rest of them.

An inventory has 8 kB, and to take it apart costs more than to read it. So hosts' newest inventories are looked up by
their times alone, and of an inventory that is known nothing is read again: what it says does not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.base.binary import EPOCH, Ints, copy_out, from_us, parse_int8_array, parse_times_us, to_us

NONE_US = to_us(EPOCH)
"""In place of the time of an inventory that is not there."""
_AT_ONCE = 10_000
_PARTS = ("rdma_devices", "kernel_release", "cpu_model", "nodes")


@dataclass(frozen=True, slots=True)
class Machine:
    """What one inventory says."""

    devices: frozenset[str] | None
    """RDMA devices, and `smc` where the kernel has SMC-R; None where nobody looked."""
    body: dict[str, Any]
    """Kernel, processor and memory nodes (field names of the contract)."""


def newest_inventories(session: ReadSession, at: Sequence[datetime]) -> tuple[Ints, list[Ints]]:
    """All hosts that have an inventory, and for each moment when each host sent its newest one until then.

    Microseconds; `NONE_US` where it had sent none. Nodes sum up their own hosts.
    """
    times = [f"coalesce(max(at) FILTER (WHERE at <= '{moment.isoformat()}'), 'epoch')" for moment in at]
    named = ", ".join(f"{time} AS t{place}" for place, time in enumerate(times))
    listed = ", ".join(f"array_agg(t{place})" for place in range(len(times)))
    query = (
        f"SELECT array_agg(host_id), {listed} FROM (SELECT host_id, {named} FROM inventory"  # noqa: S608 - own words
        f" WHERE at <= '{max(at).isoformat()}' GROUP BY host_id ORDER BY host_id) AS t"
    )
    hosts, *found = next(copy_out(session, query))
    if hosts is None:
        return parse_int8_array(None), [parse_int8_array(None) for _ in at]
    return parse_int8_array(hosts), [parse_times_us(one) for one in found]


def read_machines(session: ReadSession, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Machine]:
    """What inventories say, by host and time in microseconds."""
    # Grouped by what is read, nodes take their inventories apart and send these parts alone; an operator instead of
    # the function would not be sent to them, as its text has a collation.
    parts = ", ".join(f"jsonb_path_query_first(body, '$.{name}') AS {name}" for name in _PARTS)
    statement = text(
        f"SELECT host_id, at, {parts} FROM inventory WHERE host_id = ANY(:hosts) AND at = ANY(:times)"  # noqa: S608
        f" GROUP BY {', '.join(str(1 + place) for place in range(2 + len(_PARTS)))}"
    )
    found: dict[tuple[int, int], Machine] = {}
    for first in range(0, len(keys), _AT_ONCE):
        some = keys[first : first + _AT_ONCE]
        values = {"hosts": [host for host, _ in some], "times": [from_us(at) for at in sorted({at for _, at in some})]}
        for host, at, devices, *rest in session.execute(statement, values):
            body = dict(zip(_PARTS[1:], rest, strict=True))
            # An inventory without a kernel is of a recording or of an exporter: nobody looked at its devices.
            looked = body["kernel_release"] and devices is not None
            found[host, to_us(at)] = Machine(frozenset(devices) if looked else None, body)
    return found
