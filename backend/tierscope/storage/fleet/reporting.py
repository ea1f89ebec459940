"""Whether hosts report, as statements over `hosts h` ask for it: one way for every view of the fleet."""

from dataclasses import dataclass
from datetime import datetime

HELD = "make_interval(secs => h.held_seconds)"
"""How long a host holds samples back, by its plan."""
STATE = (
    f"CASE WHEN h.last_seen_at IS NULL OR h.last_seen_at + {HELD} < :silent THEN 'silent'"
    f" WHEN h.last_seen_at + {HELD} < :late THEN 'late' ELSE 'reporting' END"
)
"""State of a host in service; takes `late` and `silent` of `Limits`. What it holds back does not make it late."""

VERDICT = "CASE WHEN r.ended_at > :since THEN r.verdict ELSE 'not_known' END"
"""The verdict on the newest hour, `host_recent r`, where that counts as new; takes `since` of `Limits`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Moments before which a host is late or silent, and since when ledger rows count."""

    late: datetime
    silent: datetime
    since: datetime
