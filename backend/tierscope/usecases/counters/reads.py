"""Reads of counters: raw kernel values of one host as series, and the names it offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import make_grid
from tierscope.domain.base.copying import copied
from tierscope.domain.base.figures import Origin, TimeAxis, Window, gaps_to_none
from tierscope.domain.counters.monotonic import CounterKind, nominal_step
from tierscope.domain.counters.names import CounterName, KnownCounter, describe_counter, match_counters
from tierscope.domain.counters.series import Lines, binned_lines, raw_lines
from tierscope.domain.counters.unsent import read_senders, why_unsent
from tierscope.storage.base.layouts import host_layout_ids, read_layouts
from tierscope.storage.base.subjects import newest_inventories
from tierscope.storage.fleet.hosts import HostRow
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_host
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.counters.sources import read_rollup_lines, read_samples, samples_fit

MAX_SERIES = 64
_NOMINAL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """One counter of one scope. For a monotonic counter `per_s` holds reset-safe rates; for a gauge it is null."""

    scope: str
    source: str
    name: str
    kind: CounterKind
    unit: str
    values: tuple[float | None, ...]
    per_s: tuple[float | None, ...] | None
    resets: int
    trust: str | None


@dataclass(frozen=True, slots=True)
class CounterAnswer:
    """Series of one name on one time axis."""

    host_id: str
    origin: Origin
    name: str
    window: Window
    axis: TimeAxis
    status: Literal["ok", "not_supported", "not_collected"]
    reason: str | None
    series: tuple[CounterSeries, ...]
    points: int


@dataclass(frozen=True, slots=True)
class CounterNames:
    """All counters of a host at its newest layout."""

    host_id: str
    items: tuple[CounterName, ...]
    truncated: bool


class CounterReads(ContextUseCase):
    """Reads of counters."""

    def series(
        self,
        public_id: str,
        *,
        name: str,
        scope: str | None,
        source: str | None,
        from_: str | None,
        to: str | None,
        max_points: int,
    ) -> CounterAnswer:
        """Series of one counter name over a window.

        Raises:
            NotFound: there is no such host.
            BadRequest: the window is not understood.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            host = require_host(session, public_id)
            layouts = read_layouts(session, host_layout_ids(session, host.id))
            known = sorted({key for keys in layouts.values() for key in keys})
            keys = match_counters(known, name, scope=scope, source=source)[:MAX_SERIES]
            if not keys:
                senders = read_senders(newest_inventories(session, [host.id], now).get(host.id, {}))
                unsent = why_unsent(senders, [f"{scope or 'host'}|{source or 'vmstat'}|{name}"])
                if unsent is not None:
                    return _nothing(host, name, window, "not_collected", unsent.reason)
                return _nothing(host, name, window, "not_supported", _never_sent(name, scope, source, known))
            names = [describe_counter(key) for key in keys]
            axis, lines = _read(session, host, names, window, now=now, max_points=max_points)
        if lines is None:
            seen = "never" if host.last_end_at is None else host.last_end_at.isoformat(timespec="seconds")
            reason = f"No samples in the window. The newest of this host is of {seen}."
            return _nothing(host, name, window, "not_collected", reason)
        return CounterAnswer(
            host_id=host.public_id,
            origin=host.origin,
            name=name,
            window=window,
            axis=axis,
            status="ok",
            reason=None,
            series=tuple(_series(counter, lines) for counter in names if counter.key in lines.keys),
            points=len(axis.times),
        )

    def names(self, public_id: str, *, scope: str | None, contains: str | None, limit: int) -> CounterNames:
        """Counters of the host's newest layout.

        Raises:
            NotFound: there is no such host.
        """
        with self._context.database.read() as session:
            host = require_host(session, public_id)
            layouts = read_layouts(session, [] if host.layout_id is None else [host.layout_id])
        keys = [key for keys in layouts.values() for key in keys]
        needle = (contains or "").lower()
        found = [describe_counter(key) for key in keys if needle in key.lower()]
        found = [counter for counter in found if scope is None or counter.scope == scope]
        return CounterNames(host.public_id, tuple(found[:limit]), truncated=len(found) > limit)


def _read(
    session: ReadSession,
    host: HostRow,
    names: Sequence[KnownCounter],
    window: Window,
    *,
    now: datetime,
    max_points: int,
) -> tuple[TimeAxis, Lines | None]:
    """Lines from the best source: rollups for long or old windows where the counters have them, else samples."""
    if not samples_fit(window, now) and any(counter.rolled_up for counter in names):
        found = read_rollup_lines(session, host.id, names, window, now=now, max_points=max_points)
        if found[1] is not None:
            return found
    block = read_samples(session, host.id, [counter.key for counter in names], window)
    interval_s = nominal_step(block.times_us / 1e6) if len(block) > 1 else _NOMINAL_SECONDS
    grid = make_grid(window, interval_s=interval_s, max_points=max_points)
    if len(block) == 0:
        return grid.axis(), None
    lines = raw_lines(block)
    if len(lines.times_s) <= max_points:
        return TimeAxis(window, "raw", None, tuple(lines.times_s.tolist())), lines
    kinds = {counter.key: counter.kind for counter in names}
    return grid.axis(), binned_lines(block, grid, tuple(kinds[key] for key in block.keys))


def _series(counter: KnownCounter, lines: Lines) -> CounterSeries:
    column = lines.keys.index(counter.key)
    monotonic = counter.kind == "counter"
    return copied(
        CounterSeries,
        counter,
        values=gaps_to_none(lines.values[:, column]),
        per_s=gaps_to_none(lines.per_s[:, column]) if monotonic else None,
        resets=lines.resets[column] if monotonic else 0,
    )


def _nothing(
    host: HostRow, name: str, window: Window, status: Literal["not_supported", "not_collected"], reason: str
) -> CounterAnswer:
    axis = TimeAxis(window, "raw", None, ())
    return CounterAnswer(host.public_id, host.origin, name, window, axis, status, reason, (), 0)


def _never_sent(name: str, scope: str | None, source: str | None, known: Sequence[str]) -> str:
    if not known:
        return "This host has not sent any counters."
    where = "".join(f" of {kind} {value!r}" for kind, value in (("scope", scope), ("source", source)) if value)
    return f"This host never sent a counter {name!r}{where}: its kernel or its agent does not have it."
