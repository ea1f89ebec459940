"""What other programs recorded or sent of a host tells: which days, and each figure, its bounds, or why there is none.

Nobody but our agent records accessed bits, so that sizes alone bound what is cold: what reclaim can move
(docs/howto/assess.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.core.errors import Unprocessable
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import AbsentStatus, Figure, Interval, Window, absent
from tierscope.domain.counters.monotonic import Cause
from tierscope.domain.counters.senders import SENDERS
from tierscope.domain.counters.unsent import find_lack, why_unsent
from tierscope.domain.ledger import Ledger, Trust
from tierscope.domain.ledger.machine import Machine
from tierscope.storage.base.subjects import SubjectHost
from tierscope.storage.counters.rows import layouts_in, read_keys
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_subject_host
from tierscope.usecases.ledger.reads import LedgerReads
from tierscope.usecases.ledger.sources import ledgers_of, read_known

Floats = npt.NDArray[np.float64]
COLUMNS = (
    "promoted_pages",
    "demoted_pages",
    "hint_faults",
    "reclaimed_true_pages",
    "refault_anon_pages",
    "refault_file_pages",
    "swap_in_pages",
    "swap_out_pages",
    "psi_some_us",
)
"""Columns of the ledger that an assessment rests on."""
_SIZES = ("MemTotal", "MemFree", "Active", "Inactive")
"""The lists of active and inactive pages are what reclaim can move."""
_NO_BITS = (
    "Accessed bits are in no such record: between nothing and all that reclaim can move, when most was in use. "
    "`tierscope assess` on the host bounds it nearer."
)
State = Literal["given", "bounded"] | AbsentStatus


@dataclass(frozen=True, slots=True)
class RecordedDay:
    """A day (UTC) with counters. Pages are null where they did not come."""

    day: date
    observed_seconds: float
    promoted_pages: int | None
    demoted_pages: int | None


@dataclass(frozen=True, slots=True)
class RecordedFigure:
    """A figure; `note`: what is to be known of it, or why there is none and whose doing that is."""

    key: str
    label: str
    state: State
    note: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class RecordedHost:
    """The answer."""

    host_id: str
    name: str
    senders: Annotated[tuple[str, ...], Described("Whose counters these are, with the version where it is known.")]
    window: Window
    days: tuple[RecordedDay, ...]
    verdict: str
    explanation: str
    figures: tuple[RecordedFigure, ...]
    next_step: Annotated[str, Described("What brings what is missing; empty where nothing is.")]


def assess_recorded(context: ReadContext, host_id: str) -> RecordedHost:
    """Assess a host by what others recorded or sent of it in the days that are accepted.

    Raises:
        NotFound: no such host.
        Unprocessable: an agent reports it, or nothing came of it in these days.
    """
    now = context.clock()
    window = Window(now - timedelta(days=context.settings.remote_write.late_days), now)
    with context.database.read() as session:
        host = require_subject_host(session, host_id)
        (known,) = read_known(session, [host], window)
        if not known.machine.senders:
            raise Unprocessable(
                f"{host.name} is reported by an agent, not by other programs",
                next_step="Run `tierscope assess` on the host.",
            )
        (part,) = ledgers_of(session, [known], window)
        if not len(part.ledger):
            raise Unprocessable(f"nothing came of {host.name} since {window.start:%Y-%m-%d}", next_step="Import it.")
        memory = _view_memory(session, host, known.machine, window)
    days = _list_days(part.ledger)
    ledger = LedgerReads(context).host(
        host_id, from_=window.start.isoformat(), to=window.end.isoformat(), max_points=len(days)
    )
    columns = {column.key: column for column in ledger.columns}
    churn = ledger.ping_pong.churn_pages_per_s
    figures = [
        *memory,
        *(
            _view(key, columns[key].label, columns[key].rate, columns[key].trust_note, columns[key].trust)
            for key in COLUMNS
        ),
        _view("to_and_fro", "To and fro", churn, ledger.ping_pong.estimate),
    ]
    lack = find_lack(known.machine.senders, known.keys)
    return RecordedHost(
        host_id=host.public_id,
        name=host.name,
        senders=tuple(f"{SENDERS[one.sender].title} {one.version}".strip() for one in known.machine.senders),
        window=window,
        days=days,
        verdict=ledger.ping_pong.verdict,
        explanation=ledger.ping_pong.explanation,
        figures=tuple(figures),
        next_step="" if lack is None else lack.fix,
    )


def _view(key: str, label: str, figure: Figure, note: str, trust: Trust = "exact") -> RecordedFigure:
    if figure.status != "ok":
        return RecordedFigure(key, label, figure.status, figure.reason or "", figure)
    is_bound = trust in ("bound", "partial") or figure.interval is not None
    return RecordedFigure(key, label, "bounded" if is_bound else "given", note, figure)


def _list_days(ledger: Ledger) -> tuple[RecordedDay, ...]:
    """Intervals belong to the day in which they begin; what passed in gaps is of no day."""
    rows = ledger.rows(ledger.present.any(axis=1) & (ledger.cause != Cause.GAP))
    ordinals = ((rows.times_s - rows.dt_seconds) // 86_400).astype(int)
    found = []
    for ordinal in np.unique(ordinals).tolist():
        day = rows.rows(ordinals == ordinal)
        found.append(
            RecordedDay(
                datetime.fromtimestamp(ordinal * 86_400, UTC).date(),
                float(day.dt_seconds.sum()),
                day.total("promoted_pages"),
                day.total("demoted_pages"),
            )
        )
    return tuple(found)


def _view_memory(session: ReadSession, host: SubjectHost, machine: Machine, window: Window) -> list[RecordedFigure]:
    """Sizes of DRAM where nodes tell which it is, else of all memory."""
    slow = machine.tiers.slow_nodes
    scopes = [f"node:{node}" for node in sorted(machine.tiers.top_nodes - slow)] if slow else ["host"]
    name, whose = ("DRAM", "nodes that are not slow") if slow else ("Memory", "the host")
    sizes = _read_sizes(session, host, scopes, window)
    total, free, active, inactive = sizes.values()
    missing = next((f"{scopes[0]}|meminfo|{size}" for size, column in sizes.items() if column is None), "")
    whole: float | str = f"{scopes[0]}|meminfo|MemTotal" if total is None else float(np.nanmax(total))
    slower = "node:0|meminfo|MemTotal" if machine.has_slow_tier is None else machine.slow_bytes or 0.0
    used: float | str = missing
    cold: tuple[float, float] | str = missing
    saving: tuple[float, float] | str = missing
    if not isinstance(whole, str) and free is not None:
        used = whole - float(np.nanmin(free))
        movable = np.full(len(free), np.nan) if active is None or inactive is None else active + inactive
        if np.isfinite(movable - free).any():
            at = int(np.nanargmin(np.where(np.isfinite(movable), free, np.nan)))
            cold = (0.0, float(movable[at]))
            # DRAM is needed for twice the active memory, or for that and what cannot move; how much of the latter are
            # caches that shrink is not told.
            saving = (max(whole - max(2 * cold[1], whole - float(free[at])), 0.0), whole)

    def view(key: str, label: str, value: float | tuple[float, float] | str, note: str) -> RecordedFigure:
        return _view(key, label, _memory_figure(f"recorded.{key}/1", value, machine, window), note)

    return [
        view("memory_bytes", name, whole, f"Of {whose}."),
        view("slower_bytes", "Slower memory", slower, "Of nodes in lower tiers."),
        view("used_bytes", "In use at most", used, f"Of {whose}: all that is not free, page cache too."),
        view("cold_bytes", "Cold", cold, _NO_BITS),
        view("dram_saving_bytes", "DRAM that could be saved", saving, f"Of {whose}, by these bounds of what is cold."),
    ]


def _read_sizes(
    session: ReadSession, host: SubjectHost, scopes: Sequence[str], window: Window
) -> dict[str, Floats | None]:
    """Each size over time, summed over the scopes; NaN where one did not come, None where it never did."""
    keys = {size: [f"{scope}|meminfo|{size}" for scope in scopes] for size in _SIZES}
    layouts = layouts_in(session, host.id, window.start, window.end)
    wanted = [key for several in keys.values() for key in several]
    block = read_keys(session, host.id, wanted, layouts, window.start, window.end)
    found: dict[str, Floats | None] = {}
    for size, several in keys.items():
        columns = [block.keys.index(key) for key in several if key in block.keys]
        present = block.present[:, columns].all(axis=1) & (len(columns) == len(scopes))
        summed = np.where(present, block.values[:, columns].sum(axis=1).astype(np.float64), np.nan)
        found[size] = summed if present.any() else None
    return found


def _memory_figure(
    definition: str, value: float | tuple[float, float] | str, machine: Machine, window: Window
) -> Figure:
    """A size, its bounds, or of a counter's key why that did not come."""
    if isinstance(value, str):
        unsent = why_unsent(machine.senders, [value])
        if unsent is None:
            name = value.rpartition("|")[2] or "sample with all of the sizes"
            return absent(definition, "bytes", "not_enough_data", f"No {name} came in this time.", window=window)
        return absent(definition, "bytes", "not_collected", unsent.reason, window=window, method="counters")
    bounds = Interval(*value, None, "bounds") if isinstance(value, tuple) else None
    number = value[1] if isinstance(value, tuple) else value
    return Figure(definition, "ok", number, "bytes", method="counters", window=window, interval=bounds, grade="partial")
