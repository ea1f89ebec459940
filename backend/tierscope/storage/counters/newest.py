"""The newest counters of many hosts, and what is stored of them: what their open buckets are extended with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.base.binary import MISSING, copy_out, parse_int, parse_int8_array, parse_us

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a host in the order of its layout. `values` [k] is 0 where not `present`."""

    at_us: int
    layout_id: int
    boot_ref: int
    values: Ints
    present: npt.NDArray[np.bool_]


def read_samples_from(session: ReadSession, since: Mapping[int, datetime], *, most: int) -> dict[int, list[Sample]]:
    """The first `most` samples of each host from a moment on, that moment included, in order of time."""
    if not since:
        return {}
    hosts = ", ".join(f"({host}::bigint, '{at.isoformat()}'::timestamptz)" for host, at in since.items())
    query = (
        f"SELECT h.id, s.* FROM (VALUES {hosts}) AS h (id, since) CROSS JOIN LATERAL"  # noqa: S608 - integers and times
        f" (SELECT ts, layout_id, boot_ref, array_replace(vals, NULL, ({MISSING + 1} - 1)::bigint) FROM counters_live"
        f" WHERE host_id = h.id AND ts >= h.since AND ts >= '{min(since.values()).isoformat()}' ORDER BY ts"
        f" LIMIT {int(most)}) AS s"
    )
    found: dict[int, list[Sample]] = {}
    for row in copy_out(session, query):
        raw = parse_int8_array(row[4])
        present = raw != MISSING
        sample = Sample(
            parse_us(row[1]), parse_int(row[2]) or 0, parse_int(row[3]) or 0, np.where(present, raw, 0), present
        )
        samples = found.setdefault(parse_int(row[0]) or 0, [])
        if samples and samples[-1].at_us == sample.at_us:
            samples.pop()
        samples.append(sample)
    return found


def count_samples_after(session: ReadSession, since: Mapping[int, datetime]) -> dict[int, int]:
    """How many different moments after one of its own each host has samples of."""
    if not since:
        return {}
    statement = text(
        "SELECT h.id, s.n FROM unnest(CAST(:hosts AS bigint[]), CAST(:since AS timestamptz[])) AS h (id, since)"
        " CROSS JOIN LATERAL (SELECT count(DISTINCT ts) AS n FROM counters_live"
        " WHERE host_id = h.id AND ts > h.since AND ts > :least) AS s"
    )
    values = {"hosts": list(since), "since": list(since.values()), "least": min(since.values())}
    return {row.id: row.n for row in session.execute(statement, values)}


@dataclass(frozen=True, slots=True)
class Made:
    """When a host's newest hour was made, and where its ledger ended then."""

    built_at: datetime
    ended_at: datetime | None


def read_made(session: ReadSession, host_ids: Sequence[int]) -> dict[int, Made]:
    """Of these hosts those whose newest hour was ever made."""
    statement = text("SELECT host_id, built_at, ended_at FROM host_recent WHERE host_id = ANY(:hosts)")
    rows = session.execute(statement, {"hosts": list(host_ids)})
    return {row.host_id: Made(row.built_at, row.ended_at) for row in rows}


def inventory_versions(session: ReadSession, host_ids: Sequence[int], before: datetime) -> dict[int, str]:
    """A text that changes with the newest inventory up to `before` of each host."""
    statement = text(
        "SELECT DISTINCT ON (host_id) host_id, at::text || ' ' || xmin::text AS version FROM inventory"
        " WHERE host_id = ANY(:ids)"
        " ORDER BY host_id, (at <= :before) DESC, abs(extract(epoch FROM at - CAST(:before AS timestamptz)))"
    )
    rows = session.execute(statement, {"ids": list(host_ids), "before": before})
    return {row.host_id: row.version for row in rows}
