"""Reads of fairness: one host with all its tenants, or a service against the others on each of its hosts."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest
from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.fairness.vocabulary import BASES, Basis
from tierscope.storage.base.subjects import SubjectHost
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service_hosts, require_subject_host
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.fairness.answers import (
    FairShare,
    HostFairness,
    HostTenant,
    Push,
    ServiceFairness,
    TenantKind,
    TenantShare,
)
from tierscope.usecases.fairness.pushes import find_flows, flow_series, view_pushes
from tierscope.usecases.fairness.shares import (
    ENOUGH,
    GROUNDING,
    Claims,
    choose_basis,
    find_claims,
    mean_over,
    share_series,
    view_tenants,
)
from tierscope.usecases.fairness.tenants import MAX_TENANTS, HostTenants, read_tenants

LONGEST = timedelta(days=8)
"""Intervals of all tenants of a host are read one by one."""
MAX_HOSTS = 24
_ONE_TIER = "This host has one memory tier: its tenants hold all their memory in it."
_NO_TIERS = "The host did not say which memory node is in which tier: update its agent."
_ABSENT = "No memory of a tenant of this host is known by node or tier in this window."


@dataclass(frozen=True, slots=True)
class Shares:
    """Tenants of a host, judged by one definition of fair, which rests on `claims`."""

    found: HostTenants
    basis: Basis
    basis_note: str
    claims: Claims
    tenants: tuple[TenantShare, ...]


class FairnessReads(ContextUseCase):
    """Fair shares of hosts' top tiers, and who pushes whom out."""

    def host(
        self,
        host_id: str,
        *,
        by: TenantKind,
        basis: Basis | None,
        from_: str | None,
        to: str | None,
        max_points: int,
    ) -> HostFairness:
        """Shares, fair shares and pushes of the services, or of the innermost control groups, of one host.

        Raises:
            NotFound: no such host.
            BadRequest: the window cannot be read, or is longer than eight days.
        """
        now = self._context.clock()
        window = fairness_window(from_, to, now)
        with self._context.database.read() as session:
            host = require_subject_host(session, host_id)
            found = read_tenants(session, host, by, window, now=now, max_points=max_points)
        shares = judge(found, window, basis)
        series, notes = share_series(found, shares.claims), _notes(found)
        pushes: tuple[Push, ...] = ()
        if found.tenants:
            flows = find_flows(found)
            pushes, how = view_pushes(found, flows, window)
            series, notes = series + flow_series(found, flows), notes + how
        return HostFairness(
            host_id=host_id,
            host=host.name,
            origin=host.origin,
            window=window,
            axis=found.grid.axis(),
            by=by,
            basis=shares.basis,
            basis_note=shares.basis_note,
            top_bytes=_size(found, window),
            held_bytes=_held(found, window),
            tenants=shares.tenants,
            series=tuple(series),
            pushes=pushes,
            notes=tuple(notes),
        )

    def service(self, service_id: str, *, basis: Basis | None, from_: str | None, to: str | None) -> ServiceFairness:
        """A service against the other services on its hosts; by resident memory where heat is missing anywhere.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read, or is longer than eight days.
        """
        now = self._context.clock()
        window = fairness_window(from_, to, now)
        with self._context.database.read() as session:
            service, hosts = require_service_hosts(session, service_id)
            judged = [(host, _read(session, host, window, now)) for host in hosts[:MAX_HOSTS]]
        having = [(host, found) for host, found in judged if any(one.id == service_id for one in found.tenants)]
        picked = basis or _common_basis([found for _, found in having])
        shown = [_of_host(host, judge(found, window, picked), service_id) for host, found in having]
        shown.sort(key=lambda one: -(_share_of(one.tenant, picked).over_bytes.value or 0.0))
        left_out = len(hosts) - len(hosts[:MAX_HOSTS])
        return ServiceFairness(
            service_id=service_id,
            service=f"{service.namespace}/{service.name}",
            origin=service.origin,
            window=window,
            basis=picked,
            over_bytes=_summed([_share_of(one.tenant, picked).over_bytes for one in shown], window),
            hosts=tuple(shown),
            n_left_out=left_out,
            notes=() if not left_out else (f"{left_out} hosts more run this service: see those one by one.",),
        )


def _read(session: ReadSession, host: SubjectHost, window: Window, now: datetime) -> HostTenants:
    return read_tenants(session, host, "service", window, now=now, max_points=500)


def fairness_window(from_: str | None, to: str | None, now: datetime) -> Window:
    """The window asked for.

    Raises:
        BadRequest: it cannot be read, or is longer than eight days.
    """
    window = parse_window(from_, to, now=now)
    if window.end - window.start > LONGEST:
        raise BadRequest(
            f"fairness is told over {LONGEST.days} days at most", next_step="Choose a shorter window, such as -7d."
        )
    return window


def judge(found: HostTenants, window: Window, wanted: Basis | None) -> Shares:
    """Shares and fair shares by the definition asked for, or the default one."""
    claims = {basis: find_claims(found, basis) for basis in BASES}
    basis, note = choose_basis(found, claims, wanted)
    tenants = view_tenants(found, window, claims)
    return Shares(found, basis, note, claims[basis], tenants)


def _common_basis(hosts: list[HostTenants]) -> Basis:
    """Hot memory where it is known on all hosts: what is summed must mean the same."""
    return "hot" if hosts and all(find_claims(host, "hot").missing is None for host in hosts) else "resident"


def _notes(found: HostTenants) -> list[str]:
    notes = []
    if not found.machine.tiers.known:
        notes.append(_NO_TIERS)
    elif found.machine.slow_bytes is None:
        notes.append(_ONE_TIER)
    if not found.tenants:
        notes.append(_ABSENT)
    if found.unplaced:
        notes.append(f"Not placed by node or tier, and left out: {', '.join(found.unplaced)}.")
    if found.n_dropped:
        notes.append(f"The {MAX_TENANTS} largest tenants are told; {found.n_dropped} more are left out.")
    return notes


def _size(found: HostTenants, window: Window) -> Figure:
    size, name = found.machine.top_bytes, "fairness.top_tier_bytes/1"
    if size is None:
        return absent(name, "bytes", "not_supported", _NO_TIERS, window=window)
    return Figure(name, "ok", size, "bytes", window=window, n_hosts=1, grade="good", grounding="L sizes of nodes")


def _held(found: HostTenants, window: Window) -> Figure:
    name = "fairness.held_bytes/1"
    if not found.tenants:
        return absent(name, "bytes", "not_enough_data", _ABSENT, window=window, method="counters")
    means = mean_over(found.tenants)
    seen = float(np.min(means.seen))
    return Figure(
        name,
        "ok",
        means.pot,
        "bytes",
        method="counters",
        window=window,
        n_hosts=1,
        n_intervals=len(found.times_s),
        coverage=seen,
        grade="good" if seen >= ENOUGH else "partial",
        grounding=GROUNDING,
    )


def _share_of(tenant: TenantShare, basis: Basis) -> FairShare:
    return next(share for share in tenant.fair if share.basis == basis)


def _of_host(host: SubjectHost, shares: Shares, service_id: str) -> HostTenant:
    own = next(tenant for tenant in shares.tenants if tenant.id == service_id)
    below = [
        (over, tenant.name)
        for tenant in shares.tenants
        if tenant.id != service_id
        and (over := _share_of(tenant, shares.basis).over_bytes.value) is not None
        and over < 0
    ]
    return HostTenant(host.public_id, host.name, own, len(shares.tenants), min(below)[1] if below else None)


def _summed(parts: list[Figure], window: Window) -> Figure:
    name = "fairness.over_bytes_of_hosts/1"
    known = [part for part in parts if part.value is not None]
    if not known:
        reason = next((part.reason for part in parts if part.reason), None) or _ABSENT
        return absent(name, "bytes", "not_enough_data", reason, window=window)
    intervals = [part.interval for part in known if part.interval is not None]
    around = None
    if len(intervals) == len(known):
        lo, hi = sum(one.lo for one in intervals), sum(one.hi for one in intervals)
        around = Interval(lo, hi, None, intervals[0].kind)
    return Figure(
        name,
        "ok",
        sum(part.value or 0.0 for part in known),
        "bytes",
        method=known[0].method,
        window=window,
        interval=around,
        n_hosts=len(known),
        n_intervals=sum(part.n_intervals or 0 for part in known),
        coverage=min(part.coverage or 0.0 for part in known) * len(known) / len(parts),
        grade="good" if all(part.grade == "good" for part in known) and len(known) == len(parts) else "partial",
        grounding=GROUNDING,
    )
