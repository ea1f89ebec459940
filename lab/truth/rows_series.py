"""Forecasts, early warnings, changes of level and odd hosts, on many series: one fleet has too few of them.

The product's arithmetic is asked directly, with what its workers would hand it. Each series gives one observation of a
forecast, of one day ahead that is drawn, so that observations are independent.
"""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tierscope.domain.capacity.days import CapacityDay
from tierscope.domain.capacity.forecast import Forecast
from tierscope.domain.statistics import find_outliers, level_changes
from tierscope.storage.capacity.rows import StoredDay
from tierscope.usecases.capacity.forecasts import make_forecast, reach
from tierscope.usecases.capacity.history import History, make_history
from tierscope.usecases.statistics.hour import FLEET_METRICS
from tierscope.usecases.statistics.update import CHANGE_HISTORY, CHANGE_SPAN
from truth import series
from truth.memory import daily_memory_of_twin
from truth.scoring import Goal, Observed

Floats = npt.NDArray[np.float64]

AT_80, AT_95 = "forecast: 80 % intervals that hold the truth", "forecast: 95 % intervals that hold the truth"
WIDTH = "forecast: half of the 80 % interval over the truth"
OFF = "forecast: distance of the median from the truth, over the truth"
BY_KIND = {kind: f"forecast of {kind}: 80 % intervals that hold the truth" for kind in series.KINDS}
TWIN_95 = "forecast of the twin's services: 95 % intervals that hold the truth"
TWIN_OFF = "forecast of the twin's services: distance of the median from the truth, over the truth"
WARNED_FALSE = "early warning: false alarms, of those that are warned of"
WARNED_STATED = "early warning: share of false alarms that is stated"
WARNED_OFF = "early warning: false alarms less the share that is stated"
MISSED = "early warning: memory got full with no warning, or before the day it named"
FOUND = "change points: shifts of 10 to 40 % found within a day"
FALSE = "change points: false ones a service and year"
ODD_FOUND = "outliers: host at 1.5 to 3 times its peers, or below, found within a day"
ODD_FALSE = {kind: f"outliers, {kind} groups without an odd host: any shown within a day" for kind in series.PEERS}

HORIZON_DAYS = 28
LEAST_DAYS, MOST_DAYS = 45, 120
TWIN_DAYS = 100
WATCHED_DAYS = 180
"""Of a metric without shifts, beyond what the product looks back on."""
GROUP_HOURS, WINDOWS = 24, 3
DATED_S = 3 * 3600
"""A shift is found where the date that is told is no further off."""
SAME_S = 6 * 3600
"""Changes told in runs after each other are one where their dates are no further apart."""
HOUR_SLOTS = 6
_FIRST_DAY = date(2026, 1, 5)
SERVICE_YEARS = WATCHED_DAYS / 365.0 / len(FLEET_METRICS)
"""Of each metric that is watched: a service has `FLEET_METRICS` of them."""

GOALS = (
    Goal(AT_80, "share", 0.80, within=0.03),
    Goal(AT_95, "share", 0.95, within=0.03),
    Goal(WIDTH, "told"),
    Goal(OFF, "told"),
    *(Goal(row, "told_share") for row in BY_KIND.values()),
    Goal(TWIN_95, "told_share"),
    Goal(TWIN_OFF, "told"),
    Goal(WARNED_FALSE, "told_share"),
    Goal(WARNED_STATED, "told_mean"),
    Goal(WARNED_OFF, "mean", 0.0, within=0.03),
    Goal(MISSED, "share", 0.05, at_most=True),
    Goal(FOUND, "share", 0.90),
    Goal(FALSE, "count", 1.0, at_most=True, exposure=SERVICE_YEARS),
    *(Goal(row, "share", 0.05, at_most=True) for row in ODD_FALSE.values()),
    Goal(ODD_FOUND, "told_share"),
)


def observe_series(seed: int, of_each: int) -> Observed:
    """One seed: `of_each` of each kind of memory and group, twice as many shifts, a quarter as many watched metrics."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    for number in range(of_each):
        for kind in series.KINDS:
            observe_forecast(seen, seed, number, kind)
        for kind in series.PEERS:
            _group(seen, seed, number, kind)
    for number in range(2 * of_each):
        seen[FOUND].append(float(is_found(seed, number)))
    for number in range(max(of_each // 4, 1)):
        seen[FALSE].append(float(count_false(seed, number)))
    return seen


def observe_twin(seed: int, folder: Path) -> Observed:
    """Services of the twin: months by its own laws."""
    seen: Observed = {TWIN_95: [], TWIN_OFF: []}
    for number, values in enumerate(daily_memory_of_twin(seed, TWIN_DAYS, folder).values()):
        random = np.random.default_rng([seed, number, 5_000])
        cut = int(random.integers(LEAST_DAYS, TWIN_DAYS - HORIZON_DAYS))
        found, _ = forecast_of(values[:cut])
        if isinstance(found, Forecast):
            day = int(random.integers(len(found.median)))
            truth = values[cut + day]
            # Without noise a forecast is right to the byte or by rounding.
            room = 1e-6 * truth
            seen[TWIN_95].append(float(found.lo95[day] - room <= truth <= found.hi95[day] + room))
            seen[TWIN_OFF].append(abs(found.median[day] / truth - 1.0))
    return seen


def forecast_of(values: Floats) -> tuple[object, History]:
    """What the product says after these days, shifts of level left out as it does."""
    stored = [
        StoredDay("series", datetime.combine(_FIRST_DAY + timedelta(days=day), datetime.min.time(), UTC), _day(value))
        for day, value in enumerate(values.tolist())
    ]
    history = make_history(stored, "resident", None, [], today=_FIRST_DAY + timedelta(days=len(values)))
    return make_forecast(history, HORIZON_DAYS), history


def _day(resident_bytes: float) -> CapacityDay:
    return CapacityDay(
        n_hosts=1,
        n_hours=24,
        heat_hosts=0,
        heat_method=None,
        resident_source="memory.stat",
        capacity_bytes=None,
        dram_bytes=None,
        used_bytes=None,
        resident_bytes=resident_bytes,
        hot_bytes=None,
        cold_bytes=None,
        untouched_bytes=None,
        stranded_bytes=None,
    )


def observe_forecast(seen: Observed, seed: int, number: int, kind: str) -> None:
    """One day ahead of one series, and the early warning of a threshold of 2 to 25 % above its last day."""
    random = np.random.default_rng([seed, number, 6_000 + list(series.KINDS).index(kind)])
    days = int(random.integers(LEAST_DAYS, MOST_DAYS + 1))
    values = series.daily_memory(seed, number, kind, days + HORIZON_DAYS)
    found, history = forecast_of(values[:days])
    if not isinstance(found, Forecast):
        return
    ahead = values[days : days + reach(history, HORIZON_DAYS)]
    day = int(random.integers(len(ahead)))
    truth = float(ahead[day])
    holds = [float(lo[day] <= truth <= hi[day]) for lo, hi in ((found.lo80, found.hi80), (found.lo95, found.hi95))]
    seen[AT_80].append(holds[0])
    seen[BY_KIND[kind]].append(holds[0])
    seen[AT_95].append(holds[1])
    seen[WIDTH].append(float(found.hi80[day] - found.lo80[day]) / 2.0 / truth)
    seen[OFF].append(abs(float(found.median[day]) / truth - 1.0))
    _warn(seen, found, ahead, float(values[days - 1]) * random.uniform(1.02, 1.25))


def _warn(seen: Observed, found: Forecast, ahead: Floats, threshold: float) -> None:
    early = found.exhaustion(threshold).early_days
    reached = np.flatnonzero(ahead >= threshold)
    if len(reached):
        seen[MISSED].append(float(early is None or early > int(reached[0]) + 1))
    if early is not None:
        is_false = float(not len(reached))
        stated = found.false_alarm_ratio(threshold)
        seen[WARNED_FALSE].append(is_false)
        seen[WARNED_STATED].append(stated)
        seen[WARNED_OFF].append(is_false - stated)


def _told(metric: series.Metric, values: Floats, end: int) -> list[tuple[float, str]]:
    """Changes that the product tells after slot `end`: those of its watched days, from as long as it looks back."""
    first = max(end - int(CHANGE_HISTORY.total_seconds()) // series.SLOT_S, 0)
    found = level_changes(metric.times_s[first:end], values[first:end])
    since_s = metric.times_s[end - 1] - CHANGE_SPAN.total_seconds()
    return [(change.at_s, change.direction) for change in found if change.at_s >= since_s]


def is_found(seed: int, number: int) -> bool:
    """Whether a shift is told, with its direction and about its date, by one of the hourly runs of the day after it."""
    known_days = CHANGE_HISTORY.days
    metric = series.metric_by_slots(seed, number, known_days + 5)
    random = np.random.default_rng([seed, number, 7_000])
    at = known_days * series.SLOTS_A_DAY + int(random.integers(0, 3 * series.SLOTS_A_DAY))
    share = series.draw_step(random)
    values, at_s = metric.stepped(at, share), metric.times_s[at] - series.SLOT_S
    wanted = "rise" if share > 0 else "fall"
    first = -(-at // HOUR_SLOTS) * HOUR_SLOTS
    return any(
        abs(told_s - at_s) <= DATED_S and direction == wanted
        for end in range(first, at + series.SLOTS_A_DAY + 1, HOUR_SLOTS)
        for told_s, direction in _told(metric, values, end)
    )


def count_false(seed: int, number: int) -> int:
    """Changes that hourly runs tell of a metric without any."""
    known = CHANGE_HISTORY.days * series.SLOTS_A_DAY
    metric = series.metric_by_slots(seed, 100_000 + number, CHANGE_HISTORY.days + WATCHED_DAYS)
    told: list[float] = []
    for end in range(known, len(metric.values) + 1, HOUR_SLOTS):
        for at_s, _ in _told(metric, metric.values, end):
            if all(abs(at_s - other) > SAME_S for other in told):
                told.append(at_s)
    return len(told)


def _group(seen: Observed, seed: int, number: int, kind: str) -> None:
    group = series.peer_group(seed, number, kind, GROUP_HOURS)
    seen[ODD_FALSE[kind]].append(float(bool(_odd_hosts(group))))
    if kind == "normal":
        odd = series.with_odd_host(group, seed, number)
        seen[ODD_FOUND].append(float(str(odd.odd) in _odd_hosts(odd)))


def _odd_hosts(group: series.Peers) -> set[str]:
    """Hosts that are shown after any hour of the day."""
    windows = [{str(host): float(value) for host, value in enumerate(row)} for row in group.values]
    runs = [windows[end - WINDOWS : end] for end in range(WINDOWS, len(windows) + 1)]
    return {found.host for run in runs for found in find_outliers(run)}
