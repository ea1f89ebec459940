"""Drift of settings over the fleet: hosts that are set otherwise than most of their peers.

The same norm as on a host's page (`groups.py`): up to 200 other hosts that run one of its services, those that share
most services first, on the same kernel. Hosts with the same services have the same peers but for themselves, so that
values are counted once for all of them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tierscope.core.database import ReadSession
from tierscope.domain.knobs.machine import is_unsupported, read_knobs
from tierscope.storage.knobs.plan import HostSettings, read_settings, services_of_hosts
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.knobs.groups import GROUP_MAX, find_norm
from tierscope.usecases.knobs.plan_answers import DriftCell, DriftHost, DriftSetting, SettingDrift

Services = tuple[tuple[str, str], ...]
NOTES = (
    "Peers run one of the host's services on the same kernel: three at least. More than half of them set the norm.",
    "Different is not wrong: the advice says which value helps. Tierscope changes nothing on hosts.",
)


@dataclass(frozen=True, slots=True)
class _Host:
    """A host with its settings as they are written."""

    held: HostSettings
    services: Services
    knobs: Mapping[str, str | None]


class SettingDrifts(ContextUseCase):
    """Reads of drift."""

    def read(self, *, service: str | None, limit: int) -> SettingDrift:
        """Hosts that differ, of one service or of all, against all of their peers."""
        with self._context.database.read() as session:
            hosts = _read_hosts(session)
        shown = [
            host for host in hosts if service is None or any(public_id == service for public_id, _ in host.services)
        ]
        return find_drift(hosts, shown, limit=limit, at=self._context.clock())


def _read_hosts(session: ReadSession) -> list[_Host]:
    services = services_of_hosts(session)
    return [
        _Host(held, tuple(services.get(number, ())), read_knobs({"knobs": held.knobs}))
        for number, held in read_settings(session).items()
    ]


def find_drift(hosts: Sequence[_Host], shown: Sequence[_Host], *, limit: int, at: datetime) -> SettingDrift:
    """The hosts `shown` against their peers among all `hosts`."""
    norms = _Norms(hosts)
    judged = [(host, norms.of(host)) for host in shown if host.held.in_service and host.knobs]
    compared = [(host, norm) for host, norm in judged if any(value is not None for value, _ in norm.values())]
    differing = {host.held.host_id: _differing(host, norm) for host, norm in compared}
    counts = Counter(path for paths in differing.values() for path in paths)
    settings = [path for path, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    rows = sorted(
        ((host, norm) for host, norm in compared if differing[host.held.host_id]),
        key=lambda pair: (-len(differing[pair[0].held.host_id]), pair[0].held.name),
    )
    return SettingDrift(
        at=at,
        hosts_compared=len(compared),
        hosts_without_peers=len(judged) - len(compared),
        hosts_without_settings=sum(host.held.in_service and not host.knobs for host in shown),
        hosts_differing=len(rows),
        settings=tuple(DriftSetting(path, counts[path]) for path in settings),
        hosts=tuple(_row(host, norm, settings, len(differing[host.held.host_id])) for host, norm in rows[:limit]),
        notes=NOTES,
    )


Norm = dict[str, tuple[str | None, int]]
"""By setting: what most peers have, and how many have any."""


class _Norms:
    """What most peers of a host have, with values counted once for all hosts with the same services."""

    def __init__(self, hosts: Sequence[_Host]) -> None:
        self._by_id = {host.held.host_id: host for host in hosts}
        self._by_service: dict[str, list[int]] = defaultdict(list)
        for host in sorted(hosts, key=lambda host: host.held.host_id):
            for public_id, _ in host.services:
                self._by_service[public_id].append(host.held.host_id)
        self._groups: dict[Services, list[int]] = {}
        self._counted: dict[tuple[Services, str | None, bool], dict[str, Counter[str]]] = {}

    def of(self, host: _Host) -> Norm:
        """The norms of one host, which is counted itself."""
        group = self._group(host.services)
        is_counted = host.held.host_id in group[: GROUP_MAX + 1]
        counted = self._counts(host.services, host.held.kernel_release, is_counted=is_counted)
        found: Norm = {}
        for path, own in host.knobs.items():
            values = counted.get(path, Counter())
            if own is not None and not is_counted:
                values = values + Counter({own: 1})
            peers = values.total() - (own is not None)
            found[path] = find_norm(values, peers=peers), peers
        return found

    def _group(self, services: Services) -> list[int]:
        """Hosts with any of these services: those with most of them first, then in the order of their numbers."""
        if services not in self._groups:
            shared = Counter(host for public_id, _ in services for host in self._by_service[public_id])
            self._groups[services] = sorted(shared, key=lambda host: (-shared[host], host))
        return self._groups[services]

    def _counts(self, services: Services, kernel: str | None, *, is_counted: bool) -> dict[str, Counter[str]]:
        """Values by setting over as many peers as a host is compared with, and itself where it is one of them."""
        key = (services, kernel, is_counted)
        if key not in self._counted:
            group = self._group(services)[: GROUP_MAX + is_counted]
            self._counted[key] = _count(
                self._by_id[host] for host in group if self._by_id[host].held.kernel_release == kernel
            )
        return self._counted[key]


def _count(hosts: Iterable[_Host]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for host in hosts:
        for path, value in host.knobs.items():
            if value is not None:
                found[path][value] += 1
    return dict(found)


def _differing(host: _Host, norm: Norm) -> list[str]:
    return [
        path
        for path, (value, _) in norm.items()
        if value is not None and host.knobs[path] is not None and host.knobs[path] != value
    ]


def _row(host: _Host, norm: Norm, settings: Sequence[str], differing: int) -> DriftHost:
    return DriftHost(
        host_id=host.held.public_id,
        name=host.held.name,
        kernel_release=host.held.kernel_release,
        service_ids=tuple(public_id for public_id, _ in host.services),
        service_names=tuple(name for _, name in host.services),
        differing=differing,
        cells=tuple(_cell(host, norm, path) for path in settings),
    )


def _cell(host: _Host, norm: Norm, path: str) -> DriftCell:
    value = host.knobs.get(path)
    most, known = norm.get(path, (None, 0))
    if value is None:
        unsupported = is_unsupported(host.held.knobs, path)
        return DriftCell("not_supported" if unsupported else "not_collected", None, most, known)
    if most is None:
        return DriftCell("no_norm", value, None, known)
    return DriftCell("same" if value == most else "differs", value, most, known)
