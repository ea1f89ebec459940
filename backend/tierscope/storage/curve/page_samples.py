"""Page samples as stored: one row per block of a process group on a host, with a packed and compressed body.

Rows never change once they are stored, so that what was made of a body may be kept under its row's head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin
from tierscope.domain.curve.sample_blocks import SampledPages, unpack_sample
from tierscope.domain.heat.rows import Method
from tierscope.storage.base.binary import copy_out, from_us, parse_float, parse_int, parse_us
from tierscope.storage.objects.sample_files import read_block

_HEAD = (
    "host_id, ts, group_name, backend, granularity, interval_ns, sampled_ratio, counts, period_events, duty_ratio, "
    "n_intervals, n_pages, n_rows"
)


@dataclass(frozen=True, slots=True)
class SampleHead:
    """A block without its pages. `counts`: loads and stores are counts, else 1 says that a page was active."""

    host_id: int
    end_us: int
    group: str
    method: Method
    sampled_ratio: float
    counts: bool
    period_events: float | None
    duty_ratio: float | None
    n_intervals: int
    n_pages: int
    n_rows: int


def hosts_with_samples(session: ReadSession, service_id: int, start: datetime, end: datetime) -> list[int]:
    """Hosts with blocks that end in (start, end], by number."""
    statement = text(
        "SELECT DISTINCT host_id FROM traces WHERE service_id = :service AND ts > :start AND ts <= :end ORDER BY 1"
    )
    values = {"service": service_id, "start": start, "end": end}
    return [int(found) for found in session.execute(statement, values).scalars()]


@dataclass(frozen=True, slots=True)
class SampledHostRow:
    """What a host sampled of a service, by public ids: most pages of a block, intervals of all, from and to when."""

    service_id: str
    service_name: str
    origin: Origin
    host_id: str
    host_name: str
    n_pages: int
    n_intervals: int
    sampled_ratio: float
    first_at: datetime
    last_at: datetime


def sampled_hosts(session: ReadSession, since: datetime) -> list[SampledHostRow]:
    """Hosts with blocks since a moment, by service and host name."""
    statement = text(
        "SELECT s.public_id AS service_id, s.namespace || '/' || s.name AS service_name, s.origin,"
        " h.public_id AS host_id, h.name AS host_name, t.n_pages, t.n_intervals, t.sampled_ratio, t.first_at, t.last_at"
        " FROM (SELECT service_id, host_id, max(n_pages)::int AS n_pages, sum(n_intervals)::int AS n_intervals,"
        "  avg(sampled_ratio)::float8 AS sampled_ratio, min(ts) AS first_at, max(ts) AS last_at FROM"
        "  (SELECT service_id, host_id, ts, sum(n_pages) AS n_pages, max(n_intervals) AS n_intervals,"
        "   min(sampled_ratio) AS sampled_ratio FROM traces WHERE ts > :since GROUP BY service_id, host_id, ts) b"
        "  GROUP BY service_id, host_id) t"
        " JOIN services s ON s.id = t.service_id JOIN hosts h ON h.id = t.host_id"
        " ORDER BY 2, s.id, h.name, h.id"
    )
    return [SampledHostRow(**row) for row in session.execute(statement, {"since": since}).mappings()]


def newest_sample(session: ReadSession, service_id: int, host_id: int | None) -> datetime | None:
    """When the newest block of a service ended, on one host or any; None where there is none."""
    statement = text(
        "SELECT max(ts) FROM traces WHERE service_id = :service AND (CAST(:host AS bigint) IS NULL OR host_id = :host)"
    )
    return session.execute(statement, {"service": service_id, "host": host_id}).scalar_one_or_none()


def list_samples(
    session: ReadSession, service_id: int, start: datetime, end: datetime, host_ids: Sequence[int]
) -> list[SampleHead]:
    """Blocks that end in (start, end], by host and time. A block may lie in several rows; repeats are dropped."""
    hosts = ", ".join(str(int(host)) for host in host_ids) or "NULL"
    query = (
        f"SELECT {_HEAD} FROM traces WHERE service_id = {int(service_id)} AND host_id IN ({hosts})"  # noqa: S608
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY host_id, ts"
    )
    heads = [_head(row) for row in copy_out(session, query)]
    return list({(head.host_id, head.end_us, head.group, head.method): head for head in heads}.values())


def read_samples(
    session: ReadSession, service_id: int, heads: Sequence[SampleHead]
) -> Iterator[tuple[SampleHead, SampledPages]]:
    """The pages of these blocks, in any order. Blocks that have left the store meanwhile are left out."""
    if not heads:
        return
    wanted = set(heads)
    ends = sorted({head.end_us for head in heads})
    times = ", ".join(f"'{from_us(end).isoformat()}'" for end in ends)
    hosts = ", ".join(str(host) for host in sorted({head.host_id for head in heads}))
    query = (
        f"SELECT {_HEAD}, body, object_key, object_part FROM traces"  # noqa: S608 - numbers and times
        f" WHERE service_id = {int(service_id)} AND host_id IN ({hosts})"
        f" AND ts IN ({times})"
    )
    for row in copy_out(session, query):
        head, body, key = _head(row), row[13], row[14]
        if head not in wanted or body is None:
            continue
        wanted.remove(head)
        if key is None:
            yield head, unpack_sample(body)
        else:
            yield head, read_block(session.objects.get(key.decode()), parse_int(row[15]) or 0)


def _head(row: Sequence[bytes | None]) -> SampleHead:
    return SampleHead(
        host_id=parse_int(row[0]) or 0,
        end_us=parse_us(row[1]),
        group=(row[2] or b"").decode(),
        method=Method(parse_int(row[3]) or 0, parse_int(row[4]) or 0, parse_int(row[5]) or 0),
        sampled_ratio=parse_float(row[6]) or 1.0,
        counts=row[7] == b"\x01",
        period_events=parse_float(row[8]),
        duty_ratio=parse_float(row[9]),
        n_intervals=parse_int(row[10]) or 0,
        n_pages=parse_int(row[11]) or 0,
        n_rows=parse_int(row[12]) or 0,
    )
