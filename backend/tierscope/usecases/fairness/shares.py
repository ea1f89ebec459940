"""Shares of tenants of a host against fair shares: figures over the window, and lines over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.figures import Figure, Interval, Series, Window, absent, gaps_to_none
from tierscope.domain.counters.unsent import why_unsent
from tierscope.domain.fairness.shares import Bounded, fair_bounds, fair_of_seen, scaled
from tierscope.domain.fairness.vocabulary import BASES, MEANINGS, Basis
from tierscope.domain.heat.classes import CLASSES, USUAL_RULE
from tierscope.domain.heat.summary import mean_classes
from tierscope.usecases.fairness.answers import FairShare, TenantShare
from tierscope.usecases.fairness.tenants import HostTenants, Setting, Tenant

Floats = npt.NDArray[np.float64]
GROUNDING = "L kernel text of memory.numa_stat; A what is fair"
ENOUGH = 0.9
"""Coverage from which a figure is good."""
_HOT = CLASSES.index("hot")
_RANGE = (5, 95)
_NAMED: Mapping[Basis, tuple[str, ...]] = {"protection": ("min", "low"), "limit": ("high", "max")}
_NO_SETTINGS = "memory.{} of this cgroup is not collected."


@dataclass(frozen=True, slots=True)
class Claims:
    """What one definition of fair rests on: bytes of each tenant [n] with bounds, NaN where it has none.

    `missing`: why it does not hold for all tenants together, None where it does. `own` says it for single tenants.
    """

    basis: Basis
    amounts: Bounded
    missing: str | None
    own: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Means:
    """Means over the window [n] of the tenants while they were seen; `seen` [n] is the share of intervals."""

    top: Floats
    resident: Floats
    seen: Floats

    @property
    def pot(self) -> float:
        """What the tenants hold of the top tier together."""
        return float(self.top.sum())


def mean_over(tenants: Sequence[Tenant]) -> Means:
    """Means of tenants, each of which was seen at least once."""
    resident = np.stack([tenant.resident for tenant in tenants])
    known = np.isfinite(resident)
    top = np.stack([np.where(np.isfinite(tenant.resident), tenant.top, np.nan) for tenant in tenants])
    return Means(np.nanmean(top, axis=1), np.nanmean(resident, axis=1), known.mean(axis=1))


def find_claims(host: HostTenants, basis: Basis) -> Claims:
    """What a definition rests on at this host."""
    n = len(host.tenants)
    if basis == "resident":
        nothing = np.zeros(n)
        return Claims(basis, Bounded(nothing, nothing, nothing), None, (None,) * n)
    if basis == "hot":
        return _hot_claims(host)
    return _setting_claims(host, basis)


def _hot_claims(host: HostTenants) -> Claims:
    rows = np.full((3, len(host.tenants)), np.nan)
    own: list[str | None] = []
    for place, tenant in enumerate(host.tenants):
        if tenant.heat is None:
            own.append("No heat of it was measured in this window.")
            continue
        found = mean_classes([tenant.heat.series], USUAL_RULE)
        rows[:, place] = found.value[_HOT], found.lo[_HOT], found.hi[_HOT]
        own.append(None)
    lacking = [tenant.name for tenant in host.tenants if tenant.heat is None]
    missing = f"Heat is not measured of {_listed(lacking)}: start a heat method there." if lacking else None
    return Claims("hot", Bounded(*rows), missing, tuple(own))


def _setting_claims(host: HostTenants, basis: Basis) -> Claims:
    amounts = np.full(len(host.tenants), np.nan)
    own: list[str | None] = []
    names = _NAMED[basis]
    top_bytes = host.machine.top_bytes
    for place, tenant in enumerate(host.tenants):
        settings = [tenant.settings[name] for name in names if name in tenant.settings]
        if top_bytes is None or not settings:
            own.append(_NO_SETTINGS.format(names[-1]))
            continue
        amount = _strictest(settings) if basis == "limit" else _strongest(settings)
        if amount is None and basis == "limit":
            own.append("It has no limit.")
            continue
        amounts[place] = np.inf if amount is None else scaled(amount, top_bytes, host.machine.slow_bytes)
        own.append(None)
    if basis == "limit":
        return Claims(basis, Bounded(amounts, amounts, amounts), None, tuple(own))
    lacking = [tenant.name for tenant, reason in zip(host.tenants, own, strict=True) if reason is not None]
    missing = f"memory.low is not collected of {_listed(lacking)}." if lacking else None
    if missing is None and not np.any(amounts > 0):
        missing = "No tenant of this host has memory.min or memory.low."
    return Claims(basis, Bounded(amounts, amounts, amounts), missing, tuple(own))


def _strongest(settings: Sequence[Setting]) -> float | None:
    """The larger of protections; None where one protects all."""
    known = [setting.bytes for setting in settings if setting.bytes is not None]
    return None if len(known) < len(settings) else max(known)


def _strictest(settings: Sequence[Setting]) -> float | None:
    """The smaller of limits; None where none limits."""
    return min((setting.bytes for setting in settings if setting.bytes is not None), default=None)


def _listed(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def choose_basis(host: HostTenants, claims: Mapping[Basis, Claims], wanted: Basis | None) -> tuple[Basis, str]:
    """The definition asked for, else hot memory where it is known of all tenants, else resident memory; and why."""
    if wanted is not None:
        return wanted, claims[wanted].missing or "Asked for."
    if claims["hot"].missing is None and host.tenants:
        return "hot", "Hot memory is measured of all tenants."
    return "resident", claims["hot"].missing or "There are no tenants."


def view_tenants(host: HostTenants, window: Window, claims: Mapping[Basis, Claims]) -> tuple[TenantShare, ...]:
    """The tenants with their figures."""
    if not host.tenants:
        return ()
    means = mean_over(host.tenants)
    over = {basis: _view_basis(host, means, claims[basis], window) for basis in BASES}
    return tuple(
        TenantShare(
            id=tenant.id,
            name=tenant.name,
            source=tenant.source,
            top_bytes=_held(host, means, place, window, means.top[place], tenant.top, "top_bytes", "bytes"),
            resident_bytes=_held(
                host, means, place, window, means.resident[place], tenant.resident, "resident_bytes", "bytes"
            ),
            top_share=_share(host, means, place, window),
            demoted_pages=_demoted(host, tenant, window),
            fair=tuple(over[basis][place] for basis in BASES),
        )
        for place, tenant in enumerate(host.tenants)
    )


def _share(host: HostTenants, means: Means, place: int, window: Window) -> Figure:
    size = host.machine.top_bytes
    if size is None:
        reason = "The host did not say how large its top tier is."
        return absent("fairness.top_share/1", "ratio", "not_supported", reason, window=window)
    line = host.tenants[place].top / size
    return _held(host, means, place, window, means.top[place] / size, line, "top_share", "ratio")


def _held(
    host: HostTenants, means: Means, place: int, window: Window, value: float, line: Floats, name: str, unit: str
) -> Figure:
    return _figure(host, means, place, window, float(value), _range(line), f"fairness.{name}/1", unit)


def _demoted(host: HostTenants, tenant: Tenant, window: Window) -> Figure:
    name, known = "fairness.demoted_pages/1", np.isfinite(tenant.demoted)
    if not known.any():
        unsent = why_unsent(host.machine.senders, ["service|memory.stat|pgdemote_kswapd"])
        if unsent is not None:
            return absent(name, "pages", "not_collected", unsent.reason, window=window, method="counters")
        reason = "This kernel does not count demotions by cgroup."
        return absent(name, "pages", "not_supported", reason, window=window, method="counters")
    return Figure(
        name,
        "ok",
        float(tenant.demoted[known].sum()),
        "pages",
        method="counters",
        window=window,
        n_hosts=1,
        n_intervals=int(known.sum()),
        coverage=float(known.mean()),
        grade="good" if known.mean() >= ENOUGH else "partial",
        grounding="L kernel text of memory.stat",
    )


def _view_basis(host: HostTenants, means: Means, claims: Claims, window: Window) -> list[FairShare]:
    capped = claims.basis == "limit"
    fair = claims.amounts if capped else fair_bounds(claims.amounts, means.resident, means.pot)
    lines = fair_lines(host, claims)
    return [_view_fair(host, means, claims, place, fair, lines[:, place], window) for place in range(len(host.tenants))]


def fair_lines(host: HostTenants, claims: Claims) -> Floats:
    """Fair shares over the host's intervals [t, n]; a tenant that is not seen holds and claims nothing then."""
    top = np.stack([tenant.top for tenant in host.tenants], axis=1)
    resident = np.stack([tenant.resident for tenant in host.tenants], axis=1)
    amounts = _claim_lines(host, claims)
    if claims.basis == "limit":
        return np.where(np.isfinite(resident), amounts, np.nan)
    return fair_of_seen(amounts, top, resident)


def _claim_lines(host: HostTenants, claims: Claims) -> Floats:
    """Claims over the host's intervals [t, n]: settings stand still, heat has its own buckets."""
    if claims.basis != "hot" or claims.missing is not None:
        return np.broadcast_to(claims.amounts.value, (len(host.times_s), len(host.tenants)))
    place = host.grid.place(host.times_s)
    return np.stack([tenant.heat.hot[place] for tenant in host.tenants if tenant.heat is not None], axis=1)


def _view_fair(
    host: HostTenants, means: Means, claims: Claims, place: int, fair: Bounded, line: Floats, window: Window
) -> FairShare:
    basis, reason = claims.basis, claims.missing or claims.own[place]
    claim = _claim(host, means, claims, place, window)
    meaning = MEANINGS[basis]
    if reason is not None:
        nothing = [
            absent(f"fairness.{what}/1", "bytes", "not_collected", reason, window=window)
            for what in ("fair_bytes", "over_bytes")
        ]
        return FairShare(basis, meaning, claim, *nothing)
    top = float(means.top[place])
    value, lo, hi = (float(part[place]) for part in (fair.value, fair.lo, fair.hi))
    if basis == "hot":
        around: Interval | None = Interval(lo, hi, None, "bounds")
        around_over: Interval | None = Interval(top - hi, top - lo, None, "bounds")
    else:
        around, around_over = _range(line), _range(host.tenants[place].top - line)

    def figure(what: str, number: float, interval: Interval | None) -> Figure:
        return _figure(
            host, means, place, window, number, interval, f"fairness.{what}/1", "bytes", hot=claims.basis == "hot"
        )

    return FairShare(
        basis, meaning, claim, figure("fair_bytes", value, around), figure("over_bytes", top - value, around_over)
    )


def _claim(host: HostTenants, means: Means, claims: Claims, place: int, window: Window) -> Figure:
    name, amount = "fairness.claim_bytes/1", float(claims.amounts.value[place])
    if claims.basis == "resident":
        return absent(name, "bytes", "not_supported", "This definition rests on resident memory alone.", window=window)
    if not np.isfinite(amount):
        reason = claims.own[place]
        if reason is None:
            return absent(name, "bytes", "not_supported", "All of it is protected.", window=window)
        return absent(name, "bytes", "not_collected", reason, window=window)
    around = None
    if claims.basis == "hot":
        around = Interval(float(claims.amounts.lo[place]), float(claims.amounts.hi[place]), None, "bounds")
    return _figure(host, means, place, window, amount, around, name, "bytes", hot=claims.basis == "hot")


def _figure(
    host: HostTenants,
    means: Means,
    place: int,
    window: Window,
    value: float,
    interval: Interval | None,
    definition: str,
    unit: str,
    *,
    hot: bool = False,
) -> Figure:
    tenant, seen = host.tenants[place], float(means.seen[place])
    good = seen >= ENOUGH and tenant.source != "heat"
    warnings = () if seen >= ENOUGH else (f"Seen in {seen:.0%} of the host's intervals; the mean is over these.",)
    return Figure(
        definition,
        "ok",
        value,
        unit,
        method=tenant.heat.method.family if hot and tenant.heat is not None else "counters",
        window=window,
        interval=interval,
        n_hosts=1,
        n_intervals=int(np.isfinite(tenant.resident).sum()),
        coverage=seen,
        grade="good" if good else "partial",
        grounding=GROUNDING,
        warnings=warnings,
    )


def _range(line: Floats) -> Interval | None:
    """Where a line was most of the time: from its 5th to its 95th percentile."""
    known = line[np.isfinite(line)]
    if not len(known):
        return None
    lo, hi = np.percentile(known, _RANGE)
    return Interval(float(lo), float(hi), None, "range")


def share_series(host: HostTenants, claims: Claims) -> list[Series]:
    """Held and fair shares of the top tier's size over time, by tenant."""
    size = host.machine.top_bytes
    if size is None or not host.tenants:
        return []
    lines = np.full((len(host.times_s), len(host.tenants)), np.nan)
    if claims.missing is None:
        lines = fair_lines(host, claims)
    found = []
    for place, tenant in enumerate(host.tenants):
        for what, label, line in (("held", "held", tenant.top), ("fair", "fair share", lines[:, place])):
            values = host.grid.means(host.times_s, line / size)
            found.append(Series(f"{what}:{tenant.id}", f"{tenant.name}, {label}", "ratio", gaps_to_none(values)))
    return found
