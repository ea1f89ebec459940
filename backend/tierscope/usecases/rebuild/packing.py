"""Closed buckets whose rows become blocks: one job, which the kind of its marks tells what to pack."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.jobs import (
    COUNTERS_PACK,
    GAP_DAYS,
    METRICS_1D_PACK,
    METRICS_PACK,
    RULE_DAYS,
    SAMPLES_PACK,
    TIER_MOVE_DAYS,
    Job,
)
from tierscope.storage.alerts import rule_inputs
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.counters import rollups
from tierscope.storage.counters.rows import pack_hours
from tierscope.storage.curve import reuse_intervals
from tierscope.storage.ledger import days as ledger_days
from tierscope.usecases.rebuild.samples import pack_samples

PACKS: Mapping[Job, Callable[[WriteTransaction, int, Sequence[datetime]], None]] = {
    SAMPLES_PACK: pack_samples,
    COUNTERS_PACK: pack_hours,
    RULE_DAYS: rule_inputs.pack_days,
    TIER_MOVE_DAYS: ledger_days.pack_days,
    GAP_DAYS: reuse_intervals.pack_days,
    METRICS_PACK: rollups.pack_days,
    METRICS_1D_PACK: rollups.pack_months,
}
"""What packs closed buckets of a subject: what is packed of them already, and the rows that came since."""
_BY_KIND = {job.kind: pack for job, pack in PACKS.items()}


def close(transaction: WriteTransaction, claimed: Claim) -> None:
    """Pack the claimed buckets."""
    _BY_KIND[claimed.kind](transaction, claimed.subject_id, claimed.buckets)
