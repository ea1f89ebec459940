"""The ledger of a service with many hosts over a long window: whole hours that the workers have summed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.buckets import day_of, hour_of
from tierscope.domain.base.figures import Origin, Series, Window, gaps_to_none
from tierscope.domain.base.page_size import bytes_of, sum_known
from tierscope.domain.counters.monotonic import CAUSE_TEXT
from tierscope.domain.ledger import COLUMN_INDEX, COLUMNS, Column, ColumnPlan
from tierscope.domain.ledger.columns import ABSENT, DAMON, MOVED, TRAFFIC, Terms, Trust
from tierscope.domain.ledger.followed import FollowedMoves
from tierscope.domain.ledger.gathered import Gathered, add, nothing, subtract
from tierscope.domain.ledger.plan import NO_DAMON, NO_GAUGE, NO_TRAFFIC
from tierscope.domain.ledger.words import gravest_verdict
from tierscope.storage.fleet.recent import read_recent_rows
from tierscope.storage.ledger.services import MovesHour, read_moves_hours, read_since_midnight, read_trusts
from tierscope.usecases.ledger.answers import (
    WHOLE_HOSTS,
    ColumnSums,
    Ledger,
    LedgerEvidence,
    LedgerReset,
    shared_size,
    view_column,
)
from tierscope.usecases.ledger.ping_pong import FOLLOWED, HostWaits, MoveSums, PingPong, describe_nothing, describe_sums

HOUR = timedelta(hours=1)
MAX_RESETS = 1000
_NEWEST = "that each host has now"
_WHOLE_HOURS = "Summed by whole hours: the window begins at the full hour and ends with the newest hour that is summed."


@dataclass(frozen=True, slots=True)
class GatheredWindow:
    """The hours of a window, what their hosts counted in it, and what is known of the hosts."""

    covered: Window
    hours: tuple[MovesHour, ...]
    totals: Gathered
    trusts: Mapping[int, Mapping[str, Any]]
    own: bool
    top_bytes: float | None
    page_bytes: int | None
    """That of all hosts; None where theirs differ."""
    page_sizes: Mapping[int, int]
    """By host, where known."""
    verdicts: Mapping[str, int]


def read_gathered(session: ReadSession, service_id: int, window: Window) -> GatheredWindow | None:
    """The summed hours of a window, None where there are none."""
    first = hour_of(window.start)
    midnight = day_of(first)
    stored = [hour for hour in read_moves_hours(session, service_id, midnight, window.end) if _ended(hour, window)]
    inside = [hour for hour in stored if hour.start >= first]
    if not inside:
        return None
    own = any(hour.own for hour in inside)
    stored = [hour for hour in stored if hour.own == own]
    totals = _sum_days(session, service_id, stored, first)
    hours = tuple(hour for hour in stored if hour.start >= first)
    trust_ids = sorted({int(trust) for trust in totals.trusts})
    rows = read_recent_rows(session, totals.host_ids.tolist())
    sizes = [row.top_bytes for row in rows.values() if row.top_bytes is not None]
    return GatheredWindow(
        covered=Window(first, hours[-1].start + HOUR),
        hours=hours,
        totals=totals,
        trusts=read_trusts(session, trust_ids),
        own=own,
        top_bytes=sum(sizes) if len(sizes) == len(totals.host_ids) else None,
        page_bytes=shared_size(row.page_bytes for row in rows.values()),
        page_sizes={host_id: row.page_bytes for host_id, row in rows.items() if row.page_bytes is not None},
        verdicts=Counter(row.verdict for row in rows.values()),
    )


def _ended(hour: MovesHour, window: Window) -> bool:
    return hour.start + HOUR <= window.end


def _sum_days(session: ReadSession, service_id: int, stored: Sequence[MovesHour], first: datetime) -> Gathered:
    """From the state at the end of each day, less the one before the window."""
    last_of_day: dict[datetime, datetime] = {}
    before: datetime | None = None
    for hour in stored:
        if hour.start < first:
            before = hour.start
        else:
            last_of_day[day_of(hour.start)] = hour.start
    wanted = [*last_of_day.values(), *([] if before is None else [before])]
    states = read_since_midnight(session, service_id, wanted)
    total = nothing()
    for midnight, last in sorted(last_of_day.items()):
        state = states[last]
        if before is not None and midnight <= before < midnight + timedelta(days=1):
            state = subtract(state, states[before])
        total = add(total, state)
    return total


def view_gathered(subject: str, origin: Origin, found: GatheredWindow, window: Window, max_points: int) -> Ledger:
    """The answer. Figures name the whole hours that they speak of as their window."""
    grid = make_grid(window, interval_s=HOUR.total_seconds(), max_points=max_points)
    warnings = _warnings(found)
    n_hosts = int((found.totals.rows > 0).sum())
    evidence = LedgerEvidence(found.covered, n_hosts, warnings, whole_hosts=not found.own)
    bodies = _bodies(found)
    columns = tuple(
        view_column(column, _plans(column, bodies, own=found.own), _sums(column, found.totals), evidence)
        for column in COLUMNS
    )
    supported = {column.key for column in columns if column.trust not in ABSENT}
    dialects = _dialects(found)
    resets = [
        LedgerReset(reset.at, CAUSE_TEXT.get(reset.cause, "unknown cause"), reset.lost)
        for hour in found.hours
        for reset in hour.resets
    ]
    return Ledger(
        subject=subject,
        origin=origin,
        dialect=", ".join(name for name, _ in dialects.most_common()) or "none",
        window=window,
        axis=grid.axis(),
        columns=columns,
        series=tuple(_series(column, found.hours, grid) for column in COLUMNS if column.key in supported),
        resets=tuple(resets[-MAX_RESETS:]),
        ping_pong=view_ping_pong(found),
        n_hosts=n_hosts,
        page_bytes=found.page_bytes,
    )


def _warnings(found: GatheredWindow) -> tuple[str, ...]:
    return (_WHOLE_HOURS,) if found.own else (WHOLE_HOSTS, _WHOLE_HOURS)


def _bodies(found: GatheredWindow) -> list[Mapping[str, Any]]:
    return [found.trusts.get(int(trust), {}) for trust in found.totals.trusts]


def _dialects(found: GatheredWindow) -> Counter[str]:
    return Counter(str(body.get("dialect", "none")) for body in _bodies(found))


def _plans(column: Column, bodies: Sequence[Mapping[str, Any]], *, own: bool) -> list[ColumnPlan]:
    """How each host makes a column, as was noted when its rows were stored."""
    made: dict[int, ColumnPlan] = {}
    for body in bodies:
        if id(body) in made:
            continue
        terms = column.tpp if body.get("dialect") == "tpp" and column.tpp is not None and not own else column.host
        terms = column.service or terms if own else terms
        entry = body.get("columns", {}).get(column.key)
        if entry is None:
            unsent = body.get("unsent", {}).get(column.key)
            absent = unsent or (terms.note if terms.trust == "not_supported" else _unknown(column, terms))
            trust: Trust = "not_collected" if unsent else "not_supported"
            made[id(body)] = ColumnPlan(column, (), (), terms.names, trust, absent)
        else:
            made[id(body)] = ColumnPlan(column, (0,), (), tuple(entry["c"]), entry["t"], terms.note)
    return [made[id(body)] for body in bodies]


def _unknown(column: Column, terms: Terms) -> str:
    if column.gauge:
        return NO_GAUGE
    if column.key in DAMON:
        return NO_DAMON
    return NO_TRAFFIC if column.key in TRAFFIC else terms.missing


def _sums(column: Column, totals: Gathered) -> ColumnSums | None:
    place = COLUMN_INDEX[column.key]
    having = totals.counts[place] > 0
    if not having.any():
        return None
    sums, seconds = totals.sums[place][having], totals.seconds[place][having]
    return ColumnSums(
        n_hosts=int(having.sum()),
        n_intervals=int(totals.counts[place].sum()),
        seconds=float(seconds.sum()),
        total=float(sums.sum()),
        per_s=float((sums[seconds > 0] / seconds[seconds > 0]).sum()),
        newest=float(totals.newest[place][having].sum()),
    )


def _series(column: Column, hours: Sequence[MovesHour], grid: Grid) -> Series:
    """Rates over all hosts by hour; wider buckets hold the mean of their hours."""
    place = grid.place(np.array([(hour.start + HOUR).timestamp() for hour in hours]))
    rates = np.array([hour.rates[COLUMN_INDEX[column.key]] for hour in hours])
    known = np.isfinite(rates)
    n = np.bincount(place[known], minlength=len(grid))
    sums = np.bincount(place[known], weights=rates[known], minlength=len(grid))
    values = np.divide(sums, n, out=np.full(len(grid), np.nan), where=n > 0)
    unit = column.unit if column.gauge else f"{column.unit}_per_s"
    return Series(column.key, column.label, unit, gaps_to_none(values))


def _moved_bytes(found: GatheredWindow, counting: npt.NDArray[np.bool_]) -> float | None:
    totals = found.totals
    pages = totals.sums[COLUMN_INDEX["promoted_pages"]] + totals.sums[COLUMN_INDEX["demoted_pages"]]
    hosts = zip(totals.host_ids[counting].tolist(), pages[counting].tolist(), strict=True)
    return sum_known(bytes_of(moved, found.page_sizes.get(host_id)) for host_id, moved in hosts)


def view_waits(found: GatheredWindow) -> HostWaits:
    """Shares of the window's whole hours in which tasks waited for memory, by host."""
    waited = COLUMN_INDEX["psi_some_us"]
    seconds = found.totals.seconds[waited]
    shares = found.totals.sums[waited][seconds > 0] / 1e6 / seconds[seconds > 0]
    return HostWaits(tuple(np.clip(shares, 0.0, 1.0).tolist()), found.covered)


def view_ping_pong(found: GatheredWindow) -> PingPong:
    """Ping-pong over all hosts of the window's whole hours."""
    dialects, warnings = _dialects(found), _warnings(found)
    word = gravest_verdict(found.verdicts)
    explanation = f"{found.verdicts.get(word, 0)} of {len(found.totals.host_ids)} hosts, by the verdict {_NEWEST}."
    totals = found.totals
    promoted, demoted = COLUMN_INDEX["promoted_pages"], COLUMN_INDEX["demoted_pages"]
    counting = (totals.counts[promoted] > 0) & (totals.counts[demoted] > 0)
    if not counting.any():
        unsent = [body["unsent"][key] for body in _bodies(found) for key in MOVED if key in body.get("unsent", {})]
        if unsent:
            return describe_nothing(found.covered, unsent[0], "not_collected", word, explanation)
        reason = (
            "These kernels count neither promotions nor demotions."
            if set(dialects) == {"none"}
            else "Promotions and demotions are not both counted here."
        )
        return describe_nothing(found.covered, reason, "not_supported", word, explanation)

    def each(key: str) -> npt.NDArray[np.int64]:
        counted: npt.NDArray[np.int64] = totals.sums[COLUMN_INDEX[key]][counting]
        return counted

    def total(key: str) -> int:
        return int(each(key).sum())

    churn = np.minimum(each("promoted_pages"), each("demoted_pages"))
    sums = MoveSums(
        promoted=total("promoted_pages"),
        demoted=total("demoted_pages"),
        candidates=total("promotion_candidates_pages"),
        candidates_demoted=total("candidates_demoted"),
        returned=0,  # of a service nothing counts the pages that are allocated on slow memory
        moved_bytes=_moved_bytes(found, counting),
        churn=int(churn.sum()),
        seconds=float(totals.seconds[promoted][counting].max()),
        dram_bytes=found.top_bytes,
        n_hosts=int(counting.sum()),
        n_intervals=int(totals.rows[counting].sum()),
        followed=tuple(
            FollowedMoves(*counts)
            for counts in np.stack(
                [*map(each, FOLLOWED), each("promoted_pages"), np.zeros_like(churn), churn], axis=1
            ).tolist()
        ),
    )
    return describe_sums(sums, found.covered, warnings, (word, explanation), measured=set(dialects) == {"tpp"})
