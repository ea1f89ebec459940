"""Why hosts need attention, and how many by each cause."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_columns import STATES, HostColumns, Ints, State
from tierscope.domain.ledger.words import Word
from tierscope.storage.base.subjects import IN_SERVICE

CauseKind = Literal["state", "verdict", "setting", "finding"]
MOST_NAMED = 5

_FINDINGS = text(
    "SELECT f.finding_id, f.severity, min(f.cause) AS cause, min(f.fix) AS fix, array_agg(f.host_id) AS hosts"  # noqa: S608
    " FROM findings f JOIN hosts h ON h.id = f.host_id JOIN host_recent r ON r.host_id = h.id"
    f" WHERE f.until IS NULL AND f.severity <> 'info' AND {IN_SERVICE} GROUP BY f.finding_id, f.severity"
)
_NAMES = text("SELECT id, public_id, name FROM hosts WHERE id = ANY(:ids)")


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


@dataclass(frozen=True, slots=True)
class _Found:
    """A cause with the places of the hosts that have it."""

    kind: CauseKind
    key: str
    severity: Severity
    places: Ints
    cause: str | None = None
    fix: str | None = None


def count_causes(session: ReadSession, known: HostColumns, verdicts: Mapping[Word, Severity]) -> CausesOfHosts:
    """Causes of those of these hosts that a worker has summed up; none is revoked or retired.

    `verdicts` has the severity of each that calls for someone.
    """
    found = [one for one in (*_of_columns(known, verdicts), *_findings(session, known)) if len(one.places)]
    named = {int(known.host_ids[place]) for one in found for place in one.places[:MOST_NAMED]}
    names = {row.id: NamedHost(row.public_id, row.name) for row in session.execute(_NAMES, {"ids": list(named)})}
    causes = tuple(
        HostCause(
            one.kind,
            one.key,
            one.severity,
            one.cause,
            one.fix,
            len(one.places),
            tuple(names[host] for host in known.host_ids[one.places[:MOST_NAMED]].tolist() if host in names),
        )
        for one in found
    )
    critical = [one.places for one in found if one.severity == "critical"]
    return CausesOfHosts(causes, _count_distinct([one.places for one in found]), _count_distinct(critical))


def _count_distinct(places: Sequence[Ints]) -> int:
    return len(np.unique(np.concatenate(places))) if places else 0


def _of_columns(known: HostColumns, verdicts: Mapping[Word, Severity]) -> Iterator[_Found]:
    severities: tuple[tuple[State, Severity], ...] = (("late", "warning"), ("silent", "critical"))
    for state, severity in severities:
        missing = known.summed & ~known.imported & (known.states == STATES.index(state))
        yield _Found("state", state, severity, np.flatnonzero(missing))
    for word, severity in verdicts.items():
        yield _Found("verdict", word, severity, np.flatnonzero(known.summed & known.has_verdict(word)))
    yield _Found("setting", "tiering_off", "warning", np.flatnonzero(known.tiering_off))


def _findings(session: ReadSession, known: HostColumns) -> Iterator[_Found]:
    for row in session.execute(_FINDINGS):
        places = np.sort(known.places(np.array(row.hosts, np.int64)))
        yield _Found("finding", row.finding_id, row.severity, places[places >= 0], row.cause, row.fix)
