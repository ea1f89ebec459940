"""From a daily point to the figures of a list's line."""

from datetime import timedelta

from tierscope.domain.base.figures import AbsentStatus, Figure, Window, absent
from tierscope.domain.capacity.days import MIN_HOURS, CapacityDay
from tierscope.domain.capacity.forecast import MIN_DAYS
from tierscope.domain.capacity.need import Advised, dram_need
from tierscope.storage.capacity.rows import StoredDay
from tierscope.usecases.capacity.forecasts import Dated, exhaustion_view, growth_figure
from tierscope.usecases.capacity.views import CapacitySubject, CapacitySubjectRef

NO_POINT = "No hour of the last eight days has values of this subject's memory."
NO_HEAT = "No heat was measured on these hosts that day."
NO_INVENTORY = "The hosts have sent no inventory that says how much memory they have."
NO_PROCESSORS = "Processor time of the hosts is not collected, so that nobody can tell which of them take no more work."
OF_HOSTS = "Memory is stranded on hosts, not in services: group by sku, rack or a label."
PEAK = "95th percentile over the hours of the day"
MIDDLE = "median over the hours of the day"
OTHERS = "memory of other services on the same hosts is subtracted, except for page cache that the kernel can reclaim"
OWN_CACHE = "page cache of its own is left out as far as the kernel can reclaim it and its cgroups count it"
DRAM_OTHERS = "memory of other services on the same hosts is not subtracted"


def subject_view(
    ref: CapacitySubjectRef, newest: StoredDay | None, days: int, dated: Dated | None, advised: Advised | None
) -> CapacitySubject:
    """A line of the list; figures of the newest day, the forecast from whole days."""
    day = None if newest is None else newest.day
    outlook = None if dated is None else dated.outlook
    window = None if newest is None else Window(newest.ts, newest.ts + timedelta(days=1))
    left = max(MIN_DAYS - days, 0)
    reason = f"{days} whole days with data: {MIN_DAYS} are needed, {left} more." if left else "Not forecast yet."
    make = _Maker(day, window)
    need = None if day is None else dram_need(day.resident_bytes, day.hot_bytes, advised)
    service = ref.kind == "service"
    return CapacitySubject(
        kind=ref.kind,
        id=ref.id,
        name=ref.name,
        origin=ref.origin,
        hosts=0 if day is None else day.n_hosts,
        days=days,
        capacity_bytes=make.figure(
            "capacity",
            None if day is None else day.capacity_bytes,
            "counters",
            NO_INVENTORY,
            (OTHERS,) if service else (),
        ),
        resident_bytes=make.figure(
            "resident", None if day is None else day.resident_bytes, _resident_method(day), NO_POINT, (PEAK,)
        ),
        in_use_bytes=make.figure(
            "in_use",
            None if day is None else day.in_use_bytes,
            _resident_method(day),
            NO_POINT,
            (PEAK, OWN_CACHE) if service else (PEAK,),
        ),
        hot_bytes=make.heat("hot", None if day is None else day.hot_bytes, (PEAK,)),
        dram_need_bytes=make.heat("dram_need", need, (_need_by(advised), *((DRAM_OTHERS,) if service else ()))),
        cold_bytes=make.heat("cold", None if day is None else day.cold_bytes, (MIDDLE,)),
        untouched_bytes=make.heat("untouched", None if day is None else day.untouched_bytes, (MIDDLE,)),
        stranded_bytes=make.stranded(service=service),
        growth_bytes_per_day=growth_figure(outlook, window, reason),
        days_to_exhaustion=exhaustion_view(dated, window, reason),
        method=None if outlook is None else outlook.method,
        refused=reason if outlook is None else outlook.refused,
    )


class _Maker:
    def __init__(self, day: CapacityDay | None, window: Window | None) -> None:
        self._day = day
        self._window = window

    def figure(
        self, name: str, value: float | None, method: str | None, reason: str, notes: tuple[str, ...] = ()
    ) -> Figure:
        """A figure of bytes by counters."""
        return self._make(name, value, method, "not_collected", reason, notes, None)

    def heat(self, name: str, value: float | None, notes: tuple[str, ...]) -> Figure:
        """A figure of bytes that heat tells."""
        day = self._day
        method = None if day is None else day.heat_method
        reason = NO_POINT if day is None else NO_HEAT
        if day is not None and value is not None and day.heat_hosts < day.n_hosts:
            notes = (*notes, f"heat is of {day.heat_hosts} of {day.n_hosts} hosts, made up to all of them")
        return self._make(name, value, method, "not_collected", reason, notes, None if day is None else day.heat_hosts)

    def stranded(self, *, service: bool) -> Figure:
        """Free DRAM of hosts whose processors are taken."""
        if service:
            return absent("capacity.stranded_bytes/1", "bytes", "not_supported", OF_HOSTS, window=self._window)
        value = None if self._day is None else self._day.stranded_bytes
        note = "mean over the hours of free DRAM on hosts whose processors are at least 90 % busy"
        return self._make("stranded", value, "counters", "not_collected", NO_PROCESSORS, (note,), None)

    def _make(
        self,
        name: str,
        value: float | None,
        method: str | None,
        status: AbsentStatus,
        reason: str,
        notes: tuple[str, ...],
        n_hosts: int | None,
    ) -> Figure:
        definition = f"capacity.{name}_bytes/1"
        day = self._day
        if value is None or day is None:
            return absent(definition, "bytes", status, NO_POINT if day is None else reason, window=self._window)
        short = not day.is_whole
        warnings = (*notes, f"{day.n_hours} of {MIN_HOURS} hours that make a whole day") if short else notes
        return Figure(
            definition,
            "ok",
            value,
            "bytes",
            method=method,
            window=self._window,
            n_hosts=day.n_hosts if n_hosts is None else n_hosts,
            n_intervals=day.n_hours,
            grade="early" if short else "good",
            grounding="A",
            warnings=warnings,
        )


def _resident_method(day: CapacityDay | None) -> str | None:
    if day is None:
        return None
    return day.heat_method if day.resident_source == "heat" else "counters"


def _need_by(advised: Advised | None) -> str:
    if advised is None:
        return "hot bytes with 10 % headroom; no ratio advice is stored"
    if advised.dram_ratio >= 1:
        return f"ratio advice proves no ratio at a loss of {advised.loss_target:.0%}: all memory stays in DRAM"
    return f"{advised.dram_ratio:.0%} of resident memory by ratio advice at a loss of {advised.loss_target:.0%}"
