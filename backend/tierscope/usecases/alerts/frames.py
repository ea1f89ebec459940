"""From stored minutes to frames of subjects: rows of the last days, and packed days where they are asked for."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.alerts.frame import MINUTE_S, Floats, Frame, Ints, Rows, gather, lay_out, minute_of
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.storage.rule_inputs import PackedDay, Unpacker, pair_id, read_inputs, read_packed_days
from tierscope.usecases.alerts.subjects import Subject

ARRIVAL_SECONDS = 120.0
"""A minute is judged so long after its end, with what has arrived; what comes later is never judged live."""
LIVE_KEPT = timedelta(days=4)
"""Rows that are not packed are at most so old."""
_DAY = timedelta(days=1)
_DAY_MINUTES = 1440


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

    `packed` reads packed days too: for long spans, of few hosts at a time.
    """
    names = sorted(set(names))
    minutes = np.arange(span[0], span[1] + 1, dtype=np.int64)
    base_ids, known, live = _base(kind, subjects)
    host_ids = sorted(
        {host for subject in subjects for host in subject.host_ids} | ({0} if kind == "service" else set())
    )
    start = datetime.fromtimestamp((span[0] - 1) * MINUTE_S, UTC)
    end = datetime.fromtimestamp(span[1] * MINUTE_S, UTC)
    services = kind == "service"
    some = host_ids if packed else None
    days = read_packed_days(session, _day_of(start), end, names, services=services, host_ids=host_ids) if packed else []
    parts = read_inputs(session, start, end, names, services=services, host_ids=some)
    in_time = None if late_used else _in_time(live)
    if in_time is not None:
        parts = [part.kept(in_time(part.subjects, part.lags_s)) for part in parts]
    if days:
        parts = [_not_packed(part, days, services=services) for part in parts]
    frame = lay_out(parts, base_ids, minutes, names, known)
    unpacker = Unpacker()
    for day in days:
        _place_day(frame, day, unpacker, in_time, services=services)
    if kind == "host":
        return frame
    return _joined(frame, kind, subjects)


def _base(kind: ScopeKind, subjects: Sequence[Subject]) -> tuple[Ints, Ints, Ints]:
    """Ids of what is stored, from when on each is known, and which of them are live."""
    ids, known, live = [], [], []
    for subject in subjects:
        first = int(subject.known_from_s // MINUTE_S) + 1
        hosts = (0, *subject.host_ids) if kind == "service" else subject.host_ids
        for host in hosts:
            ids.append((subject.id << 32) | host if kind == "service" else host)
            known.append(first)
            live.append(subject.origin == "live")
    base = np.array(ids, np.int64)
    order = np.argsort(base)
    return base[order], np.array(known, np.int64)[order], base[np.array(live, bool)] if ids else base


def _in_time(live: Ints) -> Callable[[Ints, Floats], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Recordings have no arrival of their own: only of live hosts a minute can be late."""

    def judge(subjects: Ints, lags_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray((lags_s <= ARRIVAL_SECONDS) | ~np.isin(subjects, live), np.bool_)

    return judge


def _day_of(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _not_packed(part: Rows, days: Sequence[PackedDay], *, services: bool) -> Rows:
    """Rows whose day is not packed. A day is (midnight, midnight], so that its last minute ends on the next day."""
    packed = {(_subject_of(day, services=services), day.day_s // 86_400) for day in days}
    own_day = np.ceil(np.round(part.ends_s / 86_400, 9)).astype(np.int64) - 1
    keep = [(int(s), int(d)) not in packed for s, d in zip(part.subjects, own_day, strict=True)]
    return part.kept(np.array(keep, bool))


def _subject_of(day: PackedDay, *, services: bool) -> int:
    return int(pair_id(np.int64(day.service_id), np.int64(day.host_id))) if services else day.host_id  # type: ignore[arg-type]


def _place_day(
    frame: Frame,
    day: PackedDay,
    unpacker: Unpacker,
    in_time: Callable[[Ints, Floats], np.ndarray[tuple[int], np.dtype[np.bool_]]] | None,
    *,
    services: bool,
) -> None:
    subject = _subject_of(day, services=services)
    row = int(np.searchsorted(frame.subject_ids, subject))
    if row >= len(frame.subject_ids) or frame.subject_ids[row] != subject:
        return
    ends_s, seconds, lags_s, values = unpacker.unpack(day)
    places = minute_of(ends_s) - frame.minutes[0]
    keep = (places >= 0) & (places < len(frame.minutes))
    if in_time is not None and float(lags_s.max(initial=0.0)) > ARRIVAL_SECONDS:
        keep &= in_time(np.full(len(ends_s), subject), lags_s)
    regular = len(places) > 0 and bool((places[1:] > places[:-1]).all())
    if not regular:
        matrix = np.stack(values, axis=1) if values else np.zeros((len(ends_s), 0))
        part = Rows(np.full(len(ends_s), subject), ends_s, seconds, lags_s, day.names, matrix).kept(keep)
        _merge(
            frame,
            row,
            lay_out([part], frame.subject_ids[row : row + 1], frame.minutes, day.names, frame.known_from[:1]),
        )
        return
    whole = bool(keep.all()) and int(places[-1] - places[0]) + 1 == len(places)
    at = slice(int(places[0]), int(places[-1]) + 1) if whole else places[keep]
    frame.seconds[row, at] = seconds if whole else seconds[keep]
    for name, column in zip(day.names, values, strict=True):
        frame.values[name][row, at] = column if whole else column[keep]


def _merge(frame: Frame, row: int, part: Frame) -> None:
    known = ~np.isnan(part.seconds[0])
    frame.seconds[row, known] = part.seconds[0, known]
    for name, values in part.values.items():
        frame.values[name][row, known] = values[0, known]


def _joined(frame: Frame, kind: ScopeKind, subjects: Sequence[Subject]) -> Frame:
    place = {int(base): at for at, base in enumerate(frame.subject_ids.tolist())}
    members = []
    for subject in subjects:
        keys = [(subject.id << 32) | host for host in (0, *subject.host_ids)] if kind == "service" else subject.host_ids
        members.append(np.array([place[key] for key in keys if key in place], np.int64))
    return gather(frame, members, np.array([subject.id for subject in subjects], np.int64))
