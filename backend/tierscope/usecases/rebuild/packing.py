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
from tierscope.storage.alerts.rule_inputs import RULES
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.counters.rollups import ROLLUPS
from tierscope.storage.counters.rows import pack_hours
from tierscope.storage.curve.reuse_intervals import GAPS
from tierscope.storage.ledger.days import LEDGER
from tierscope.usecases.rebuild.samples import pack_samples

PACKS: Mapping[Job, Sequence[Callable[[WriteTransaction, int, Sequence[datetime]], None]]] = {
    SAMPLES_PACK: (pack_samples,),
    COUNTERS_PACK: (pack_hours,),
    RULE_DAYS: (RULES.close,),
    TIER_MOVE_DAYS: (LEDGER.close,),
    GAP_DAYS: (GAPS.close,),
    METRICS_PACK: (ROLLUPS["metrics_10m"].close, ROLLUPS["metrics_1h"].close),
    METRICS_1D_PACK: (ROLLUPS["metrics_1d"].close,),
}
"""What packs closed buckets of a subject: what is packed of them already, and the rows that came since."""
_BY_KIND = {job.kind: packs for job, packs in PACKS.items()}


def close(transaction: WriteTransaction, claimed: Claim) -> None:
    """Pack the claimed buckets."""
    for pack in _BY_KIND[claimed.kind]:
        pack(transaction, claimed.subject_id, claimed.buckets)
