"""How often hosts send. What a host holds back arrives later by that, and is not late for it."""

from datetime import timedelta

MINUTE_SECONDS = 60
MOST_SEND_MINUTES = 10
"""The longest time between batches that a plan may name: a bucket of the ledger."""
CLOSELY = timedelta(minutes=15)
"""How long a host sends each minute after the last reason for it."""
NOTED_EVERY = timedelta(minutes=5)
"""A reason that lasts is written down again after this."""
SETTLES = timedelta(minutes=5)
"""How long a host that is told to send more often may still send what it held back: it asks for its plan every two
minutes at most, and uploads are spread."""


def held_seconds(send_minutes: int) -> int:
    """How long the oldest sample of a batch has waited when it is sealed, beyond one of a batch a minute."""
    return (send_minutes - 1) * MINUTE_SECONDS


def send_minutes(held: int) -> int:
    """The reverse of `held_seconds`."""
    return held // MINUTE_SECONDS + 1
