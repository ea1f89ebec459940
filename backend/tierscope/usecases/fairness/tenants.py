"""The tenants of a host as the store knows them: where their memory lies over time, and what was moved of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.figures import Window
from tierscope.domain.counters.monotonic import nominal_step, parse_key
from tierscope.domain.heat.classes import USUAL_RULE
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.heat.summary import class_series
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.machine import Machine
from tierscope.storage.base.subjects import SubjectHost, services_of_host
from tierscope.usecases.counters.sources import read_samples
from tierscope.usecases.fairness.answers import TenantKind
from tierscope.usecases.heat.columns import read_host_heat
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.ledger.sources import KnownHost, compute_ledgers, ledgers_of, read_known
from tierscope.usecases.sensitivity.kind_residency import read_residency

Floats = npt.NDArray[np.float64]
MAX_TENANTS = 32
SETTINGS = ("min", "low", "high", "max")


@dataclass(frozen=True, slots=True)
class TenantHeat:
    """Heat of a service on this host, by the method that tells most; `hot` [b] bytes over the grid."""

    method: Method
    series: HeatSeries
    hot: Floats


@dataclass(frozen=True, slots=True)
class Setting:
    """A memory setting of a cgroup in bytes: None means `max`."""

    bytes: float | None


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant over the t intervals of the host: bytes [t] and pages [t], NaN where not known.

    `settings`: of memory.min, .low, .high and .max those that the host sent.
    """

    id: str
    name: str
    source: str
    top: Floats
    slow: Floats
    demoted: Floats
    promoted: Floats
    heat: TenantHeat | None
    settings: dict[str, Setting]

    @property
    def resident(self) -> Floats:
        """Bytes in all tiers [t]."""
        return self.top + self.slow


@dataclass(frozen=True, slots=True)
class HostTenants:
    """A host with its tenants; of the whole host bytes of the top tier [t] and demoted pages [t]."""

    host: SubjectHost
    machine: Machine
    grid: Grid
    times_s: Floats
    dt_s: Floats
    host_top: Floats
    host_demoted: Floats
    tenants: tuple[Tenant, ...]
    unplaced: tuple[str, ...]
    n_dropped: int


def read_tenants(
    session: ReadSession, host: SubjectHost, by: TenantKind, window: Window, *, now: datetime, max_points: int
) -> HostTenants:
    """The tenants of a host; `unplaced` names those of which nothing tells where their memory lies."""
    (known,) = read_known(session, [host], window)
    (whole,) = ledgers_of(session, [known], window)
    times_s = whole.ledger.times_s
    grid = make_grid(window, interval_s=nominal_step(times_s) if len(times_s) else 60.0, max_points=max_points)
    found, unplaced = (
        _services(session, known, times_s, grid, window, now=now)
        if by == "service"
        else (_cgroups(session, known, times_s, window), [])
    )
    found.sort(key=lambda tenant: -float(np.nansum(tenant.resident)))
    return HostTenants(
        host=host,
        machine=known.machine,
        grid=grid,
        times_s=times_s,
        dt_s=whole.ledger.dt_seconds,
        host_top=whole.ledger.column("top_resident_bytes"),
        host_demoted=whole.ledger.column("demoted_pages"),
        tenants=tuple(found[:MAX_TENANTS]),
        unplaced=tuple(unplaced),
        n_dropped=max(len(found) - MAX_TENANTS, 0),
    )


def _services(
    session: ReadSession, known: KnownHost, times_s: Floats, grid: Grid, window: Window, *, now: datetime
) -> tuple[list[Tenant], list[str]]:
    found, unplaced = [], []
    services = services_of_host(session, known.host.id)
    scopes = [f"service:{service.namespace}/{service.name}" for service in services]
    settings = _settings(session, known, scopes, window)
    for service, scope in zip(services, scopes, strict=True):
        (part,) = ledgers_of(session, [known], window, service)
        heat = _heat(session, service.id, known.host, grid, window, now=now)
        name = scope.removeprefix("service:")
        tenant = _tenant(service.public_id, name, part.ledger, times_s, heat, settings.get(scope, {}))
        if not np.isfinite(tenant.top).any() and heat is not None and len(times_s):
            tenant = _placed_by_heat(session, service.id, known.host, tenant, times_s, grid, window, now=now)
        if np.isfinite(tenant.resident).any():
            found.append(tenant)
        elif heat is not None or len(part.ledger):
            unplaced.append(name)
    return found, unplaced


def _cgroups(session: ReadSession, known: KnownHost, times_s: Floats, window: Window) -> list[Tenant]:
    """The innermost cgroups: no page is charged to two of them, and version 2 keeps processes in these alone."""
    paths = {
        key.partition("|")[0] for key in known.keys if key.startswith("cgroup:/") and "|memory.numa_stat|anon[" in key
    }
    scopes = sorted(path for path in paths if not any(other.startswith(f"{path}/") for other in paths))
    span = (window.start, window.end)
    ledgers = compute_ledgers(session, known.host.id, known.machine, span, list(scopes)) if scopes else {}
    settings = _settings(session, known, scopes, window)
    found = []
    for scope in scopes:
        ledger = ledgers.get(scope)
        if ledger is not None:
            path = scope.removeprefix("cgroup:")
            found.append(_tenant(path, path, ledger, times_s, None, settings.get(scope, {})))
    return [tenant for tenant in found if np.nansum(tenant.resident) > 0]


def _tenant(
    key: str, name: str, ledger: Ledger, times_s: Floats, heat: TenantHeat | None, settings: dict[str, Setting]
) -> Tenant:
    def line(column: str) -> Floats:
        return _aligned(ledger, column, times_s)

    return Tenant(
        id=key,
        name=name,
        source="memory.numa_stat",
        top=line("top_resident_bytes"),
        slow=line("slow_resident_bytes"),
        demoted=line("demoted_pages"),
        promoted=line("promoted_pages"),
        heat=heat,
        settings=settings,
    )


def _aligned(ledger: Ledger, column: str, times_s: Floats) -> Floats:
    """A column on the host's intervals, which a service shares as both come from one sample."""
    out = np.full(len(times_s), np.nan)
    if not len(times_s) or not len(ledger):
        return out
    place = np.clip(np.searchsorted(times_s, ledger.times_s - 1e-3), 0, len(times_s) - 1)
    same = np.abs(times_s[place] - ledger.times_s) <= 1e-3  # noqa: PLR2004 - ends are stored in microseconds
    out[place[same]] = ledger.column(column)[same]
    return out


def _heat(
    session: ReadSession, service_id: int, host: SubjectHost, grid: Grid, window: Window, *, now: datetime
) -> TenantHeat | None:
    measured = read_host_heat(session, service_id, [host.id], window, now=now)
    chosen = choose_method(measured, None)
    series = None if chosen is None else measured[chosen].get(host.id)
    if chosen is None or series is None:
        return None
    return TenantHeat(chosen, series, class_series([series], USUAL_RULE, grid)[:, 0])


def _placed_by_heat(
    session: ReadSession,
    service_id: int,
    host: SubjectHost,
    tenant: Tenant,
    times_s: Floats,
    grid: Grid,
    window: Window,
    *,
    now: datetime,
) -> Tenant:
    """A tenant without per-node counts of its cgroup, placed by the tiers of its heat."""
    parts = read_residency(session, service_id, [host], [], grid, window, now=now)
    if not parts:
        return tenant
    place = grid.place(times_s)
    kinds = np.isfinite(parts[0].bytes.resident).any(axis=0)
    top = parts[0].bytes.top[:, kinds].sum(axis=1)[place]
    resident = parts[0].bytes.resident[:, kinds].sum(axis=1)[place]
    return Tenant(
        tenant.id,
        tenant.name,
        "heat",
        top,
        resident - top,
        tenant.demoted,
        tenant.promoted,
        tenant.heat,
        tenant.settings,
    )


def _settings(
    session: ReadSession, known: KnownHost, scopes: Sequence[str], window: Window
) -> dict[str, dict[str, Setting]]:
    """The newest settings of cgroups that were read in the window, by scope and name."""
    wanted = {f"{scope}|memory.{name}|{name}" for scope in scopes for name in SETTINGS} & set(known.keys)
    block = read_samples(session, known.host.id, sorted(wanted), window) if wanted else None
    found: dict[str, dict[str, Setting]] = {}
    if block is None or not len(block):
        return found
    for place, key in enumerate(block.keys):
        parsed = parse_key(key)
        value = float(block.values[-1, place]) if block.present[-1, place] else None
        found.setdefault(parsed.scope, {})[parsed.name] = Setting(value)
    return found
