"""Reuse gaps of closed days, packed."""

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.curve.reuse_intervals import pack_days


def pack_gap_days(transaction: WriteTransaction, claimed: Claim) -> None:
    """Pack days of a host's reuse gaps for which late data is no longer taken."""
    pack_days(transaction, claimed.subject_id, claimed.buckets)
