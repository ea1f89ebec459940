"""Points of capacity that were made before older data of their day came."""

from datetime import timedelta

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.domain.capacity.days import SETTLED
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.capacity.rows import reopen_days

_DAY = timedelta(days=1)


def reopen_capacity(transaction: WriteTransaction, claimed: Claim) -> None:
    """Let points of the days of a claim be made again where they would not be by themselves."""
    settled = (claimed.now or utc_now()) - _DAY - SETTLED
    days = [day for day in claimed.buckets if day < settled]
    if days:
        reopen_days(transaction, days)
