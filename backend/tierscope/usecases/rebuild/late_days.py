"""Points of capacity that were made before older data of their day came."""

from datetime import datetime, timedelta

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.domain.base.jobs import CAPACITY_DAYS
from tierscope.domain.capacity.days import SETTLED
from tierscope.storage.base.dirty_buckets import Claim, append
from tierscope.storage.capacity.rows import reopen_days

_DAY = timedelta(days=1)


def mark_late_days(transaction: WriteTransaction, claimed: Claim) -> None:
    """Asks the server that has the points, which another one may be, to let those of days of a claim be made again."""
    append(transaction, CAPACITY_DAYS.kind, 0, 0, _settled(claimed))


def reopen_capacity(transaction: WriteTransaction, claimed: Claim) -> None:
    """Lets points of the days of a claim be made again where they would not be by themselves."""
    days = _settled(claimed)
    if days:
        reopen_days(transaction, days)


def _settled(claimed: Claim) -> list[datetime]:
    settled = (claimed.now or utc_now()) - _DAY - SETTLED
    return [day for day in claimed.buckets if day < settled]
