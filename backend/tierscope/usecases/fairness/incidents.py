"""Who took whose fast memory on the hosts of an incident, as the page of a host tells it."""

from collections.abc import Sequence

from tierscope.domain.base.figures import Figure, Window
from tierscope.usecases.alerts.incident_sharing import MOST_HOSTS, SharedHosts, TakenMemory
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fairness.answers import HostFairness, Push, TenantShare
from tierscope.usecases.fairness.reads import FairnessReads

MOST_LINES = 6
MIN_TENANTS = 2
_GIB = 2**30
_NO_HOST = "The alert is of no single host or service: open a host to see who shares it."
_ALONE = "On the hosts of this incident no service shares its memory with another whose place in memory is known."
_NOBODY = "No service was pushed out of fast memory by another here while the condition held."
_HOW = {
    "counted": "at least some of them for it",
    "correlated": "whenever it grew",
    "possible": "perhaps for it",
}


class TakenReads:
    """Tells an incident who took whose fast memory."""

    def __init__(self, context: ReadContext) -> None:
        self._fairness = FairnessReads(context)

    def taken(self, host_ids: Sequence[str], service_id: str | None, window: Window) -> SharedHosts:
        """On the first three of these hosts; of a service, what it took and what was taken of it.

        Raises:
            NotFound: there is no such host.
        """
        if not host_ids:
            return SharedHosts((), _NO_HOST)
        asked = {"from_": window.start.isoformat(), "to": window.end.isoformat()}
        found = [
            self._fairness.host(host_id, by="service", basis=None, **asked, max_points=10)
            for host_id in host_ids[:MOST_HOSTS]
        ]
        shared = [host for host in found if len(host.tenants) >= MIN_TENANTS]
        if not shared:
            return SharedHosts((), _ALONE)
        lines = [line for host in shared for line in _lines(host, service_id)]
        lines.sort(key=lambda line: -(line.pages.value or 0.0))
        return SharedHosts(tuple(lines[:MOST_LINES]), None if lines else _NOBODY)


def _lines(host: HostFairness, service_id: str | None) -> list[TakenMemory]:
    tenants = {tenant.id: tenant for tenant in host.tenants}
    return [
        _line(host, push, tenants[push.victim], tenants[push.taker])
        for push in host.pushes
        if push.taker is not None and push.taker != push.victim and service_id in (None, push.victim, push.taker)
    ]


def _line(host: HostFairness, push: Push, victim: TenantShare, taker: TenantShare) -> TakenMemory:
    victim_over, taker_over = _over(host, victim), _over(host, taker)
    around = push.pages.interval
    bounds = "" if around is None else f" ({around.lo:,.0f} to {around.hi:,.0f})"
    return TakenMemory(
        host_id=host.host_id,
        host=host.host,
        victim_id=victim.id,
        victim=victim.name,
        taker_id=taker.id,
        taker=taker.name,
        pages=push.pages,
        sureness=push.sureness,
        victim_over_bytes=victim_over,
        taker_over_bytes=taker_over,
        sentence=(
            f"{taker.name} took fast memory of {victim.name} on {host.host}: {push.pages.value or 0.0:,.0f} pages"
            f"{bounds} were demoted, {_HOW[push.sureness]}. {taker.name} holds {_words(taker_over)},"
            f" {victim.name} {_words(victim_over)}."
        ),
    )


def _over(host: HostFairness, tenant: TenantShare) -> Figure:
    return next(share for share in tenant.fair if share.basis == host.basis).over_bytes


def _words(over: Figure) -> str:
    if over.value is None:
        return "a share that is not known"
    side = "more" if over.value >= 0.0 else "less"
    return f"{abs(over.value) / _GIB:,.2f} GiB {side} than its fair share"
