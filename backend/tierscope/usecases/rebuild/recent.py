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
    promoted, demoted, psi, swap_in, swap_out, damon_promoted, damon_demoted = (
        RateSum() if ledger is None else rate_of(ledger, what) for what in (*RATES, *FLOWS[2:])
    )
    return HostRecent(
        host_id=host_id,
        built_at=built_at,
        started_at=None if ledger is None else _at(float(ledger.times_s[0] - ledger.dt_seconds[0])),
        ended_at=None if ledger is None else _at(float(ledger.times_s[-1])),
        broken=promoted.broken or demoted.broken or psi.broken,
        promoted_total=_total(promoted),
        promoted_seconds=promoted.seconds,
        promoted_intervals=promoted.intervals,
        demoted_total=_total(demoted),
        demoted_seconds=demoted.seconds,
        demoted_intervals=demoted.intervals,
        psi_total=_total(psi),
        psi_seconds=psi.seconds,
        psi_intervals=psi.intervals,
        swap_in_total=_total(swap_in),
        swap_in_seconds=swap_in.seconds,
        swap_in_intervals=swap_in.intervals,
        swap_out_total=_total(swap_out),
        swap_out_seconds=swap_out.seconds,
        swap_out_intervals=swap_out.intervals,
        damon_promoted_total=_total(damon_promoted),
        damon_promoted_seconds=damon_promoted.seconds,
        damon_promoted_intervals=damon_promoted.intervals,
        damon_demoted_total=_total(damon_demoted),
        damon_demoted_seconds=damon_demoted.seconds,
        damon_demoted_intervals=damon_demoted.intervals,
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


def _total(found: RateSum) -> float | None:
    return found.total if found.n_known else None


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _text(value: object) -> str | None:
    return str(value) if value else None
