"""DRAM:CXL ratio advice: the smallest DRAM share of a service that keeps a loss target, or why none can be advised."""

from datetime import datetime, timedelta

from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import NotFound
from tierscope.domain.base.figures import Figure, Window
from tierscope.storage.base.subjects import SubjectService, find_service, hosts_of_service
from tierscope.storage.fleet.services import list_services
from tierscope.storage.slowdown.points import list_points
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.counters.service_metrics import ServiceMetricReads
from tierscope.usecases.ratio.answer import Asked, Known, answer_ratio
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.hardware import read_hardware_facts
from tierscope.usecases.ratio.heat import read_heat_facts
from tierscope.usecases.ratio.overlap import read_jaccard
from tierscope.usecases.ratio.placement import ReadPlacement, read_replayed
from tierscope.usecases.ratio.service_class import latency_of

SPAN = timedelta(days=8)
"""What advice reads at least: a full week, with room for what is still on its way."""
LATENCY_POINTS = 500


class RatioReads:
    """Ratio advice for services. `read_placement` says which accesses slow memory serves at a DRAM share."""

    def __init__(self, context: ReadContext, read_placement: ReadPlacement = read_replayed) -> None:
        self._context = context
        self._read_placement = read_placement

    def service(
        self,
        service_id: str,
        *,
        loss_target: float,
        stressed: bool,
        growth: float,
        from_: str | None,
        to: str | None,
    ) -> Ratio:
        """The advice with all it rests on. A shorter window is widened to eight days: advice needs a full week.

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
            known = read_known(session, service, window, now=now, latency=metrics, read_placement=self._read_placement)
        return answer_ratio(known, Asked(loss_target, stressed=stressed, growth=growth))

    def _read_latency(self, service_id: str, window: Window) -> Figure:
        reads = ServiceMetricReads(self._context)
        start, end = window.start.isoformat(), window.end.isoformat()
        return latency_of(reads.read(service_id, from_=start, to=end, max_points=LATENCY_POINTS))


def find_by_name(database: Database, name: str) -> str:
    """The id of a service named by its id, or by namespace/name; live ones come before recorded ones.

    Raises:
        NotFound: there is none.
    """
    with database.read() as session:
        if find_service(session, name) is not None:
            return name
        namespace, _, short = name.rpartition("/")
        rows = [
            row
            for row in list_services(session, origin=None, host=None, after=None, limit=None)
            if row.name == short and row.namespace == namespace
        ]
    if not rows:
        raise NotFound(f"there is no service {name[:80]!r}", next_step="List services with GET /v1/services.")
    return min(rows, key=lambda row: row.origin != "live").public_id


def widen(window: Window) -> Window:
    """At least eight days, to the same end."""
    return Window(min(window.start, window.end - SPAN), window.end)


def read_known(
    session: ReadSession,
    service: SubjectService,
    window: Window,
    *,
    now: datetime,
    latency: Figure,
    read_placement: ReadPlacement,
) -> Known:
    """Everything that is known of a service for its ratio."""
    heat = read_heat_facts(session, service.id, hosts_of_service(session, service.id), window, now=now)
    return Known(
        service_id=service.public_id,
        origin=service.origin,
        window=window,
        heat=heat,
        jaccard=read_jaccard(session, service.id, heat.host_ids, window, now=now),
        hardware=read_hardware_facts(session, heat.host_ids, window),
        placement=read_placement(session, service.id, window, now),
        points=tuple(list_points(session, service.id)),
        latency=latency,
    )
