"""What conditions are computed on: minutes of stored series for many subjects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.alerts.catalogue import is_flow
from tierscope.domain.alerts.vocabulary import Series, all_series

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Frame:
    """Values [subjects, minutes] by stored name, NaN where absent; `minutes` are ends, in minutes since the epoch.

    `seconds` are the lengths of the intervals that ended in a minute, NaN where none did. `known_from` is the first
    minute from which a subject can be expected to report.
    """

    subject_ids: Ints
    minutes: Ints
    values: Mapping[str, Floats]
    seconds: Floats
    known_from: Ints

    def of(self, subject_ids: Ints) -> "Frame":
        """Some of the subjects, in the order of their ids here."""
        if np.array_equal(subject_ids, self.subject_ids):
            return self
        places = np.searchsorted(self.subject_ids, subject_ids)
        return Frame(
            self.subject_ids[places],
            self.minutes,
            {name: values[places] for name, values in self.values.items()},
            self.seconds[places],
            self.known_from[places],
        )

    def rows(self, first: int, end: int) -> "Frame":
        """Subjects [first, end), without copying."""
        part = slice(first, end)
        values = {name: values[part] for name, values in self.values.items()}
        return Frame(self.subject_ids[part], self.minutes, values, self.seconds[part], self.known_from[part])


@dataclass(frozen=True, slots=True)
class Rows:
    """n stored intervals: subject, end in seconds, length, values [n, names]; NaN where absent.

    `lags_s`: from an interval's end to when it was known.
    """

    subjects: Ints
    ends_s: Floats
    seconds: Floats
    lags_s: Floats
    names: tuple[str, ...]
    values: Floats

    def kept(self, keep: Bools) -> "Rows":
        """Some of the intervals."""
        return Rows(
            self.subjects[keep],
            self.ends_s[keep],
            self.seconds[keep],
            self.lags_s[keep],
            self.names,
            self.values[keep],
        )


class PairIds:
    """One number for each pair of a service and a host.

    A host's number may need more than half of 64 bits, so that its place among the hosts of a frame stands for it.
    """

    def __init__(self, host_ids: Sequence[int]) -> None:
        self._host_ids = np.unique(np.asarray(host_ids, np.int64))
        self._places = {host: place for place, host in enumerate(self._host_ids.tolist())}

    def of(self, service_ids: Ints, host_ids: Ints) -> Ints:
        """The number of each pair [n]; -1 where the host is not one of the frame's."""
        if not self._places:
            return np.full(len(host_ids), -1, np.int64)
        places = np.minimum(np.searchsorted(self._host_ids, host_ids), len(self._places) - 1)
        numbers = service_ids * len(self._places) + places
        return np.where(self._host_ids[places] == host_ids, numbers, -1).astype(np.int64)

    def one(self, service_id: int, host_id: int) -> int:
        """The number of one pair: `of`."""
        place = self._places.get(host_id)
        return -1 if place is None else service_id * len(self._places) + place


def minute_of(ends_s: Floats) -> Ints:
    """The minute in which an interval ends: (start, end], so that one that ends on the full minute is in it."""
    return np.asarray(np.ceil(np.round(ends_s / MINUTE_S, 6)), np.int64)


def stored_series(name: str) -> Series | None:
    """The series of a stored name; None for metrics of the catalogue."""
    return all_series().get(name)


def counts_up(name: str) -> bool:
    """Whether a stored name is a flow: an amount per interval."""
    series = stored_series(name)
    return series.kind == "flow" if series is not None else is_flow(name)


def lay_out(parts: Sequence[Rows], subject_ids: Ints, minutes: Ints, names: Sequence[str], known_from: Ints) -> Frame:
    """Put stored intervals into a frame. Of several in one minute flows add up, and of states the newest counts."""
    shape = (len(subject_ids), len(minutes))
    seconds = np.zeros(shape)
    values = {name: np.full(shape, np.nan) for name in names}
    order = np.argsort(subject_ids, kind="stable")
    for part in parts:
        places = np.searchsorted(subject_ids, part.subjects, sorter=order)
        rows = order[np.minimum(places, len(order) - 1)] if len(order) else places
        columns = minute_of(part.ends_s) - (minutes[0] if len(minutes) else 0)
        ok = (columns >= 0) & (columns < len(minutes))
        if len(order):
            ok &= subject_ids[rows] == part.subjects
        else:
            ok &= False
        rows, columns, lengths = rows[ok], columns[ok], part.seconds[ok]
        flat = rows * len(minutes) + columns
        single = _each_once(flat, seconds.size) and not (seconds.ravel()[flat] > 0).any()
        _add(seconds, flat, lengths, single=single)
        for place, name in enumerate(part.names):
            if name in values:
                _put(values[name], flat, part.values[ok, place], add=counts_up(name) and not single)
    seconds[seconds == 0] = np.nan
    return Frame(subject_ids, minutes, values, seconds, known_from)


def _each_once(flat: Ints, size: int) -> bool:
    taken = np.zeros(size, bool)
    taken[flat] = True
    return int(taken.sum()) == len(flat)


def _add(target: Floats, flat: Ints, amounts: Floats, *, single: bool) -> None:
    if single:
        target.ravel()[flat] = amounts
    else:
        np.add.at(target.ravel(), flat, amounts)


def _put(target: Floats, flat: Ints, found: Floats, *, add: bool) -> None:
    known = np.isfinite(found) | np.isinf(found)
    flat, found = flat[known], found[known]
    line = target.ravel()
    if not add:
        line[flat] = found
        return
    empty = np.isnan(line[flat])
    line[flat[empty]] = 0.0
    np.add.at(line, flat, found)


def gather(frame: Frame, members: Sequence[Ints], subject_ids: Ints) -> Frame:
    """Subjects made of several others, such as a fleet of hosts: `members` are places in `frame`."""
    shape = (len(members), len(frame.minutes))
    with np.errstate(invalid="ignore", divide="ignore"):
        per_minute = MINUTE_S / frame.seconds
    values: dict[str, Floats] = {}
    for name, found in frame.values.items():
        series = stored_series(name)
        over = "sum" if series is None else series.over_hosts
        scaled = found * per_minute if counts_up(name) else found
        joined = np.full(shape, np.nan)
        for place, inside in enumerate(members):
            joined[place] = _over_hosts(scaled[inside], over)
        values[name] = joined
    seconds = np.full(shape, np.nan)
    known_from = np.zeros(len(members), np.int64)
    for place, inside in enumerate(members):
        if len(inside):
            seconds[place, np.isfinite(frame.seconds[inside]).any(axis=0)] = MINUTE_S
            known_from[place] = frame.known_from[inside].min()
    return Frame(subject_ids, frame.minutes, values, seconds, known_from)


def _over_hosts(found: Floats, over: str) -> Floats:
    known = ~np.isnan(found)
    some = known.any(axis=0)
    out = np.full(found.shape[1], np.nan)
    if not some.any():
        return out
    part, ok = found[:, some], known[:, some]
    if over == "max":
        out[some] = np.where(ok, part, -np.inf).max(axis=0)
        return out
    total = np.where(ok, part, 0.0).sum(axis=0)
    out[some] = total if over == "sum" else total / ok.sum(axis=0)
    return out
