"""From ledgers of hosts: what all of them moved together, by minute."""

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.ledger.fleet import replace_fleet_moves


def rebuild_fleet_moves(transaction: WriteTransaction, claimed: Claim) -> None:
    """Sum the claimed ten minutes again."""
    replace_fleet_moves(transaction, claimed.buckets)
