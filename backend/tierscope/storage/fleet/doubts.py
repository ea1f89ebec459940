"""Findings about files of hosts, with the services that run there."""

from collections.abc import Sequence

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.doubts import HostDoubt
from tierscope.storage.base.subjects import SubjectHost


def read_doubts(session: ReadSession, finding_ids: Sequence[str]) -> list[HostDoubt]:
    """All hosts that have or had one of these findings, in order of their names."""
    statement = text(
        "SELECT h.public_id, f.cause, f.since, f.until, ARRAY(SELECT s.public_id FROM host_services p"
        " JOIN services s ON s.id = p.service_id WHERE p.host_id = h.id) AS services"
        " FROM findings f JOIN hosts h ON h.id = f.host_id WHERE f.finding_id = ANY(:ids) ORDER BY h.name, h.id"
    )
    return [
        HostDoubt(row.public_id, frozenset(row.services), row.cause, row.since, row.until)
        for row in session.execute(statement, {"ids": list(finding_ids)})
    ]


def read_doubts_of(session: ReadSession, host: SubjectHost, finding_ids: Sequence[str]) -> list[HostDoubt]:
    """Those of one host, without its services."""
    statement = text(
        "SELECT cause, since, until FROM findings WHERE host_id = :host AND finding_id = ANY(:ids) ORDER BY finding_id"
    )
    return [
        HostDoubt(host.public_id, frozenset(), row.cause, row.since, row.until)
        for row in session.execute(statement, {"host": host.id, "ids": list(finding_ids)})
    ]
