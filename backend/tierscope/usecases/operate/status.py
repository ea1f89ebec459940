"""Health of the installation, and the metric catalogue."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

import tierscope
from tierscope.core.database import ReadSession
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.state import InstanceState, load
from tierscope.core.errors import TierscopeError
from tierscope.domain._generated.catalogue import METRICS
from tierscope.domain._generated.quantities import QUANTITIES, Quantity
from tierscope.domain.base.described import Described
from tierscope.domain.base.words import counted
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.storage.base.live_rows import WaitingChunk, waiting_chunks
from tierscope.storage.base.partitions import Mode
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.storage.nodes.rows import DataNode, read_nodes
from tierscope.storage.operate.installation import Installation, read_installation
from tierscope.usecases.access.loopback_trust import LoopbackTrust
from tierscope.usecases.alerts.frames import ARRIVAL_SECONDS, SETTLING_SECONDS
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.nodes.fleet import tell_away
from tierscope.usecases.nodes.watch import NodeWatch
from tierscope.usecases.operate.live_rows import describe_waiting
from tierscope.usecases.operate.progress import CatchingUp, Progress
from tierscope.usecases.operate.set_aside import SetAside, StoredRows
from tierscope.usecases.operate.unread import UnreadSeries, find_unread

LAG_DEGRADED_SECONDS = 600.0
"""Work that waits longer than this is not being done at the usual pace."""
AGENT_SILENT_SECONDS = 600.0
_MINUTE_SECONDS = 60.0
HELD_AFTER = timedelta(hours=6)
"""Chunks of live rows that could have gone so long ago are told: work on them fails."""
JUDGED_WITHIN = timedelta(seconds=ARRIVAL_SECONDS + SETTLING_SECONDS + 60, minutes=3)
"""Rules are judged each minute, of what has had time to arrive; three that are left out are no chance."""
SERIES_WARNED = 0.75
"""The share of the series that may be kept from which on it is said."""
UNREAD_AFTER = timedelta(minutes=1)
Health = Literal["healthy", "degraded", "down", "absent", "unknown"]
Part = Literal["database", "nodes", "api", "worker", "queue", "agent", "objects"]


@dataclass(frozen=True, slots=True)
class ComponentStatus:
    """One part of the installation."""

    name: Part
    status: Health
    detail: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class InstallationStatus:
    """The whole installation. `queue_lag_seconds` is the age of the oldest work that waits; None where unknown.

    `public_url` is the address as people and agents reach it; None where no setting says so.
    """

    version: str
    storage: Mode
    simulated: bool
    components: tuple[ComponentStatus, ...]
    queue_lag_seconds: float | None
    marks_pending: int
    anonymous_reads: bool
    public_url: str | None
    catching_up: CatchingUp | None
    unread: Annotated[
        tuple[UnreadSeries, ...],
        Described("What came by remote write or OTLP in the last two hours and gives no host."),
    ] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """An entry of the catalogue."""

    name: str
    source: str
    unit: str
    kind: str
    scopes: tuple[str, ...]
    kernel: str
    added_in: str
    help: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All metrics that are known by name."""

    items: tuple[Metric, ...]


@dataclass(frozen=True, slots=True)
class Quantities:
    """Everything that a figure's definition may name."""

    items: tuple[Quantity, ...]


class StatusReads:
    """Reads of the installation's health."""

    def __init__(
        self, context: ReadContext, trust: LoopbackTrust | None = None, watch: NodeWatch | None = None
    ) -> None:
        self._context = context
        self._watch = watch
        self._trust = trust or LoopbackTrust(context.database, setting=context.settings.anonymous_reads)
        self._stored = StoredRows()
        self._progress = Progress()
        self._unread: tuple[datetime, tuple[UnreadSeries, ...]] | None = None

    def status(self) -> InstallationStatus:
        """Each component with its health and the reason. A database that does not answer is a finding, not an error."""
        settings = self._context.settings
        instance = load(find_places(settings.data_dir).state_file)
        if instance is not None and not instance.supervised:
            instance = None
        found: Installation | None
        try:
            with self._context.database.read() as session:
                found = read_installation(session, self._context.clock())
                unreadable = self._stored.set_aside(session, self._context.clock())
                long_ago = self._context.clock() - HELD_AFTER
                # What has just been asked for is history that has just come: nothing failed.
                held = [chunk for chunk in waiting_chunks(session, long_ago) if chunk.asked_at < long_ago]
                others = [] if self._watch is None else self._watch.others
                nodes = _nodes(read_nodes(session), others, read_hosts_away(session))
                unread = self._find_unread(session)
            database = _filling(found.sample_series, settings.remote_write.series)
        except TierscopeError as error:
            found, database, unreadable, held = None, ComponentStatus("database", "down", error.detail, None), [], []
            nodes, unread = (), ()
        lag = self._lag(found)
        catching_up = None if found is None else self._progress.look(found, self._context.clock())
        worker = _holding(_skipping(_worker(instance, found, lag, catching_up), unreadable), held)
        return InstallationStatus(
            version=tierscope.__version__,
            storage=found.storage if found else "native",
            simulated=bool(found and found.simulated_hosts),
            components=(
                replace(database, since=_since(instance, "database")) if database.status == "healthy" else database,
                *nodes,
                ComponentStatus("api", "healthy", "answers", _since(instance, "api")),
                _blocked(worker, found, self._context.clock()),
                _supervised(instance, "queue") or ComponentStatus("queue", "unknown", _UNSUPERVISED, None),
                _supervised(instance, "agent") or self._agents(found),
                _objects(settings.objects.store, found),
            ),
            queue_lag_seconds=lag,
            marks_pending=found.marks_pending if found else 0,
            anonymous_reads=settings.listens_on_loopback and not settings.trusted_proxies and self._trust.holds(),
            public_url=settings.public_url,
            catching_up=catching_up,
            unread=unread,
        )

    def catalogue(self) -> Catalogue:
        """Every metric of the catalogue."""
        return Catalogue(
            tuple(
                Metric(one.name, one.source, one.unit, one.kind, one.scopes, one.kernel, one.added_in, one.help)
                for one in METRICS
            )
        )

    def quantities(self) -> Quantities:
        """The register of quantities."""
        return Quantities(tuple(QUANTITIES.values()))

    def _find_unread(self, session: ReadSession) -> tuple[UnreadSeries, ...]:
        """Looked for once a minute: pages ask more often than it changes."""
        now = self._context.clock()
        if self._unread is None or now - self._unread[0] > UNREAD_AFTER:
            self._unread = now, find_unread(session, now)
        return self._unread[1]

    def _lag(self, found: Installation | None) -> float | None:
        if found is None:
            return None
        if found.oldest_mark_at is None:
            return 0.0
        return max((self._context.clock() - found.oldest_mark_at).total_seconds(), 0.0)

    def _agents(self, found: Installation | None) -> ComponentStatus:
        """Agents and other senders elsewhere: judged by when the newest data of a live host came."""
        if found is None:
            return ComponentStatus("agent", "unknown", "the database does not answer", None)
        if found.live_hosts == 0 or found.last_live_seen_at is None:
            return ComponentStatus("agent", "absent", "no live host has sent anything yet", None)
        silence = (self._context.clock() - found.last_live_seen_at).total_seconds()
        if silence > AGENT_SILENT_SECONDS:
            return ComponentStatus(
                "agent", "degraded", f"no live host has sent anything for {silence / _MINUTE_SECONDS:.0f} minutes", None
            )
        came = "less than a minute" if silence < _MINUTE_SECONDS else f"{silence / _MINUTE_SECONDS:.0f} min"
        live = counted(found.live_hosts, "live host")
        return ComponentStatus("agent", "healthy", f"{live}; the newest data came {came} ago", None)


_NAMED = 5
_UNSUPERVISED = "runs outside of `tierscope up`: ask whoever runs it"


def _nodes(nodes: Sequence[DataNode], others: Sequence[str], hosts: HostsAway) -> tuple[ComponentStatus, ...]:
    """The servers of a fleet that is on several; nothing where one holds everything."""
    if not nodes:
        return ()
    away = tell_away(nodes, hosts)
    if away is None and others:
        detail = f"all {len(nodes)} nodes answer; not of this release: {', '.join(others)}; run `tierscope migrate`"
        return (ComponentStatus("nodes", "degraded", detail, None),)
    if away is None:
        return (ComponentStatus("nodes", "healthy", f"all {len(nodes)} nodes answer", None),)
    return (ComponentStatus("nodes", "degraded", away, min(node.away_since for node in nodes if node.away_since)),)


def _objects(store: str, found: Installation | None) -> ComponentStatus:
    """The object store by the newest run of the task that moves bodies there: asking it here would cost each page."""
    if found is None:
        return ComponentStatus("objects", "unknown", "the database does not answer", None)
    if store == "database":
        if found.has_objects:
            return ComponentStatus(
                "objects", "down", "rows refer to a store, and none is set: TIERSCOPE_OBJECTS__STORE", None
            )
        return ComponentStatus(
            "objects", "absent", "none is set: bodies of samples and heatmaps stay in the database", None
        )
    if found.moved_at is None:
        return ComponentStatus("objects", "unknown", f"no worker has used the {store} store yet", None)
    if found.move_failed_at == found.moved_at:
        detail = f"the newest run into the {store} store failed; rows keep their bodies until one does not"
        return ComponentStatus(
            "objects", "degraded", f"{detail}. `tierscope doctor --part objects` says why", found.move_failed_at
        )
    return ComponentStatus("objects", "healthy", f"the {store} store takes the bodies of finished hours", None)


def _supervised(instance: InstanceState | None, name: Part) -> ComponentStatus | None:
    """A component as its supervisor sees it, corrected where its process is gone."""
    component = None if instance is None else instance.components.get(name)
    if component is None:
        return None
    status, detail = (instance and instance.fate_of(component)) or (component.status, component.detail)
    health: Health = "degraded" if status == "starting" else status
    return ComponentStatus(name, health, detail, component.since)


def _since(instance: InstanceState | None, name: Part) -> datetime | None:
    component = _supervised(instance, name)
    return component.since if component else None


def _skipping(worker: ComponentStatus, unreadable: Sequence[SetAside]) -> ComponentStatus:
    """The worker with the quarantined rows: nothing is done with them until somebody acts."""
    if not unreadable or worker.status == "down":
        return worker
    named = "; ".join(f"{row.kind} {row.name!r} ({row.way_out}): {row.reason}" for row in unreadable[:_NAMED])
    detail = f"{len(unreadable)} stored rows cannot be read and are quarantined: {named}"
    return replace(worker, status="degraded", detail=detail)


def _holding(worker: ComponentStatus, held: Sequence[WaitingChunk]) -> ComponentStatus:
    """The worker with the chunks of live rows that its failures keep."""
    if not held or worker.status == "down":
        return worker
    detail = "; ".join([worker.detail, *map(describe_waiting, held[:_NAMED])])
    return replace(worker, status="degraded", detail=detail)


def _filling(n_series: int, limit: int) -> ComponentStatus:
    """The database that answers; series beyond the limit are left out, which is said long before."""
    if n_series < SERIES_WARNED * limit:
        return ComponentStatus("database", "healthy", "answers", None)
    detail = f"answers; {n_series:,} of at most {limit:,} series of Prometheus: beyond them new ones are left out"
    return ComponentStatus("database", "degraded", f"{detail}. docs/howto/prometheus.md says what to do", None)


def _blocked(worker: ComponentStatus, found: Installation | None, now: datetime) -> ComponentStatus:
    """The worker with rules that nobody judges, and with the roles whose locks may be why."""
    if found is None or worker.status == "down":
        return worker
    said = []
    if found.judged_to is not None and (late := now - found.judged_to) > JUDGED_WITHIN:
        said.append(f"no alert rule was judged for {late.total_seconds() / 60:.0f} minutes")
    for holder in found.holders[:_NAMED]:
        what = "locks of its own" if holder.advisory else "tables"
        since = "" if holder.since is None else f" since {holder.since:%H:%M:%S} UTC"
        said.append(f"the role {holder.role!r} holds {what} in the database{since} (process {holder.pid})")
    if not said:
        return worker
    return replace(worker, status="degraded", detail="; ".join([worker.detail, *said]))


def _worker(
    instance: InstanceState | None, found: Installation | None, lag: float | None, catching_up: CatchingUp | None
) -> ComponentStatus:
    """The worker by its supervisor and by its work: a backlog that grows old is worse than a process that is there.

    Work that came at once grows old, too, while it is done at a pace.
    """
    known = _supervised(instance, "worker")
    at_pace = catching_up is not None and catching_up.seconds_left is not None
    late = lag is not None and lag > LAG_DEGRADED_SECONDS and not at_pace
    backlog = (
        "" if found is None or lag is None else f"{found.marks_pending} pieces of work wait, the oldest {lag:.0f} s"
    )
    if known is not None and (known.status != "healthy" or not late):
        return known
    if late:
        return ComponentStatus("worker", "degraded", backlog, known.since if known else None)
    return ComponentStatus("worker", "unknown" if found is None else "healthy", backlog or _UNSUPERVISED, None)
