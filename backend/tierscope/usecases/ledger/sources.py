"""Where the ledger of a window comes from: rows that the worker has built, and what is newer straight from counters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.base.jobs import COUNTERS
from tierscope.domain.ledger import Context, Ledger, Plan, block_ledger, concatenate
from tierscope.domain.ledger.columns import TRAFFIC
from tierscope.domain.ledger.course import MOST_PARTS, Course, follow
from tierscope.domain.ledger.machine import Machine, read_machine
from tierscope.storage.base.dirty_buckets import pending_buckets
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.base.subjects import SubjectHost, SubjectService, newest_inventories
from tierscope.storage.counters.rows import find_before, layouts_in, layouts_in_each, read_keys
from tierscope.storage.ledger.rows import read_ledger
from tierscope.usecases.ledger.judged import judge_again

_DIALECT_MARKS = ("host|vmstat|pgpromote", "host|vmstat|pgdemote", "host|vmstat|pgmigrate")


@dataclass(frozen=True, slots=True)
class HostLedger:
    """The ledger of one host over the window, with the plan that its columns follow.

    `around`: of a service's cgroups, the ledger of the whole host, where it was read.
    """

    host: SubjectHost
    machine: Machine
    plan: Plan
    ledger: Ledger
    around: Ledger | None = None

    def course(self, *, most_parts: int = MOST_PARTS) -> Course:
        """Which state held when over the window, and its verdict."""
        return follow(self.ledger, self.context, around=self.around, most_parts=most_parts, judging=judge_again)

    @property
    def counts(self) -> bool:
        """Whether anything of the subject itself is counted: memory traffic of a service is its host's."""
        return any(column.plus for column in self.plan.columns if column.column.key not in TRAFFIC)

    def context(self, rows: Ledger) -> Context:
        """What is known of the host beside some rows of the ledger."""
        return self.machine.context(rows.total("limit_events"))


@dataclass(frozen=True, slots=True)
class KnownHost:
    """What every ledger of a host over a window needs: `keys` it counts, `pending`: from when on rows may change."""

    host: SubjectHost
    machine: Machine
    keys: tuple[str, ...]
    pending: datetime | None


def read_known(session: ReadSession, hosts: Sequence[SubjectHost], window: Window) -> list[KnownHost]:
    """What is the same for the ledgers of whole hosts and of all services on them."""
    ids = [host.id for host in hosts]
    inventories = newest_inventories(session, ids, window.end)
    # Marks before ledgers: rows that a worker stores in between then only cost a needless computation.
    pending: dict[int, datetime] = {}
    for host_id, bucket in pending_buckets(session, [COUNTERS.kind], ids):
        pending[host_id] = min(bucket, pending.get(host_id, bucket))
    layout_ids = layouts_in_each(session, ids, window.start, window.end)
    return [
        KnownHost(
            host,
            read_machine(inventories.get(host.id)),
            _keys_of(session, host, layout_ids[host.id]),
            pending.get(host.id),
        )
        for host in hosts
    ]


def read_ledgers(
    session: ReadSession, hosts: Sequence[SubjectHost], window: Window, service: SubjectService | None = None
) -> list[HostLedger]:
    """The ledgers of whole hosts, or of a service's cgroups on them. Hosts without counters have an empty one."""
    return ledgers_of(session, read_known(session, hosts, window), window, service)


def ledgers_of(
    session: ReadSession, known: Sequence[KnownHost], window: Window, service: SubjectService | None = None
) -> list[HostLedger]:
    """The same for hosts of which the rest is known."""
    scope = None if service is None else f"service:{service.namespace}/{service.name}"
    ids, service_id = [one.host.id for one in known], 0 if service is None else service.id
    stored = {part.host_id: part.ledger for part in read_ledger(session, ids, service_id, window.start, window.end)}
    found = []
    for one in known:
        plan = one.machine.plan(one.keys, scope)
        ledger = stored.get(one.host.id, concatenate([]))
        if any(column.plus for column in plan.columns):
            fresh_from = _fresh_from(ledger, one.pending, window)
            fresh = compute_ledger(session, one.host.id, one.machine, (fresh_from, window.end), scope)
            if fresh is not None:
                kept = ledger.rows(ledger.times_s <= fresh_from.timestamp())
                ledger = concatenate([kept, fresh])
        found.append(HostLedger(one.host, one.machine, plan, ledger))
    return found


def keys_in(session: ReadSession, host: SubjectHost, window: Window) -> tuple[str, ...]:
    """All counters that the host sent in the window; without any, those that it sent last."""
    return _keys_of(session, host, layouts_in(session, host.id, window.start, window.end))


def _keys_of(session: ReadSession, host: SubjectHost, layout_ids: Sequence[int]) -> tuple[str, ...]:
    ids = layout_ids or ([] if host.layout_id is None else [host.layout_id])
    return tuple(sorted({key for names in read_layouts(session, ids).values() for key in names}))


def _fresh_from(stored: Ledger, pending: datetime | None, window: Window) -> datetime:
    """From when on the stored rows are missing or no longer the last word."""
    start = window.start
    if len(stored.times_s):
        step = timedelta(seconds=float(stored.times_s[-1]))
        start = max(start, datetime.fromtimestamp(0, tz=start.tzinfo) + step)
    return start if pending is None else max(min(start, pending), window.start)


def compute_ledger(
    session: ReadSession, host_id: int, machine: Machine, span: tuple[datetime, datetime], scope: str | None
) -> Ledger | None:
    """The rows of the (start, end] span from raw counters, None without any. The sample before is the first base."""
    return compute_ledgers(session, host_id, machine, span, [scope]).get(scope)


def compute_ledgers(
    session: ReadSession,
    host_id: int,
    machine: Machine,
    span: tuple[datetime, datetime],
    scopes: Sequence[str | None],
) -> dict[str | None, Ledger]:
    """The same of several scopes of one host, whose counters are read at once; empty without any."""
    start, end = span
    layout_ids = layouts_in(session, host_id, start, end)
    if not layout_ids:
        return {}
    before = find_before(session, [host_id], start).get(host_id)
    base = start if before is None else before - timedelta(microseconds=1)
    if before is not None:
        layout_ids = sorted({*layout_ids, *layouts_in(session, host_id, base, start)})
    keys = tuple(sorted({key for names in read_layouts(session, layout_ids).values() for key in names}))
    plans = [machine.plan(keys, scope) for scope in scopes]
    places = {place for plan in plans for column in plan.columns for place in (*column.plus, *column.minus)}
    wanted = [key for i, key in enumerate(keys) if i in places or key.startswith(_DIALECT_MARKS)]
    block = read_keys(session, host_id, wanted, layout_ids, base, end)
    if len(block) == 0:
        return {}
    return {scope: block_ledger(block, machine.plan(block.keys, scope), after_s=start.timestamp()) for scope in scopes}
