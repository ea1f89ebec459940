"""What was made of days before older data of them came: points of capacity, published files."""

from datetime import datetime, timedelta

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.domain.base.jobs import CAPACITY_DAYS, HISTORY_DAYS
from tierscope.domain.capacity.days import SETTLED
from tierscope.storage.base.dirty_buckets import Claim, append
from tierscope.storage.capacity.rows import reopen_days
from tierscope.storage.objects.history import note_changes

_DAY = timedelta(days=1)


def mark_late_days(transaction: WriteTransaction, claimed: Claim) -> None:
    """Asks the server that has the points, which another one may be, to let those of days of a claim be made again."""
    append(transaction, CAPACITY_DAYS.kind, 0, 0, _settled(claimed))
    mark_history(transaction, claimed)


def mark_history(transaction: WriteTransaction, claimed: Claim) -> None:
    """Asks the server that lists published files to publish the days of a claim anew."""
    append(transaction, HISTORY_DAYS.kind, claimed.subject_id, 0, claimed.buckets)


def note_history(transaction: WriteTransaction, claimed: Claim) -> None:
    """Notes that the days of a host were rebuilt, where they are published."""
    note_changes(transaction, claimed.subject_id, claimed.buckets)


def reopen_capacity(transaction: WriteTransaction, claimed: Claim) -> None:
    """Lets points of the days of a claim be made again where they would not be by themselves."""
    days = _settled(claimed)
    if days:
        reopen_days(transaction, days)


def _settled(claimed: Claim) -> list[datetime]:
    settled = (claimed.now or utc_now()) - _DAY - SETTLED
    return [day for day in claimed.buckets if day < settled]
