"""Whom rules are about: hosts, services and the fleet, with the labels that scopes, routes and texts see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tierscope.core.database import ReadSession
from tierscope.domain.alerts.frame import MINUTE_S
from tierscope.domain.alerts.rules import Scope
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.figures import Origin
from tierscope.storage.alerts.rule_sources import (
    SubjectHostRow,
    SubjectServiceRow,
    read_subject_hosts,
    read_subject_services,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """One host, service or fleet. `id` is the internal one; there is a fleet per origin. `host_ids`: its hosts."""

    kind: ScopeKind
    id: int
    public_id: str
    name: str
    origin: Origin
    labels: Mapping[str, str]
    known_from_s: float
    host_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fleet:
    """All hosts and services that rules may be about."""

    hosts: Sequence[SubjectHostRow]
    services: Sequence[SubjectServiceRow]
    _labels: dict[int, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, session: ReadSession) -> "Fleet":
        """As they are now."""
        return cls(read_subject_hosts(session), read_subject_services(session))

    def subjects(self, scope: Scope) -> list[Subject]:
        """The subjects of a scope, by internal id."""
        if scope.kind == "service":
            return self._services(scope)
        hosts = [row for row in self.hosts if self._inside(row, scope)]
        if scope.kind == "host":
            return [self._host(row) for row in hosts]
        return [_fleet(origin, hosts) for origin in ("live", "import", "simulated") if _has(hosts, origin)]

    def held_minutes(self, subjects: Sequence[Subject]) -> int:
        """The longest that a host of these subjects holds samples back, in whole minutes."""
        holding = {row.id: row.held_seconds for row in self.hosts if row.held_seconds}
        if not holding:
            return 0
        held = (holding.get(host, 0) for subject in subjects for host in subject.host_ids)
        return -(-max(held, default=0) // MINUTE_S)

    def host_labels(self, row: SubjectHostRow) -> dict[str, str]:
        """The labels of a host, with its name and origin."""
        found = self._labels.get(row.id)
        if found is None:
            found = self._labels[row.id] = row.labels | {"host": row.name, "origin": row.origin}
        return found

    def _host(self, row: SubjectHostRow) -> Subject:
        known = row.enrolled_at.timestamp()
        return Subject("host", row.id, row.public_id, row.name, row.origin, row.labels, known, (row.id,))

    def _inside(self, row: SubjectHostRow, scope: Scope) -> bool:
        if scope.hosts and row.public_id not in scope.hosts and row.name not in scope.hosts:
            return False
        if scope.services and row.id not in self._hosts_of(scope):
            return False
        labels = self.host_labels(row)
        return all(matcher.matches(labels) for matcher in scope.labels)

    def _hosts_of(self, scope: Scope) -> set[int]:
        return {host for service in self.services if _named(service, scope) for host in service.host_ids}

    def _services(self, scope: Scope) -> list[Subject]:
        plain = Scope("host", scope.hosts, (), tuple(m for m in scope.labels if m.name not in ("service", "origin")))
        own = [matcher for matcher in scope.labels if matcher.name in ("service", "origin")]
        allowed = {row.id for row in self.hosts if self._inside(row, plain)}
        found = []
        for row in self.services:
            labels = {"service": f"{row.namespace}/{row.name}", "origin": row.origin}
            members = tuple(host for host in row.host_ids if host in allowed)
            if not members or (scope.services and not _named(row, scope)):
                continue
            if all(matcher.matches(labels) for matcher in own):
                known = row.first_seen_at.timestamp()
                name = f"{row.namespace}/{row.name}"
                team = {} if row.team is None else {"team": row.team}
                found.append(Subject("service", row.id, row.public_id, name, row.origin, team, known, members))
        return found


def _named(row: SubjectServiceRow, scope: Scope) -> bool:
    return bool({row.public_id, row.name, f"{row.namespace}/{row.name}"} & set(scope.services))


def _has(hosts: Sequence[SubjectHostRow], origin: Origin) -> bool:
    return any(row.origin == origin for row in hosts)


_FLEETS = {"live": 1, "import": 2, "simulated": 3}


def _fleet(origin: Origin, hosts: Sequence[SubjectHostRow]) -> Subject:
    inside = [row for row in hosts if row.origin == origin]
    name = "fleet" if origin == "live" else f"fleet ({origin})"
    public_id = "fleet" if origin == "live" else f"fleet-{origin}"
    known = min(row.enrolled_at.timestamp() for row in inside)
    return Subject(
        "fleet", _FLEETS[origin], public_id, name, origin, {}, known, tuple(sorted(row.id for row in inside))
    )
