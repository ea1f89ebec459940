"""Why hosts need attention, and how many by each cause, in one statement over all hosts."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.ledger.words import Word
from tierscope.storage.fleet.reporting import IN_SERVICE, STATE, Limits

CauseKind = Literal["state", "verdict", "setting", "finding"]
MOST_NAMED = 5

_HELD = (
    f"SELECT h.id, h.public_id, h.name, h.origin, r.tiering_off, {STATE} AS state,"  # noqa: S608 - words of our own
    " CASE WHEN r.ended_at > :since THEN r.verdict END AS verdict"
    f" FROM hosts h JOIN host_recent r ON r.host_id = h.id WHERE {IN_SERVICE}"
)
_CAUSES = (
    "SELECT id, public_id, name, 'state' AS kind, state AS key,"
    " CASE state WHEN 'silent' THEN 'critical' ELSE 'warning' END AS severity, NULL AS cause, NULL AS fix FROM held"
    " WHERE origin <> 'import' AND state <> 'reporting'"
    " UNION ALL SELECT id, public_id, name, 'verdict', verdict, v.value, NULL, NULL"
    " FROM held JOIN jsonb_each_text(CAST(:verdicts AS jsonb)) v ON v.key = verdict"
    " UNION ALL SELECT id, public_id, name, 'setting', 'tiering_off', 'warning', NULL, NULL FROM held WHERE tiering_off"
    " UNION ALL SELECT held.id, public_id, name, 'finding', f.finding_id, f.severity, f.cause, f.fix"
    " FROM held JOIN findings f ON f.host_id = held.id AND f.until IS NULL AND f.severity <> 'info'"
)


@dataclass(frozen=True, slots=True)
class NamedHost:
    """A host as a link shows it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class HostCause:
    """One reason why hosts need attention. A host may have several."""

    kind: CauseKind
    key: Annotated[
        str, Described("`silent` or `late`; a verdict; `tiering_off`; or the id of a finding, by the kind of cause.")
    ]
    severity: Severity
    cause: Annotated[str | None, Described("Of a finding: what one of the hosts says.")]
    fix: Annotated[str | None, Described("Of a finding: what to do about it.")]
    n_hosts: int
    hosts: Annotated[tuple[NamedHost, ...], Described("The first five by name.")]


@dataclass(frozen=True, slots=True)
class CausesOfHosts:
    """All causes, and how many hosts have any, or a critical one."""

    causes: tuple[HostCause, ...]
    n_hosts: int
    n_critical: int


def count_causes(session: ReadSession, limits: Limits, verdicts: Mapping[Word, Severity]) -> CausesOfHosts:
    """Causes of hosts that a worker has summed up: neither retired nor revoked.

    `verdicts` has the severity of each that calls for someone.
    """
    statement = text(
        f"WITH held AS ({_HELD}), causes AS ({_CAUSES})"  # noqa: S608 - statements of our own
        " SELECT kind, key, severity, count(DISTINCT id) AS n_hosts,"
        " count(DISTINCT id) FILTER (WHERE severity = 'critical') AS n_critical, min(cause) AS cause, min(fix) AS fix,"
        f" (array_agg(public_id ORDER BY name, id))[1 : {MOST_NAMED}] AS ids,"
        f" (array_agg(name ORDER BY name, id))[1 : {MOST_NAMED}] AS names"
        " FROM causes GROUP BY GROUPING SETS ((kind, key, severity), ())"
    )
    values = asdict(limits) | {"verdicts": json.dumps(verdicts)}
    n_hosts = n_critical = 0
    causes = []
    for row in session.execute(statement, values):
        if row.kind is None:
            n_hosts, n_critical = row.n_hosts, row.n_critical
            continue
        hosts = tuple(NamedHost(host_id, name) for host_id, name in zip(row.ids, row.names, strict=True))
        causes.append(HostCause(row.kind, row.key, row.severity, row.cause, row.fix, row.n_hosts, hosts))
    return CausesOfHosts(tuple(causes), n_hosts, n_critical)
