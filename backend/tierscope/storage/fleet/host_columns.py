"""All hosts, or those of some services, in columns: whether they report, and the row that workers keep of each."""

from collections.abc import Sequence
from typing import get_args

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.host_columns import STATES, Amount, HostColumns, Ints
from tierscope.domain.ledger.words import Word
from tierscope.storage.base.binary import (
    copy_out,
    parse_float8_table,
    parse_int,
    parse_int8_array,
    parse_times_us,
)
from tierscope.storage.fleet.reporting import STATE, Limits

_WORDS: tuple[str, ...] = ("not_known", *(word for word in get_args(Word) if word != "not_known"))
_ON_HOSTS = " FROM host_services WHERE service_id IN ({})"
_NAN = "'NaN'::float8"
_FLAGS = {
    "simulated": "h.origin = 'simulated'",
    "imported": "h.origin = 'import'",
    "retired": "h.retired_at IS NOT NULL",
    "summed": "r.host_id IS NOT NULL",
    "fresh": "r.ended_at > {since}",
    "broken": "r.broken",
    "one_tier": "r.one_tier",
    "tiering_off": "r.tiering_off",
    "by_others": "r.senders IS NOT NULL",
}
"""What is true of a host, by the column's name."""


def read_host_columns(
    session: ReadSession, limits: Limits, amounts: Sequence[str], *, service_ids: Sequence[int] | None = None
) -> HostColumns:
    """Hosts that are not revoked, by name, then id, with these amounts of their newest hour."""
    times = {name: f"'{getattr(limits, name).isoformat()}'::timestamptz" for name in ("late", "silent", "since")}
    state = STATE.replace(":late", times["late"]).replace(":silent", times["silent"])
    fresh = _FLAGS["fresh"].format(since=times["since"])
    flags = [
        f"coalesce({flag.format(since=times['since'])}, false)::int * {1 << at}"
        for at, flag in enumerate(_FLAGS.values())
    ]
    floats = [f"coalesce(r.page_bytes, {_NAN})"]
    for name in amounts:
        floats += [f"coalesce(r.{name}_total, {_NAN})"]
        floats += [f"coalesce(r.{name}_{kind}, 0)" for kind in ("seconds", "intervals")]
    selected = (
        "h.id",
        f"(array_position({_texts(STATES)}, {state}) - 1)::bigint",
        f"({' + '.join(flags)})::bigint",
        f"CASE WHEN {fresh} THEN coalesce(array_position({_texts(_WORDS)}, r.verdict), 1) - 1 ELSE 0 END::bigint",
        "coalesce(r.memory_bytes, -1)",
        "coalesce(r.started_at, 'epoch')",
        "coalesce(r.ended_at, 'epoch')",
        f"ARRAY[{', '.join(floats)}]",
    )
    joined, some = "", ""
    if service_ids is not None and len(service_ids) == 1:
        # Nodes join by themselves; of hosts that are looked for among others they send all.
        joined = f" JOIN host_services m ON m.host_id = h.id AND m.service_id = {_numbers(service_ids)}"
    elif service_ids is not None:
        some = f" AND h.id IN (SELECT host_id{_ON_HOSTS.format(_numbers(service_ids))})"
    # One row of arrays: a row for each host costs the connection more than the statement.
    query = (
        f"SELECT {', '.join(f'array_agg(c{at})' for at in range(len(selected)))} FROM (SELECT"  # noqa: S608
        f" {', '.join(f'{cell} AS c{at}' for at, cell in enumerate(selected))} FROM hosts h{joined}"
        f" LEFT JOIN host_recent r ON r.host_id = h.id WHERE h.revoked_at IS NULL{some} ORDER BY h.name, h.id) AS t"
    )
    return _columns(next(copy_out(session, query)), amounts)


def read_members(session: ReadSession, service_ids: Sequence[int]) -> dict[int, Ints]:
    """Ids of the hosts that each of these services was found on."""
    query = f"SELECT service_id, array_agg(host_id){_ON_HOSTS.format(_numbers(service_ids))} GROUP BY service_id"
    return {parse_int(row[0]) or 0: parse_int8_array(row[1]) for row in copy_out(session, query)}


def _texts(words: Sequence[str]) -> str:
    return f"ARRAY[{', '.join(map(repr, words))}]"


def _numbers(ids: Sequence[int]) -> str:
    return ", ".join(str(int(one)) for one in ids) or "NULL"


def _columns(row: Sequence[bytes | None], amounts: Sequence[str]) -> HostColumns:
    host_ids, states, flagged, verdicts, memory_bytes = map(parse_int8_array, row[:5])
    flags = {name: np.asarray((flagged >> at) & 1, np.bool_) for at, name in enumerate(_FLAGS)}
    table = parse_float8_table(row[7]).reshape(len(host_ids), 1 + 3 * len(amounts))
    return HostColumns(
        host_ids=host_ids,
        states=states,
        **flags,
        memory_bytes=memory_bytes,
        verdicts=verdicts,
        words=_WORDS,
        starts_s=parse_times_us(row[5]) / 1e6,
        ends_s=parse_times_us(row[6]) / 1e6,
        page_bytes=table[:, 0],
        amounts={name: Amount(*table[:, 1 + 3 * at : 4 + 3 * at].T) for at, name in enumerate(amounts)},
    )
