"""Data quality: what should have arrived, what did, and why the rest did not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from tierscope.core.errors import BadRequest
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import NAMES
from tierscope.domain.base.figures import Figure, Origin, Window, absent
from tierscope.domain.base.pages import Page
from tierscope.domain.operate.data_quality import (
    SETTLING_SECONDS,
    ExplainedGap,
    GapKind,
    HostFacts,
    explain,
    find_gaps,
    increases,
)
from tierscope.storage.operate import data_quality as stored
from tierscope.storage.operate.data_quality import FleetSums, HourRow, QualityRow, QualityWindow, Reasons
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.fleet.agent_plans import INTERVAL_SECONDS

DEFAULT_WINDOW = timedelta(hours=24)
MAX_WINDOW = timedelta(days=8)
MAX_GAPS = 20
_NO_REPORT = "No agent has reported on itself in this window."


@dataclass(frozen=True, slots=True)
class ReachedCap:
    """A limit that was reached in the window, and what it left out."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class DataGap:
    """A stretch of minutes without an interval, half-open. `kind` is the reason as a word, `why` in a sentence."""

    __pydantic_config__: ClassVar = NAMES

    from_: datetime
    to: datetime
    kind: GapKind
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrivals:
    """What should have arrived in a window, what did, and what became of the rest."""

    expected_intervals: Figure
    received: Figure
    missing: Figure
    late: Figure
    corrected: Figure
    too_late: Figure
    set_aside: Figure
    duplicates: Figure
    dropped: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class HostQuality(_Arrivals):
    """A host in its window: the part of the one asked for in which it was enrolled and not retired.

    Intervals end once a minute unless the host says otherwise. `late` ones arrived more than ten minutes after their
    end, and what the host holds back by its plan; `corrected` ones have a time that was rebuilt; both are stored.
    `too_late` and `set_aside` are not. `duplicates`: batches that came again and were stored once. `dropped`: batches
    that the agent gave up, its spool full. `gaps`: the newest; `more_gaps` older ones are not listed.
    """

    host_id: str
    name: str
    origin: Origin
    window: Window
    clock_skew_seconds: Figure
    caps: tuple[ReachedCap, ...]
    gaps: tuple[DataGap, ...]
    more_gaps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetQuality(_Arrivals):
    """Sums over all hosts but those of recordings, of which nothing is expected."""

    hosts: Figure
    gapless_hosts: Figure
    skewed_hosts: Figure


@dataclass(frozen=True, slots=True)
class DataQuality:
    """Fleet and hosts, those that miss most first. What arrived before `counted_since` was not counted."""

    window: Window
    counted_since: datetime
    fleet: FleetQuality
    hosts: Page[HostQuality]


class DataQualityReads:
    """Reads of data quality."""

    def __init__(self, context: ReadContext) -> None:
        self._database = context.database
        self._clock = context.clock
        self._skew_limit = float(context.settings.limits.clock_skew_seconds)

    def read(self, *, from_: str | None, to: str | None, limit: int, cursor: str | None) -> DataQuality:
        """The fleet's sums, and a page of hosts.

        Raises:
            BadRequest: the window or the cursor is not acceptable.
        """
        now = self._clock()
        window = _whole_minutes(parse_window(from_, to, now=now, default=DEFAULT_WINDOW), now)
        after = None
        if cursor is not None:
            missing, number = decode_cursor(cursor, (int, int))
            after = (int(missing), int(number))
        with self._database.read() as session:
            since = stored.counted_since(session)
            settled = now - timedelta(seconds=SETTLING_SECONDS)
            asked = QualityWindow(window.start, window.end, settled, since, INTERVAL_SECONDS)
            fleet, rows = stored.read_quality(
                session, asked, skew_limit_seconds=self._skew_limit, after=after, limit=limit + 1
            )
            more = encode_cursor(rows[limit - 1].missing, rows[limit - 1].number) if len(rows) > limit else None
            numbers = [row.number for row in rows[:limit]]
            hours = stored.read_hours(session, numbers, asked)
            reasons = stored.read_reasons(session, numbers, asked)
        items = tuple(_view_host(row, hours.get(row.number, []), reasons[row.number], now=now) for row in rows[:limit])
        return DataQuality(window, since, _view_fleet(fleet, window), Page(items, more))


def _whole_minutes(window: Window, now: datetime) -> Window:
    """The window without the seconds at its ends, and without the newest minutes: those are still on their way."""
    if window.seconds > MAX_WINDOW.total_seconds():
        raise BadRequest(
            f"the window is longer than {MAX_WINDOW.days} days", next_step="Ask for a shorter one, such as from=-24h."
        )
    settled = now - timedelta(seconds=SETTLING_SECONDS)
    start = window.start.replace(second=0, microsecond=0)
    end = min(window.end, settled).replace(second=0, microsecond=0)
    if end <= start:
        raise BadRequest(
            "the window ends before anything can have arrived", next_step="Ask for a window of some minutes, or older."
        )
    return Window(start, end)


def _view_fleet(sums: FleetSums, window: Window) -> FleetQuality:
    def count(name: str, value: int, unit: str = "intervals") -> Figure:
        return _count(f"data_quality.fleet_{name}/1", unit, value, window, n_hosts=sums.hosts, expected=sums.expected)

    return FleetQuality(
        hosts=count("hosts", sums.hosts, "hosts"),
        gapless_hosts=count("gapless_hosts", sums.gapless, "hosts"),
        skewed_hosts=count("skewed_hosts", sums.skewed, "hosts"),
        expected_intervals=count("expected_intervals", sums.expected),
        received=count("received", sums.received),
        missing=count("missing", sums.missing),
        late=count("late", sums.late),
        corrected=count("corrected", sums.corrected),
        too_late=count("too_late", sums.too_late, "points"),
        set_aside=count("set_aside", sums.set_aside, "points"),
        duplicates=count("duplicates", sums.duplicates, "batches"),
        dropped=_dropped("data_quality.fleet_dropped/1", sums.dropped, window, sums.hosts),
    )


def _view_host(row: QualityRow, hours: Sequence[HourRow], reasons: Reasons, *, now: datetime) -> HostQuality:
    window = Window(row.start, row.end)

    def count(name: str, value: int, unit: str = "intervals") -> Figure:
        return _count(f"data_quality.{name}/1", unit, value, window, n_hosts=1, expected=row.expected)

    gaps = _gaps(row, hours, reasons, now)
    return copied(
        HostQuality,
        row,
        window=window,
        expected_intervals=count("expected_intervals", row.expected),
        received=count("received", row.received),
        missing=count("missing", row.missing),
        late=count("late", row.late),
        corrected=count("corrected", row.corrected),
        too_late=count("too_late", row.too_late, "points"),
        set_aside=count("set_aside", row.set_aside, "points"),
        duplicates=count("duplicates", row.duplicates, "batches"),
        dropped=_dropped("data_quality.dropped/1", row.dropped, window, 1),
        clock_skew_seconds=_skew(row, window),
        caps=_caps(row, reasons),
        gaps=tuple(DataGap(gap.gap.start, gap.gap.end, gap.kind, gap.why) for gap in gaps[-MAX_GAPS:]),
        more_gaps=max(0, len(gaps) - MAX_GAPS),
    )


def _gaps(row: QualityRow, hours: Sequence[HourRow], reasons: Reasons, now: datetime) -> list[ExplainedGap]:
    facts = copied(HostFacts, reasons, drops=increases([(hour.ts, hour.dropped_batches) for hour in hours]))
    minutes = {hour.ts: hour.minutes for hour in hours}
    found = find_gaps(minutes, row.start, row.end, step_seconds=row.step_seconds)
    due = now - timedelta(seconds=row.held_seconds)
    return [explain(gap, facts, now=due) for gap in found]


def _caps(row: QualityRow, reasons: Reasons) -> tuple[ReachedCap, ...]:
    caps = [ReachedCap(name, cause) for name, cause in reasons.findings]
    if row.counters_dropped:
        text = f"the agent left out {row.counters_dropped} counter names beyond its limit"
        caps.append(ReachedCap("agent-counters", text))
    if row.services_dropped:
        text = f"the agent counted {row.services_dropped} services beyond its limit under `other`"
        caps.append(ReachedCap("agent-services", text))
    return tuple(caps)


def _count(definition: str, unit: str, value: int, window: Window, *, n_hosts: int, expected: int) -> Figure:
    share = None
    if definition.endswith("received/1") and expected:
        share = min(1.0, value / expected)
    return Figure(
        definition,
        "ok",
        float(value),
        unit,
        method="counters",
        window=window,
        n_hosts=n_hosts,
        n_intervals=expected,
        coverage=share,
        grade="good",
        grounding="L",
    )


def _dropped(definition: str, value: int | None, window: Window, n_hosts: int) -> Figure:
    if value is None:
        return absent(definition, "batches", "not_collected", _NO_REPORT, window=window)
    return _count(definition, "batches", value, window, n_hosts=n_hosts, expected=0)


def _skew(row: QualityRow, window: Window) -> Figure:
    definition = "data_quality.clock_skew_seconds/1"
    if row.clock_skew_seconds is None:
        return absent(definition, "s", "not_collected", "The host has not said what its clock shows.", window=window)
    warnings: tuple[str, ...] = ()
    if row.skew_seconds is not None and row.skew_seconds > abs(row.clock_skew_seconds) + 1:
        warnings = (f"It was up to {row.skew_seconds:.0f} s in this window.",)
    return Figure(
        definition,
        "ok",
        row.clock_skew_seconds,
        "s",
        method="counters",
        window=window,
        n_hosts=1,
        grade="good",
        grounding="L",
        warnings=warnings,
    )
