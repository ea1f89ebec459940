"""Labels of hosts set in the service: one host's, and many from a file. The source of each label is kept.

Of the same label the strongest source counts: the join token's, then those set here, then the agent's own file, then
the cluster's. So nothing that an agent says later overwrites what was set here.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from tierscope.core.database import WriteTransaction
from tierscope.core.errors import NotFound, Unprocessable
from tierscope.domain.fleet.labels import LabelProblem, LabelSource, problem_of_labels, read_label_file
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.fleet import labels as stored
from tierscope.storage.fleet.labels import LabelledHost
from tierscope.usecases.base.context import ClockedUseCase


@dataclass(frozen=True, slots=True)
class HostLabel:
    """A label in force, with its source. `hidden`: what weaker sources say."""

    key: str
    value: str
    source: LabelSource
    hidden: tuple["HiddenLabel", ...]


@dataclass(frozen=True, slots=True)
class HiddenLabel:
    """What a weaker source says of a label."""

    source: LabelSource
    value: str


@dataclass(frozen=True, slots=True)
class HostLabels:
    """The labels of a host. `set_labels`: those that were set in the service, whatever is in force."""

    host_id: str
    name: str
    labels: tuple[HostLabel, ...]
    set_labels: dict[str, str]


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A host whose labels in force change."""

    host_id: str
    name: str
    before: dict[str, str]
    after: dict[str, str]


@dataclass(frozen=True, slots=True)
class LabelUpload:
    """What a file changes, hosts that it names and nobody knows, and rows that cannot be used."""

    dry_run: bool
    rows: int
    changed: tuple[LabelChange, ...]
    unknown: tuple[str, ...]
    problems: tuple[LabelProblem, ...]


@dataclass(slots=True)
class _Wanted:
    """What a file wants of one host."""

    host: LabelledHost
    labels: dict[str, str]
    touched: set[str] = field(default_factory=set)


class Labels(ClockedUseCase):
    """Reads and sets labels of hosts."""

    def read(self, host_id: str) -> HostLabels:
        """The labels of a host with their sources.

        Raises:
            NotFound: there is no such host.
        """
        with self._database.read() as session:
            return _view(_require(stored.find_labelled(session, host_id), host_id))

    def replace(self, host_id: str, labels: dict[str, str], *, actor: str) -> HostLabels:
        """Set these labels of a host in the service, and no others; the other sources stay as they are.

        Raises:
            NotFound: there is no such host.
            Unprocessable: a label is not acceptable.
        """
        problem = problem_of_labels(labels)
        if problem is not None:
            raise Unprocessable(problem)
        with self._database.write() as transaction:
            host = _require(stored.find_labelled(transaction, host_id), host_id)
            if host.service != labels:
                stored.store_set_labels(transaction, {host.number: labels})
                detail = {"before": host.service, "after": labels}
                append_audit(transaction, AuditRow(self._clock(), actor, "host.labels", host_id, detail))
            return _view(_require(stored.find_labelled(transaction, host_id), host_id))

    def upload(self, data: bytes, *, dry_run: bool, actor: str) -> LabelUpload:
        """Set labels of the hosts that a CSV file names. A dry run says what would change.

        Rows that cannot be used are told and left out; the others count.

        Raises:
            Unprocessable: it is no CSV file with a header.
        """
        try:
            rows, problems = read_label_file(data)
        except ValueError as error:
            raise Unprocessable(
                str(error), next_step="Begin the file with a line such as `host,rack,region`; save it as CSV in UTF-8."
            ) from error
        with self._database.write() as transaction:
            known = _by_word(stored.find_labelled_by_words(transaction, {row.host for row in rows}))
            wanted: dict[int, _Wanted] = {}
            unknown: dict[str, None] = {}
            for row in rows:
                hosts = known.get(row.host, [])
                if len(hosts) > 1:
                    ids = ", ".join(host.host_id for host in hosts[:5])
                    problems.append(
                        LabelProblem(row.row, f"{len(hosts)} hosts are named {row.host!r}: name one of {ids}")
                    )
                elif not hosts:
                    unknown[row.host] = None
                else:
                    entry = wanted.setdefault(hosts[0].number, _Wanted(hosts[0], dict(hosts[0].service)))
                    _apply(entry, row.labels, row.row, problems)
            fitting = [entry for entry in wanted.values() if _fits(entry, problems)]
            changed = tuple(
                LabelChange(entry.host.host_id, entry.host.name, entry.host.labels, _in_force(entry.host, entry.labels))
                for entry in fitting
                if _in_force(entry.host, entry.labels) != entry.host.labels
            )
            if not dry_run:
                self._store(transaction, fitting, actor)
        ordered = tuple(sorted(problems, key=lambda problem: problem.row))
        return LabelUpload(dry_run, len(rows), changed, tuple(unknown), ordered)

    def _store(self, transaction: WriteTransaction, entries: list[_Wanted], actor: str) -> None:
        new = [entry for entry in entries if entry.labels != entry.host.service]
        stored.store_set_labels(transaction, {entry.host.number: entry.labels for entry in new})
        now = self._clock()
        for entry in new:
            detail = {"before": entry.host.service, "after": entry.labels}
            append_audit(transaction, AuditRow(now, actor, "host.labels", entry.host.host_id, detail))


def _apply(entry: _Wanted, labels: dict[str, str | None], row: int, problems: list[LabelProblem]) -> None:
    again = sorted(entry.touched & labels.keys())
    if again:
        problems.append(LabelProblem(row, f"an earlier row sets {', '.join(again)} of this host: this one counts"))
    entry.touched |= labels.keys()
    for key, value in labels.items():
        if value is None:
            entry.labels.pop(key, None)
        else:
            entry.labels[key] = value
        if key in entry.host.fixed and value != entry.host.fixed[key]:
            problems.append(LabelProblem(row, f"{key} is fixed by the token that the host joined with"))


def _fits(entry: _Wanted, problems: list[LabelProblem]) -> bool:
    problem = problem_of_labels(entry.labels)
    if problem is not None:
        problems.append(LabelProblem(0, f"{entry.host.host_id}: {problem}"))
    return problem is None


def _by_word(hosts: list[LabelledHost]) -> dict[str, list[LabelledHost]]:
    """Hosts by id and by name. An id names one host, whatever others are called."""
    found: dict[str, list[LabelledHost]] = defaultdict(list)
    for host in hosts:
        found[host.name].append(host)
    return found | {host.host_id: [host] for host in hosts}


def _in_force(host: LabelledHost, service: dict[str, str]) -> dict[str, str]:
    return host.kubernetes | host.agent | service | host.fixed


def _view(host: LabelledHost) -> HostLabels:
    sources: tuple[tuple[LabelSource, dict[str, str]], ...] = (
        ("join_token", host.fixed),
        ("service", host.service),
        ("agent", host.agent),
        ("kubernetes", host.kubernetes),
    )
    labels = []
    for key in sorted(host.labels):
        said = [HiddenLabel(source, values[key]) for source, values in sources if key in values]
        labels.append(HostLabel(key, said[0].value, said[0].source, tuple(said[1:])))
    return HostLabels(host.host_id, host.name, tuple(labels), host.service)


def _require(host: LabelledHost | None, host_id: str) -> LabelledHost:
    if host is None:
        raise NotFound(f"no host has the id {host_id[:80]!r}", next_step="List hosts with GET /v1/hosts.")
    return host
