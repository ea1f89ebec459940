"""Why hosts need attention: the causes of all hosts, the gravest first, then by how many hosts have them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tierscope.core.database import ReadSession
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_columns import HostColumns
from tierscope.domain.ledger.words import VERDICT_SEVERITY, gravity
from tierscope.storage.fleet.causes import MOST_NAMED, CauseKind, CausesOfHosts, HostCause, NamedHost, count_causes
from tierscope.usecases.fleet.host_summaries import Summarised

_ORDER: tuple[Severity, ...] = ("critical", "warning", "info")


def read_causes(session: ReadSession, columns: HostColumns, others: Sequence[Summarised]) -> CausesOfHosts:
    """Of these hosts, none of them retired; `others` are those that no worker has summed up yet."""
    known = count_causes(session, columns, VERDICT_SEVERITY)
    found = {(cause.kind, cause.key, cause.severity): cause for cause in known.causes}
    n_hosts, n_critical = known.n_hosts, known.n_critical
    for host in others:
        causes = list(_causes_of(host))
        n_hosts += bool(causes)
        n_critical += any(cause.severity == "critical" for cause in causes)
        for cause in causes:
            place = (cause.kind, cause.key, cause.severity)
            found[place] = _join(found[place], cause) if place in found else cause
    return CausesOfHosts(tuple(sorted(found.values(), key=_rank)), n_hosts, n_critical)


def _causes_of(host: Summarised) -> Iterator[HostCause]:
    named = (NamedHost(host.summary.id, host.summary.name),)

    def one(
        kind: CauseKind, key: str, severity: Severity, cause: str | None = None, fix: str | None = None
    ) -> HostCause:
        return HostCause(kind, key, severity, cause, fix, 1, named)

    state, word = host.summary.state, host.verdict.word
    if state in ("silent", "late") and host.row.origin != "import":
        yield one("state", state, "critical" if state == "silent" else "warning")
    if word in VERDICT_SEVERITY:
        yield one("verdict", word, VERDICT_SEVERITY[word])
    if host.facts.tiering_off:
        yield one("setting", "tiering_off", "warning")
    for finding in host.summary.findings:
        if finding.severity != "info":
            yield one("finding", finding.id, finding.severity, finding.cause, finding.fix)


def _join(known: HostCause, other: HostCause) -> HostCause:
    hosts = sorted({*known.hosts, *other.hosts}, key=lambda host: (host.name, host.id))
    return replace(known, n_hosts=known.n_hosts + other.n_hosts, hosts=tuple(hosts[:MOST_NAMED]))


def _rank(cause: HostCause) -> tuple[int, int, int, str]:
    return (_ORDER.index(cause.severity), -cause.n_hosts, gravity(cause.key), cause.key)
