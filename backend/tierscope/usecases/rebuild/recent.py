"""The newest hour of a host in one row, for lists and services."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.domain.fleet.host_facts import read_facts
from tierscope.domain.ledger import Ledger, Verdict
from tierscope.domain.ledger.course import newest_hour
from tierscope.domain.ledger.figures import FLOWS, RATES, RateSum, rate_of
from tierscope.storage.fleet import recent
from tierscope.storage.fleet.recent import HostRecent, replace_recent
from tierscope.storage.ledger.rows import read_newest
from tierscope.usecases.ledger.recent import LEDGER_SPAN, RECENT_ROWS, judge_recent


def rebuild_recent(transaction: WriteTransaction, host_id: int, inventory: Mapping[str, Any] | None) -> None:
    """Store what the host's newest ledger rows and its newest inventory say."""
    now = utc_now()
    stored = read_newest(transaction, [(host_id, 0)], rows=RECENT_ROWS, since=now - LEDGER_SPAN)
    ledger = next((newest_hour(part.ledger) for part in stored if len(part.ledger.times_s)), None)
    verdict = judge_recent(ledger, read_facts(inventory))
    replace_recent(transaction, [recent_row(host_id, ledger, verdict, inventory, built_at=now)])


def recent_row(
    host_id: int, ledger: Ledger | None, verdict: Verdict, inventory: Mapping[str, Any] | None, *, built_at: datetime
) -> HostRecent:
    """What the newest ledger rows of a host, the verdict on them and its newest inventory say."""
    facts, body = read_facts(inventory), inventory or {}
    sums: dict[str, Any] = {}
    broken = False
    for name, what in zip((*recent.RATES, *recent.FLOWS[2:]), (*RATES, *FLOWS[2:]), strict=True):
        rate = RateSum() if ledger is None else rate_of(ledger, what)
        broken |= rate.broken and name in recent.RATES
        sums |= {f"{name}_total": rate.total if rate.n_known else None, f"{name}_seconds": rate.seconds}
        sums[f"{name}_intervals"] = rate.intervals
    return HostRecent(
        host_id=host_id,
        built_at=built_at,
        started_at=None if ledger is None else _at(float(ledger.times_s[0] - ledger.dt_seconds[0])),
        ended_at=None if ledger is None else _at(float(ledger.times_s[-1])),
        broken=broken,
        **sums,
        page_bytes=facts.machine.page_bytes,
        verdict=verdict.word,
        memory_bytes=facts.memory_bytes,
        top_bytes=facts.machine.top_bytes,
        one_tier=facts.one_tier,
        tiering_off=facts.tiering_off,
        tier_classes=facts.tier_classes,
        kernel=_text(body.get("kernel_release")),
        dialect=_text(body.get("dialect")),
        senders=body.get("senders"),
    )


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _text(value: object) -> str | None:
    return str(value) if value else None
