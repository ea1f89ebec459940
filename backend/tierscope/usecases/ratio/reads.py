"""DRAM:CXL ratio advice: which DRAM share of a service keeps a loss target, for each kind of its hosts."""

from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.domain.slowdown import Device
from tierscope.storage.base.subjects import SubjectService, find_service, hosts_of_service
from tierscope.storage.curve.page_samples import hosts_with_samples
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.storage.slowdown.points import list_points
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.counters.service_metrics import ServiceMetricReads
from tierscope.usecases.curve.sources import spread_hosts
from tierscope.usecases.ratio.answer import answer_kinds
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.hardware import (
    NO_KIND,
    KnownMemory,
    group_kinds,
    middle_slow_memory,
    read_hardware_facts,
)
from tierscope.usecases.ratio.heat import MAX_HOSTS, read_heat_facts
from tierscope.usecases.ratio.inputs import RatioInputs, RatioQuery
from tierscope.usecases.ratio.overlap import read_jaccard
from tierscope.usecases.ratio.placement import ReadPlacement, read_replayed
from tierscope.usecases.ratio.service_class import latency_of

SPAN = timedelta(days=8)
"""What advice reads at least: a full week, with room for what is still on its way."""
LATENCY_POINTS = 500
OTHER_HOSTS = 200
"""Of the fleet, whose benches are looked at where no host of the service has slow memory."""
MAX_KINDS = 4
"""Kinds of hosts that one answer is for; those with the most hosts, of which the sampled ones come first."""


class RatioReads:
    """Ratio advice for services."""

    def __init__(
        self,
        context: ReadContext,
        read_placement: ReadPlacement = read_replayed,
        *,
        memory: KnownMemory | None = None,
    ) -> None:
        """`read_placement` says which accesses slow memory serves at a DRAM share. `memory`: shared with others."""
        self._context = context
        self._read_placement = read_placement
        self._memory = memory or KnownMemory()

    def service(
        self,
        service_id: str,
        *,
        loss_target: float,
        hold_hot: bool,
        growth: float,
        from_: str | None,
        to: str | None,
        device: Device | None = None,
    ) -> Ratio:
        """The advice with all it rests on. A shorter window is widened to eight days: a full week firms it up.

        `device`: the slow memory to judge, in place of that of the hosts.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = widen(parse_window(from_, to, now=now, default=SPAN))
        metrics = self._read_latency(service_id, window)
        with self._context.database.read() as session:
            service = find_service(session, service_id)
            if service is None:
                raise NotFound(f"there is no service {service_id[:80]!r}")
            known = self._read_inputs(session, service, window, now=now, latency=metrics)
        query = RatioQuery(loss_target, hold_hot=hold_hot, growth=growth, device=device)
        return answer_kinds(known, query, now=now)

    def _read_inputs(
        self, session: ReadSession, service: SubjectService, window: Window, *, now: datetime, latency: Figure
    ) -> list[RatioInputs]:
        """What is known of the service by kind of host; one kind that is not known where it has no hosts."""
        hosts = {host.id: host for host in hosts_of_service(session, service.id)}
        sampled = hosts_with_samples(session, service.id, window.start, window.end)
        taken = dict.fromkeys([*(host for host in sampled if host in hosts), *spread_hosts(list(hosts), MAX_HOSTS)])
        memory_of = self._memory.newest(session, list(hosts))
        kinds = group_kinds(list(taken), memory_of) or [(NO_KIND, ())]
        kinds.sort(key=lambda kind: set(sampled).isdisjoint(kind[1]))
        slow = middle_slow_memory(memory_of)
        if slow is None:
            slow = middle_slow_memory(self._memory.newest(session, _others(session, service.origin)))
        return [
            RatioInputs(
                service_id=service.public_id,
                origin=service.origin,
                window=window,
                kind=kind,
                n_hosts=len(ids),
                heat=(heat := read_heat_facts(session, service.id, [hosts[host] for host in ids], window, now=now)),
                jaccard=read_jaccard(session, service.id, heat.host_ids, window, now=now),
                hardware=read_hardware_facts(
                    session, heat.host_ids or ids, window, memory_of=memory_of, elsewhere=slow
                ),
                placement=self._read_placement(session, service.id, window, now, ids),
                points=tuple(list_points(session, service.id)),
                latency=latency,
            )
            for kind, ids in kinds[:MAX_KINDS]
        ]

    def _read_latency(self, service_id: str, window: Window) -> Figure:
        reads = ServiceMetricReads(self._context)
        start, end = window.start.isoformat(), window.end.isoformat()
        return latency_of(reads.read(service_id, from_=start, to=end, max_points=LATENCY_POINTS))


def _others(session: ReadSession, origin: Origin) -> list[int]:
    """Hosts of the same origin, whose slow memory stands for that of hosts which have none."""
    return [row.id for row in list_hosts(session, wanted=HostFilter(origin=origin), after=None, limit=OTHER_HOSTS)]


def widen(window: Window) -> Window:
    """At least eight days, to the same end."""
    return Window(min(window.start, window.end - SPAN), window.end)
