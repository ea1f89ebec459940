"""Forecasts as rules judge them: how long each service's memory lasts, recorded for every minute that is judged."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.frame import MINUTE_S
from tierscope.domain.alerts.vocabulary import DAYS_EARLY, DAYS_MEDIAN
from tierscope.domain.base.buckets import DAY_US, bucket_start
from tierscope.domain.base.jobs import RULE_DAYS
from tierscope.domain.capacity.exhaustion import reached_s
from tierscope.storage.alerts.rule_inputs import InputRows, append_inputs, newest_forecast
from tierscope.storage.alerts.rule_sources import SubjectServiceRow
from tierscope.storage.base import dirty_buckets
from tierscope.storage.base.binary import from_us
from tierscope.storage.capacity.rows import read_forecasts
from tierscope.usecases.capacity.forecasts import Outlook

NAMES = (DAYS_MEDIAN, DAYS_EARLY)
METRIC = "resident"
NO_HOST = 0
"""Forecasts are of services and not of a host: their rows stand under this one."""
_DAY_S = 86_400.0


def record_forecasts(
    transaction: WriteTransaction, services: Mapping[str, SubjectServiceRow], span: tuple[int, int]
) -> None:
    """Record what the newest forecasts say at the minutes [first, last] that are not recorded yet."""
    start = datetime.fromtimestamp((span[0] - 1) * MINUTE_S, UTC)
    newest = newest_forecast(transaction, start)
    first = span[0] if newest is None else max(span[0], int(newest.timestamp()) // MINUTE_S + 1)
    ends = MINUTE_S * np.arange(first, span[1] + 1, dtype=np.float64)
    known = {
        services[subject].id: (row.last_day.timestamp(), Outlook.from_body(row.body))
        for subject, row in read_forecasts(transaction, "service", METRIC).items()
        if subject in services
    }
    told = {service: (day_s, found) for service, (day_s, found) in known.items() if _says_something(found)}
    if not len(ends) or not told:
        return
    parts = [
        (service, np.stack([_left(found, day_s, float(end)) for end in ends]))
        for service, (day_s, found) in told.items()
    ]
    n = len(ends) * len(parts)
    rows = InputRows(
        np.full(n, NO_HOST),
        np.repeat([service for service, _ in parts], len(ends)),
        np.tile(ends, len(parts)),
        np.full(n, float(MINUTE_S)),
        np.zeros(n),
        NAMES,
        np.concatenate([values for _, values in parts]),
    )
    append_inputs(transaction, rows)
    days = {from_us(bucket_start(round(end * 1e6), DAY_US)) for end in ends.tolist()}
    dirty_buckets.append(transaction, RULE_DAYS.kind, NO_HOST, 0, days)


def _says_something(found: Outlook) -> bool:
    """Whether there is a forecast, and a capacity to hold it against."""
    return found.refused is None and found.threshold_bytes is not None


def _left(found: Outlook, day_s: float, end_s: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seconds left at a moment by the median and by the upper bound, both counted from the last day; or for ever."""
    days = (found.median_days, found.warned_days)
    return np.array([np.inf if day is None else max(reached_s(day_s, day) - end_s, 0.0) for day in days])
