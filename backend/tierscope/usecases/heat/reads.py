"""Reads of heat: the classes of a service by scheme, with method, window, coverage, bounds and grade."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tierscope.core.errors import BadRequest
from tierscope.domain.heat import Scheme, make_rule
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, PREFERENCE, HeatSeries, Method
from tierscope.domain.heat.source import HeatSource
from tierscope.storage.base.subjects import SubjectHost
from tierscope.storage.heat.services import Unmeasured, read_unmeasured
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.heat.answers import ServiceHeat, UnmeasuredHost, make_view
from tierscope.usecases.heat.columns import Asked, read_sources
from tierscope.usecases.heat.sampling import read_sampling, view_sampling


class HeatReads:
    """Heat of services."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context

    def service(
        self,
        service_id: str,
        *,
        scheme: Scheme,
        threshold: int | None,
        kind: str | None,
        host: str | None,
        method: str | None,
        from_: str | None,
        to: str | None,
        max_points: int,
        max_hosts: int | None = None,
    ) -> ServiceHeat:
        """Heat of a service by one method; others with data are named, never joined.

        Raises:
            NotFound: no such service, or it never ran on that host.
            BadRequest: the window cannot be read, or the method is unknown.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service, ran_on = require_service_hosts(session, service_id, host)
            hosts = {found.id: found for found in ran_on}
            asked = Asked(window, now, counts=scheme == "frequency", whole=host is None)
            found = read_sources(session, service.id, list(hosts), asked)
            chosen = choose_source(found, method)
            source = None if chosen is None else found[chosen]
            newest_us = {} if source is None else source.newest_us()
            unmeasured = read_unmeasured(session, service.id, list(hosts), limit=max_hosts)
            sampled = read_sampling(session, service.id, chosen, newest_us, window)
        if kind is not None and source is not None:
            source = source.pick(kind=kind)
        rule = make_rule(scheme, threshold)
        others = sorted({_name(other) for other in found if other != chosen})
        view = make_view(
            service,
            hosts,
            source,
            chosen,
            rule,
            window,
            max_points=max_points,
            max_hosts=max_hosts,
            others=tuple(others),
            wanted=method,
        )
        return replace(
            view,
            sampling=view_sampling(sampled, chosen, window, len(newest_us)),
            not_measured=_who_is_not(unmeasured, hosts),
        )


def _who_is_not(found: Sequence[Unmeasured], hosts: Mapping[int, SubjectHost]) -> tuple[UnmeasuredHost, ...]:
    of = [(hosts[one.host_id], one) for one in found]
    return tuple(UnmeasuredHost(host.public_id, host.name, one.heat_measured, one.reason) for host, one in of)


def choose_method(found: Mapping[Method, Mapping[int, HeatSeries]], wanted: str | None) -> Method | None:
    """The method asked for (a family or a backend), else the one with most intervals, the more telling one on a tie.

    Raises:
        BadRequest: nothing has that name.
    """
    weights = {
        method: sum(int(series.n_intervals.sum()) for series in hosts.values()) for method, hosts in found.items()
    }
    return _choose(weights, wanted)


def choose_source(found: Mapping[Method, HeatSource], wanted: str | None) -> Method | None:
    """The same, of sources.

    Raises:
        BadRequest: nothing has that name.
    """
    weights = {method: source.n_intervals for method, source in found.items()}
    return _choose(weights, wanted)


def choose_weighed(weights: Mapping[Method, int]) -> Method | None:
    """The same, by the weight of each."""
    return _choose(weights, None)


def _choose(weights: Mapping[Method, int], wanted: str | None) -> Method | None:
    known = {method.family for method in map(_numbered, range(len(BACKENDS)))} | set(BACKENDS)
    if wanted is not None and wanted not in known - {""}:
        raise BadRequest(f"there is no method {wanted!r}", next_step=f"Use one of {', '.join(sorted(known - {''}))}.")
    some = [method for method in weights if wanted is None or wanted in (method.family, BACKENDS[method.backend])]

    def weight(method: Method) -> tuple[int, int, int]:
        place = PREFERENCE.index(method.backend) if method.backend in PREFERENCE else len(PREFERENCE)
        return weights[method], -place, -method.granularity

    return max(some, key=weight, default=None)


def _numbered(backend: int) -> Method:
    return Method(backend, 0, 0)


def _name(method: Method) -> str:
    granularity = GRANULARITIES[method.granularity] if method.granularity < len(GRANULARITIES) else "unknown"
    return (
        f"{method.family} ({BACKENDS[method.backend]}, {granularity})" if method.backend < len(BACKENDS) else "unknown"
    )
