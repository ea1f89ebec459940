"""The newest hour of tier moves of hosts: from the ledger, or from live counters where the ledger is not built yet."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.host_facts import HostFacts
from tierscope.domain.ledger import Ledger, Plan, Verdict, block_ledger, judge, plan_host
from tierscope.domain.ledger.course import newest_hour, newest_part
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.base.retention import kept
from tierscope.storage.counters.recent import read_recent
from tierscope.storage.fleet.hosts import HostRow
from tierscope.storage.ledger.rows import read_newest

RECENT = timedelta(hours=1)
RECENT_ROWS = 60
LEDGER_SPAN = kept("counters_packed")
"""How far back the newest row of a host is looked for: late data is taken that long."""


def recent_ledgers(
    session: ReadSession, rows: Sequence[HostRow], facts: Mapping[int, HostFacts], *, now: datetime
) -> dict[int, Ledger]:
    """The newest hour of each host, of at most its sixty newest intervals. Hosts without any are left out."""
    if not rows:
        return {}
    found = {
        stored.host_id: newest_hour(stored.ledger)
        for stored in read_newest(session, [(row.id, 0) for row in rows], rows=RECENT_ROWS, since=now - LEDGER_SPAN)
        if len(stored.ledger.times_s)
    }
    return found | _from_live(session, [row for row in rows if row.id not in found], facts)


def judge_recent(ledger: Ledger | None, facts: HostFacts) -> Verdict:
    """The verdict on the newest ten minutes of a host, or hour where nothing measures how many accesses are slow."""
    if ledger is None:
        return Verdict("not_known", "No two samples of counters arrived recently.", "certain")
    return judge(newest_part(ledger), facts.machine.context(limit_events=None))


def _from_live(session: ReadSession, rows: Sequence[HostRow], facts: Mapping[int, HostFacts]) -> dict[int, Ledger]:
    by_layout: dict[int, dict[int, datetime]] = {}
    for row in rows:
        if row.layout_id is not None and row.last_end_at is not None:
            by_layout.setdefault(row.layout_id, {})[row.id] = row.last_end_at - RECENT
    names = read_layouts(session, by_layout)
    keys: dict[int, set[str]] = {layout_id: set() for layout_id in by_layout}
    for layout_id, host_ids in by_layout.items():
        for tiers, page_bytes in {
            (facts[host_id].machine.tiers, facts[host_id].machine.page_bytes) for host_id in host_ids
        }:
            plan = plan_host(names[layout_id], tiers, page_bytes=page_bytes)
            keys[layout_id] |= {names[layout_id][place] for place in _places(plan)}
    blocks = read_recent(session, by_layout, {layout_id: sorted(wanted) for layout_id, wanted in keys.items()})
    found: dict[int, Ledger] = {}
    for host_id, block in blocks.items():
        plan = plan_host(block.keys, facts[host_id].machine.tiers, page_bytes=facts[host_id].machine.page_bytes)
        found[host_id] = block_ledger(block, plan)
    return found


def _places(plan: Plan) -> set[int]:
    return {place for column in plan.columns for place in (*column.plus, *column.minus)}
