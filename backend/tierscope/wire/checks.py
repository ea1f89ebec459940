"""Checks that every part of a batch shares: sizes of columns, ranges, references, text, times."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tierscope.core.errors import Unreadable
from tierscope.domain.base.names import escaped_name
from tierscope.domain.heat.rows import Method
from tierscope.domain.ingest.batch import Int64, ServiceKey

MAX_TEXT_BYTES = 1024
MAX_STRINGS = 65_536
MAX_INT64 = (1 << 63) - 1
# 2000-01-01 to 2200-01-01: outside it a clock is not set, and PostgreSQL's and Python's calendars stay far away.
MIN_WALL_NS = 946_684_800 * 10**9
MAX_WALL_NS = 7_258_118_400 * 10**9
_KINDS = (1, 3)
_BACKENDS = (1, 9)
_GRANULARITIES = (1, 3)


class Strings:
    """The string table of a batch."""

    def __init__(self, strings: Sequence[str]) -> None:
        if len(strings) > MAX_STRINGS:
            raise Unreadable(f"{len(strings)} strings, at most {MAX_STRINGS} are accepted")
        self._strings = tuple(strings)
        if self._strings and self._strings[0] != "":
            raise Unreadable("strings[0] is not empty")
        for text in self._strings:
            check_text(text, "strings")
        self._services: dict[int, ServiceKey] = {}

    def text(self, ref: int, field: str) -> str:
        """Returns the text of a reference; 0 is always the empty text."""
        if ref == 0:
            return ""
        if ref >= len(self._strings):
            raise Unreadable(f"{field} refers to string {ref} of {len(self._strings)}")
        return self._strings[ref]

    def texts(self, refs: Iterable[int], field: str) -> tuple[str, ...]:
        """Returns the texts of a column of references."""
        return tuple(self.text(ref, field) for ref in refs)

    def service(self, ref: int, field: str) -> ServiceKey:
        """Returns the service that a reference names as `<namespace>/<name>`."""
        found = self._services.get(ref)
        if found is None:
            found = self._services[ref] = service_key(self.text(ref, field), field)
        return found

    def services(self, refs: Iterable[int], field: str) -> tuple[ServiceKey, ...]:
        """Returns the services of a column of references."""
        return tuple(self.service(ref, field) for ref in refs)


def service_key(text: str, field: str) -> ServiceKey:
    """Parses `<namespace>/<name>`; the name may contain further slashes. Deceiving characters are escaped."""
    namespace, slash, name = text.partition("/")
    if not slash or not namespace or not name:
        raise Unreadable(f"{field}: {text[:80]!r} is not <namespace>/<name>")
    return plain_service(namespace, name)


def plain_service(namespace: str, name: str) -> ServiceKey:
    """Returns a service under names that can be shown: escaped where they deceive, so that no measurement is lost."""
    return ServiceKey(escaped_name(namespace), escaped_name(name))


def check_text(text: str, field: str, *, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Refuses text that is too long or cannot be stored."""
    if len(text) > max_bytes or len(text.encode()) > max_bytes:
        raise Unreadable(f"{field}: a text of {len(text)} characters, at most {max_bytes} bytes are accepted")
    if "\0" in text:
        raise Unreadable(f"{field}: a text with a zero byte")
    return text


def check_length(actual: int, expected: int, field: str) -> None:
    """Refuses a column that does not fit its block."""
    if actual != expected:
        raise Unreadable(f"{field} has {actual} entries, its block has {expected} rows")


def column(values: Sequence[int], field: str, n: int) -> Int64:
    """Returns a repeated field as int64 (n,). Unsigned values beyond int64 are refused."""
    check_length(len(values), n, field)
    try:
        return np.fromiter(values, dtype=np.int64, count=n)
    except OverflowError as error:
        raise Unreadable(f"{field} has a value beyond 2^63") from error


def bits64(values: Sequence[int], field: str, n: int) -> Int64:
    """Returns a repeated fixed64 as int64 of the same bits (n,)."""
    check_length(len(values), n, field)
    return np.fromiter(values, dtype=np.uint64, count=n).view(np.int64)


def matrix(data: bytes, field: str, n: int, width: int) -> Int64:
    """Views a bytes field as little-endian int64 (n, width)."""
    if len(data) != n * width * 8:
        raise Unreadable(f"{field} has {len(data)} bytes, {n} rows of {width} need {n * width * 8}")
    return np.frombuffer(data, dtype="<i8").reshape(n, width).astype(np.int64, copy=False)


def not_negative(values: Int64, field: str) -> Int64:
    """Refuses amounts below zero."""
    if values.size and int(values.min()) < 0:
        raise Unreadable(f"{field} has a value below zero")
    return values


def in_range(values: Int64, field: str, low: int, high: int) -> Int64:
    """Refuses values outside [low, high]."""
    if values.size and (int(values.min()) < low or int(values.max()) > high):
        raise Unreadable(f"{field} has a value outside {low}..{high}")
    return values


def scalar(value: int, field: str, low: int = 0, high: int = MAX_INT64) -> int:
    """Refuses a number outside [low, high]."""
    if not low <= value <= high:
        raise Unreadable(f"{field} is {value}, accepted is {low}..{high}")
    return value


def real(value: float, field: str, low: float, high: float) -> float:
    """Refuses a number that is not finite or lies outside [low, high]."""
    if not math.isfinite(value) or not low <= value <= high:
        raise Unreadable(f"{field} is {value}, accepted is {low}..{high}")
    return value


def wall_times(values: Int64, field: str) -> Int64:
    """Refuses times outside 2000..2200."""
    return in_range(values, field, MIN_WALL_NS, MAX_WALL_NS)


def wall_time(value: int, field: str) -> int:
    """Refuses a time outside 2000..2200."""
    return scalar(value, field, MIN_WALL_NS, MAX_WALL_NS)


def boottimes(values: Sequence[int], field: str, n: int) -> Int64 | None:
    """Returns the boot-time clock's column; None where the batch has none."""
    return not_negative(column(values, field, n), field) if len(values) else None


def kinds(values: Sequence[int], field: str, n: int) -> Int64:
    """Returns a column of page kinds; an unspecified one is refused."""
    return in_range(column(values, field, n), field, *_KINDS)


def method(backend: int, granularity: int, interval_ns: int, field: str) -> Method:
    """Returns what measured, refusing what the contract does not know."""
    return Method(
        backend=scalar(backend, f"{field}.backend", *_BACKENDS),
        granularity=scalar(granularity, f"{field}.granularity", *_GRANULARITIES),
        interval_ns=scalar(interval_ns, f"{field}.interval_ns", 1),
    )
