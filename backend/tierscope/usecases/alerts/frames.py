"""From stored minutes to frames of subjects: rows of the last days, and packed days where they are asked for."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

import numpy as np

from tierscope.core.clock import utc_now
from tierscope.core.database import ReadSession
from tierscope.domain.alerts.frame import (
    MINUTE_S,
    Bools,
    Floats,
    Frame,
    Ints,
    PairIds,
    Rows,
    gather,
    lay_out,
    minute_of,
)
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.buckets import day_of
from tierscope.storage.alerts.rule_inputs import read_inputs, unpack_day
from tierscope.storage.base.blocks import Block, Days, read_blocks
from tierscope.storage.base.retention import kept
from tierscope.storage.tables.time import rule_days
from tierscope.usecases.alerts.subjects import Subject

ARRIVAL_SECONDS = 120.0
"""A minute is judged so long after its end, with what has arrived; what comes later is never judged live."""
SETTLING_SECONDS = 15.0
"""Rows of the last moment may still be in a transaction that has not ended."""
ROWS_KEPT = kept("rule_inputs")
"""Older minutes are in packed days alone."""
InTime = Callable[[Ints, Floats], Bools]


def read_frame(
    session: ReadSession,
    kind: ScopeKind,
    subjects: Sequence[Subject],
    span: tuple[int, int],
    names: Iterable[str],
    *,
    packed: bool = False,
    late_used: bool = False,
) -> Frame:
    """Minutes [first, last] of these subjects. Late minutes of live hosts are left out unless `late_used`.

    `packed` reads packed days too: for long spans, of few hosts at a time. A span that begins before the rows that
    are kept reads them in any case: what is evaluated after workers were away for days.
    """
    names = sorted(set(names))
    minutes = np.arange(span[0], span[1] + 1, dtype=np.int64)
    services = kind == "service"
    host_ids = sorted({host for subject in subjects for host in subject.host_ids} | ({0} if services else set()))
    pairs = PairIds(host_ids) if services else None
    base_ids, known, live = _base(subjects, pairs)
    start = datetime.fromtimestamp((span[0] - 1) * MINUTE_S, UTC)
    end = datetime.fromtimestamp(span[1] * MINUTE_S, UTC)
    packed = packed or start < utc_now() - ROWS_KEPT
    some = host_ids if packed else None
    asked = Days(day_of(start), end, host_ids, "each" if services else 0)
    days = read_blocks(session, rule_days, asked, names) if packed else []
    parts = read_inputs(session, start, end, names, pairs=pairs, host_ids=some)
    in_time = None if late_used else _in_time(live)
    if in_time is not None:
        parts = [part.kept(in_time(part.subjects, part.lags_s)) for part in parts]
    if days:
        parts = [_not_packed(part, days, pairs) for part in parts]
    frame = lay_out(parts, base_ids, minutes, names, known)
    if days:
        _Placing(frame, in_time, pairs).place(days)
    if kind == "host":
        return frame
    return _joined(frame, subjects, pairs)


def _base(subjects: Sequence[Subject], pairs: PairIds | None) -> tuple[Ints, Ints, Ints]:
    """Ids of what is stored, from when on each is known, and which of them are live."""
    ids, known, live = [], [], []
    for subject in subjects:
        first = int(subject.known_from_s // MINUTE_S) + 1
        for key in _numbers(subject, pairs):
            ids.append(key)
            known.append(first)
            live.append(subject.origin == "live")
    base = np.array(ids, np.int64)
    order = np.argsort(base)
    return base[order], np.array(known, np.int64)[order], base[np.array(live, bool)] if ids else base


def _in_time(live: Ints) -> InTime:
    """Recordings have no arrival of their own: only of live hosts a minute can be late."""

    def judge(subjects: Ints, lags_s: Floats) -> Bools:
        return np.asarray((lags_s <= ARRIVAL_SECONDS) | ~np.isin(subjects, live), np.bool_)

    return judge


def _numbers(subject: Subject, pairs: PairIds | None) -> Sequence[int]:
    """What a subject is made of: hosts, or a service by itself and on each host."""
    if pairs is None:
        return subject.host_ids
    return [pairs.one(subject.id, host) for host in (0, *subject.host_ids)]


def _not_packed(part: Rows, days: Sequence[Block], pairs: PairIds | None) -> Rows:
    """Rows whose day is not packed. A day is (midnight, midnight], so that its last minute ends on the next day."""
    packed = {(_subject_of(day, pairs), day.start_s // 86_400) for day in days}
    own_day = np.ceil(np.round(part.ends_s / 86_400, 9)).astype(np.int64) - 1
    keep = [(int(s), int(d)) not in packed for s, d in zip(part.subjects, own_day, strict=True)]
    return part.kept(np.array(keep, bool))


def _subject_of(day: Block, pairs: PairIds | None) -> int:
    return day.host_id if pairs is None else pairs.one(day.service_id, day.host_id)


class _Placing:
    """Puts packed days into a frame. Where the ends of a day's intervals lie is worked out once for all subjects."""

    def __init__(self, frame: Frame, in_time: InTime | None, pairs: PairIds | None) -> None:
        self._frame = frame
        self._in_time = in_time
        self._pairs = pairs
        self._rows = {int(subject): row for row, subject in enumerate(frame.subject_ids.tolist())}
        self._spans: dict[tuple[bytes, int], slice | None] = {}

    def place(self, days: Sequence[Block]) -> None:
        """Put all days at their places."""
        for day in days:
            row = self._rows.get(_subject_of(day, self._pairs))
            if row is not None:
                self._place(day, row)

    def _place(self, day: Block, row: int) -> None:
        frame = self._frame
        ends_s, seconds, lags_s, *values = unpack_day(day)
        at = self._span_of(day, ends_s)
        subject = int(frame.subject_ids[row])
        if at is None or (self._in_time is not None and float(lags_s.max(initial=0.0)) > ARRIVAL_SECONDS):
            self._place_some(day, row, subject)
            return
        frame.seconds[row, at] = seconds
        for name, column in zip(day.names, values, strict=True):
            frame.values[name][row, at] = column

    def _span_of(self, day: Block, ends_s: Floats) -> slice | None:
        """The minutes of a day without holes that lies wholly in the frame; None for any other.

        Days of most subjects have their ends packed in the same bytes.
        """
        key = day.parts[0], day.n
        if key not in self._spans:
            places = minute_of(ends_s) - self._frame.minutes[0]
            whole = len(places) > 0 and bool((np.diff(places) == 1).all())
            inside = whole and places[0] >= 0 and places[-1] < len(self._frame.minutes)
            self._spans[key] = slice(int(places[0]), int(places[-1]) + 1) if inside else None
        return self._spans[key]

    def _place_some(self, day: Block, row: int, subject: int) -> None:
        """The minutes of a day that has holes, late minutes, or several intervals in a minute."""
        frame = self._frame
        ends_s, seconds, lags_s, *values = unpack_day(day)
        matrix = np.stack(values, axis=1) if values else np.zeros((len(ends_s), 0))
        subjects = np.full(len(ends_s), subject)
        part = Rows(subjects, ends_s, seconds, lags_s, day.names, matrix)
        if self._in_time is not None:
            part = part.kept(self._in_time(subjects, lags_s))
        own = lay_out([part], frame.subject_ids[row : row + 1], frame.minutes, day.names, frame.known_from[:1])
        known = ~np.isnan(own.seconds[0])
        frame.seconds[row, known] = own.seconds[0, known]
        for name, found in own.values.items():
            frame.values[name][row, known] = found[0, known]


def _joined(frame: Frame, subjects: Sequence[Subject], pairs: PairIds | None) -> Frame:
    place = {int(base): at for at, base in enumerate(frame.subject_ids.tolist())}
    members = [
        np.array([place[key] for key in _numbers(subject, pairs) if key in place], np.int64) for subject in subjects
    ]
    return gather(frame, members, np.array([subject.id for subject in subjects], np.int64))
