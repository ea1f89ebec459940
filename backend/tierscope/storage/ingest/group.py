"""One transaction for a group of batches: lock, decide, copy everything, move the marks of the streams.

Locks are taken in one order (hosts by id, then streams by key), so that groups of several processes never deadlock.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.core.errors import TierscopeError, TooManyGaps, UnknownLayout, Unreadable
from tierscope.domain.ingest.sequences import Sequence as StreamState
from tierscope.storage.ingest import boots, facts, notes, streams
from tierscope.storage.ingest.arrivals import Arrivals
from tierscope.storage.ingest.incoming import Incoming, Outcome, Stored, StoreLimits
from tierscope.storage.ingest.registry import OriginKey, Registry, register_host_layouts, require_services
from tierscope.storage.ingest.rows import Rows, Tally


def store_group(
    transaction: WriteTransaction, group: Sequence[Incoming], *, registry: Registry, limits: StoreLimits
) -> list[Outcome]:
    """Stores every batch of a group once; returns what became of each, in order.

    `registry.prepare(group)` was called before. The caller commits; before that nothing counts.
    """
    now = utc_now() if not group else datetime.fromtimestamp(group[0].clocks.arrival_ns / 1e9, tz=UTC)
    work = _Group(transaction, registry, limits, now)
    work.lock(group)
    outcomes: list[Outcome] = [work.decide(item) for item in group]
    accepted = [
        (place, item) for place, (item, outcome) in enumerate(zip(group, outcomes, strict=True)) if _is_new(outcome)
    ]
    for (place, _), stored in zip(accepted, work.store([item for _, item in accepted]), strict=True):
        outcomes[place] = stored
    work.finish()
    return outcomes


def _is_new(outcome: Outcome) -> bool:
    return isinstance(outcome, Stored) and not outcome.duplicate


class _Group:
    """State of one transaction."""

    def __init__(self, transaction: WriteTransaction, registry: Registry, limits: StoreLimits, now: datetime) -> None:
        self._transaction = transaction
        self._registry = registry
        self._limits = limits
        self._now = now
        self._hosts: dict[int, boots.HostState] = {}
        self._streams: dict[streams.StreamKey, StreamState] = {}
        self._moved: dict[streams.StreamKey, int] = defaultdict(int)
        self._arrivals = Arrivals()

    def lock(self, group: Sequence[Incoming]) -> None:
        """Locks hosts, and the streams of those that do not move: the row of one that moves may go meanwhile."""
        self._hosts = boots.lock_hosts(self._transaction, (item.host.id for item in group))
        locked = {host_id for host_id, state in self._hosts.items() if not state.moving}
        self._streams = streams.lock_streams(self._transaction, (i.stream for i in group if i.host.id in locked))

    def decide(self, item: Incoming) -> Outcome:
        """Decides on one batch by its host, its layouts and its number, and takes the number."""
        state = self._hosts.get(item.host.id)
        before = self._streams.get(item.stream)
        seq = item.batch.seq
        refused = boots.refusal(item, state, is_new=before is not None and seq >= before.next_seq, now=self._now)
        if refused is not None or before is None or state is None:
            return refused or TierscopeError("the host row is missing")
        decision, after = before.take(seq)
        if decision == "duplicate":
            self._arrivals.add_duplicate(item)
            return Stored(duplicate=True, rows={}, too_late=0, set_aside=0, warnings=())
        unfit = _unfit_layout(item, self._registry)
        if unfit is not None:
            return unfit
        if decision == "too_many_gaps":
            return TooManyGaps(f"stream {item.batch.stream_id.hex()} would get more than {len(before.gaps)} gaps")
        self._streams[item.stream] = after
        self._moved[item.stream] += 1
        boots.ensure_boots(self._transaction, item, state)
        return Stored(duplicate=False, rows={}, too_late=0, set_aside=0, warnings=())

    def store(self, items: Sequence[Incoming]) -> list[Stored]:
        """Stores the data of accepted batches."""
        if not items:
            return []
        refused_layouts = self._admit_layouts(items)
        refused_services = self._admit_services(items)
        rows = Rows(self._registry, self._limits)
        tallies = [Tally() for _ in items]
        epochs: dict[int, dict[int, int]] = defaultdict(dict)
        for item, tally in zip(items, tallies, strict=True):
            host = item.host.id
            known = epochs[host]
            known.update(facts.known_epochs(self._transaction, item))
            rows.add(
                item,
                self._hosts[host],
                tally,
                refused_layouts=refused_layouts[host],
                refused_services=refused_services[host],
                epochs=known,
            )
        rows.write(self._transaction, self._now)
        for item in items:
            refused, inventory = refused_services[item.host.id], item.batch.inventory
            facts.write_host_services(self._transaction, item, self._registry, refused)
            if inventory is not None:
                facts.write_inventory(self._transaction, item, inventory, self._now)
                facts.write_pods(self._transaction, item, inventory, self._registry, refused, self._now)
        facts.note_host_services(self._transaction, items, self._registry, refused_services)
        pairs = list(zip(items, tallies, strict=True))
        facts.write_hosts(self._transaction, pairs, self._hosts)
        found = []
        for item, tally in pairs:
            self._arrivals.add(item, tally, held_seconds=self._hosts[item.host.id].held_seconds)
            own = notes.findings_of(item, tally, self._limits, refused_layouts, refused_services)
            tally.warnings.extend(note.finding.cause for note in own if note.holds)
            found.extend(own)
        facts.write_own_findings(self._transaction, found, self._now)
        seen = {self._hosts[item.host.id].boots[item.batch.boot_id].id: boots.sealed_at(item) for item in items}
        boots.touch_boots(self._transaction, seen, ())
        return [_stored(tally) for tally in tallies]

    def finish(self) -> None:
        """Writes streams, and the clones that came to light."""
        moved = {key: (self._streams[key], count) for key, count in self._moved.items()}
        streams.write_streams(self._transaction, moved)
        self._arrivals.write(self._transaction)
        boots.touch_boots(self._transaction, {}, self._hosts.values())
        facts.write_own_findings(self._transaction, notes.clone_findings(self._hosts.values()), self._now)

    def _admit_layouts(self, items: Sequence[Incoming]) -> dict[int, set[int]]:
        wanted = []
        for item in items:
            for block in item.batch.counters:
                layout = self._registry.layout(block.layout_hash)
                if layout is not None:
                    wanted.append((item.host.id, layout.id))
        refused: dict[int, set[int]] = defaultdict(set)
        per_day = self._limits.layouts_per_host_day
        for host, layout_id in register_host_layouts(self._transaction, wanted, per_day=per_day):
            refused[host].add(layout_id)
        return refused

    def _admit_services(self, items: Sequence[Incoming]) -> dict[int, set[int]]:
        wanted: dict[int, list[int]] = defaultdict(list)
        for item in items:
            for origin, key in _named_services(item):
                wanted[item.host.id].append(self._registry.service(origin, key))
        refused: dict[int, set[int]] = defaultdict(set)
        if not wanted:
            return refused
        require_services(self._transaction, (service for services in wanted.values() for service in services))
        per_host = self._limits.services_per_host
        for host, service in facts.admit_services(self._transaction, wanted, per_host=per_host):
            refused[host].add(service)
        return refused


def _named_services(item: Incoming) -> list[OriginKey]:
    batch = item.batch
    names = [service.key for service in batch.inventory.services] if batch.inventory is not None else []
    for heat in batch.heat:
        names.extend(dict.fromkeys(heat.services))
    for gap in batch.gaps:
        names.extend(dict.fromkeys(gap.services))
    names.extend(epoch.service for epoch in batch.tile_epochs)
    names.extend(sample.service for sample in batch.page_samples)
    return [(item.host.origin, key) for key in dict.fromkeys(names)]


def _unfit_layout(item: Incoming, registry: Registry) -> TierscopeError | None:
    for block in item.batch.counters:
        layout = registry.layout(block.layout_hash)
        if layout is None:
            return UnknownLayout(f"layout {block.layout_hash.hex()} is not known")
        if layout.width != block.values.shape[1]:
            return Unreadable(
                f"counters.values has rows of {block.values.shape[1]}, their layout has {layout.width} keys"
            )
    return None


def _stored(tally: Tally) -> Stored:
    return Stored(
        duplicate=False,
        rows=dict(tally.rows),
        too_late=tally.too_late,
        set_aside=tally.set_aside,
        warnings=tuple(tally.warnings),
    )
