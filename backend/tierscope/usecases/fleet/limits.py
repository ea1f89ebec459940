"""The moments that decide whether hosts report and whether their newest rows count."""

from datetime import datetime

from tierscope.domain.fleet.host_facts import late_before, silent_before
from tierscope.storage.fleet.reporting import Limits
from tierscope.usecases.ledger.recent import LEDGER_SPAN


def limits_at(now: datetime) -> Limits:
    """Those of one moment."""
    return Limits(late_before(now), silent_before(now), now - LEDGER_SPAN)
