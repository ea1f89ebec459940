"""DRAM:CXL ratio advice: which DRAM share of a service keeps a loss target, for each kind of its hosts."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import TypeAdapter, ValidationError

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.domain.slowdown import Device
from tierscope.storage.base.subjects import SubjectService, hosts_of_service
from tierscope.storage.curve.page_samples import hosts_with_samples
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.storage.ratio.inputs import StoredInputs, find_inputs, read_states, store_inputs
from tierscope.storage.slowdown.points import list_points
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.counters.service_metrics import ServiceMetricReads
from tierscope.usecases.curve.pages import NoCurve
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
HOLDS = timedelta(hours=2)
"""Inputs that a worker read longer ago are read anew; after half a day of samples or less, a part of what they saw."""
PART_OF_SEEN = 12
FRESH = timedelta(minutes=10)
"""An answer from older ones says so."""
_INPUTS = TypeAdapter(list[RatioInputs])
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

        Over the days up to now it rests on what a worker read ahead, as long as that holds; else it is read here.
        `device`: the slow memory to judge, in place of that of the hosts.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = widen(parse_window(from_, to, now=now, default=SPAN))
        query = RatioQuery(loss_target, hold_hot=hold_hot, growth=growth, device=device)
        if window == Window(now - SPAN, now) and self._read_placement is read_replayed:
            known = self._read_ahead(service_id, now)
            if known is not None:
                view = answer_kinds(known, query, now=now)
                return view if now - view.window.end < FRESH else _say_when(view)
        return answer_kinds(self._read(service_id, window, now), query, now=now)

    def read_ahead(self, service_id: str, *, loss_target: float) -> Ratio:
        """The advice over the days up to now, read here; what it rests on is stored for whoever asks next.

        Raises:
            NotFound: no such service.
        """
        now = self._context.clock()
        with self._context.database.read() as session:
            number = require_service(session, service_id).id
            state = read_states(session, [number])[number]
        known = self._read(service_id, Window(now - SPAN, now), now)
        view = answer_kinds(known, RatioQuery(loss_target, hold_hot=False, growth=0.0), now=now)
        body = json.dumps(_INPUTS.dump_python(known, mode="json"))
        with self._context.database.write() as transaction:
            store_inputs(transaction, number, StoredInputs(state, now, body))
        return view

    def _read_ahead(self, service_id: str, now: datetime) -> list[RatioInputs] | None:
        """What a worker read, with the owner's measurements of now; None where that is none, or holds no longer."""
        with self._context.database.read() as session:
            service = require_service(session, service_id)
            stored = find_inputs(session, service.id)
            if stored is None or now - stored.window_end > HOLDS:
                return None
            if stored.state != read_states(session, [service.id])[service.id]:
                return None
            points = tuple(list_points(session, service.id))
        try:
            known = _INPUTS.validate_json(stored.body)
        except ValidationError:  # of another release
            return None
        seen = [one.placement.seen.days for one in known if not isinstance(one.placement, NoCurve)]
        if not seen or now - stored.window_end > timedelta(days=min(seen)) / PART_OF_SEEN:
            return None
        return [replace(one, points=points) for one in known]

    def _read(self, service_id: str, window: Window, now: datetime) -> list[RatioInputs]:
        metrics = self._read_latency(service_id, window)
        with self._context.database.read() as session:
            return self._read_inputs(session, require_service(session, service_id), window, now=now, latency=metrics)

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
                    session,
                    heat.host_ids or ids,
                    window,
                    memory_of=memory_of,
                    elsewhere=slow,
                    service_id=service.id,
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


def _say_when(view: Ratio) -> Ratio:
    """The answer with a note of how far back what it rests on was read."""
    said = f"It rests on what was measured up to {view.window.end:%Y-%m-%d %H:%M} UTC and is read anew once an hour."
    return replace(view, notes=(*view.notes, said))


def _others(session: ReadSession, origin: Origin) -> list[int]:
    """Hosts of the same origin, whose slow memory stands for that of hosts which have none."""
    return [row.id for row in list_hosts(session, wanted=HostFilter(origin=origin), after=None, limit=OTHER_HOSTS)]


def widen(window: Window) -> Window:
    """At least eight days, to the same end."""
    return Window(min(window.start, window.end - SPAN), window.end)
