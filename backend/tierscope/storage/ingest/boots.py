"""Hosts and boots of a group, and the sign of a clone: two boot ids that alternate under one host id.

One machine never goes back to a boot id that it left. So a batch of an earlier boot, sealed after a later boot began to
seal, comes from another machine with the same identity; the later boot is the copy, and is refused from then on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.core.errors import ClonedHost, HostMoving, TierscopeError, Unavailable, UnknownCredential
from tierscope.storage.ingest.incoming import Incoming

MOVING_SECONDS = 15
"""After how long a host that moves is asked to send again."""


@dataclass(slots=True)
class Boot:
    """A boot of a host."""

    id: int
    boot_id: str
    first_sealed_at: datetime
    cloned_at: datetime | None


@dataclass(slots=True)
class HostState:
    """A locked host row with its boots."""

    id: int
    public_id: str
    boot_id: str | None
    revoked: bool
    held_seconds: int
    """How long its plan lets it hold samples back."""
    moving: bool = False
    """Whether its rows are being copied to another server."""
    boots: dict[str, Boot] = field(default_factory=dict)
    cloned: list[tuple[Boot, Boot]] = field(default_factory=list)
    """(the one that stays, the copy), found in this group."""


def lock_hosts(transaction: WriteTransaction, host_ids: Iterable[int]) -> dict[int, HostState]:
    """Locks hosts in order of id and reads their boots. Those that move are not locked: nobody waits for a move."""
    ids = sorted(set(host_ids))
    columns = "SELECT id, public_id, boot_id, revoked_at, held_seconds FROM hosts WHERE id = ANY(%(ids)s::bigint[])"
    rows = transaction.ask(
        f"{columns} AND (moving_until IS NULL OR moving_until <= now()) ORDER BY id FOR NO KEY UPDATE", {"ids": ids}
    )
    states = {row.id: _state(row, moving=False) for row in rows}
    if len(states) < len(ids):
        # Those that moved a moment ago count as moving, as they are not locked.
        others = transaction.ask(columns, {"ids": [host_id for host_id in ids if host_id not in states]})
        states |= {row.id: _state(row, moving=True) for row in others}
    boots = transaction.ask(
        "SELECT id, host_id, boot_id, first_sealed_at, cloned_at FROM boots WHERE host_id = ANY(%(ids)s::bigint[])",
        {"ids": sorted(states)},
    )
    for row in boots:
        states[row.host_id].boots[row.boot_id] = Boot(row.id, row.boot_id, row.first_sealed_at, row.cloned_at)
    return states


def _state(row: Any, *, moving: bool) -> HostState:  # noqa: ANN401 - a row of the driver
    return HostState(row.id, row.public_id, row.boot_id, row.revoked_at is not None, row.held_seconds, moving=moving)


def refusal(item: Incoming, state: HostState | None, *, is_new: bool, now: datetime) -> TierscopeError | None:
    """Returns why a batch is refused before its number is looked at; notes a clone that it reveals."""
    if state is not None and state.public_id != item.host.public_id:
        # Its credential was checked before a restore, which gave its number to another one.
        return Unavailable(f"host {item.host.public_id} has to be looked up again", retry_after_seconds=1)
    if state is None or state.revoked:
        return UnknownCredential(f"host {item.host.public_id} was revoked")
    if state.moving:
        return HostMoving(
            f"host {item.host.public_id} moves to another database server", retry_after_seconds=MOVING_SECONDS
        )
    batch = item.batch
    boot = state.boots.get(batch.boot_id)
    if boot is not None and boot.cloned_at is not None:
        return ClonedHost(
            f"boot {batch.boot_id} of host {item.host.public_id} sends beside boot {state.boot_id}: one is a copy"
        )
    current = state.boots.get(state.boot_id) if state.boot_id else None
    if boot is None or current is None or boot is current or batch.origin != "live" or not is_new:
        return None
    if sealed_at(item) > current.first_sealed_at:
        current.cloned_at = now
        state.cloned.append((boot, current))
        state.boot_id = boot.boot_id
    return None


def ensure_boots(transaction: WriteTransaction, item: Incoming, state: HostState) -> None:
    """Stores the boots that a batch names; the one that sealed it becomes the host's present one."""
    batch = item.batch
    sealed = sealed_at(item)
    named = {boot for block in batch.counters if block.boot_ids is not None for boot in block.boot_ids}
    for boot_id in sorted({batch.boot_id, *named}):
        values = {"host": state.id, "boot": boot_id, "sealed": sealed}
        if boot_id in state.boots:
            continue
        row = transaction.execute(
            text(
                "INSERT INTO boots (host_id, boot_id, first_sealed_at, last_sealed_at)"
                " VALUES (:host, :boot, :sealed, :sealed) RETURNING id"
            ),
            values,
        ).one()
        state.boots[boot_id] = Boot(row.id, boot_id, sealed, None)
        if boot_id == batch.boot_id and boot_id:
            state.boot_id = boot_id


def touch_boots(transaction: WriteTransaction, seen: dict[int, datetime], states: Iterable[HostState]) -> None:
    """Notes when boots were last heard of, and which are copies."""
    if seen:
        transaction.ask(
            "UPDATE boots SET last_seen_at = now(), last_sealed_at = greatest(last_sealed_at, s.sealed)"
            " FROM unnest(%(ids)s::bigint[], %(sealed)s::timestamptz[]) AS s (boot, sealed) WHERE id = s.boot",
            {"ids": sorted(seen), "sealed": [seen[boot] for boot in sorted(seen)]},
        )
    copies = [{"id": copy.id, "cloned": copy.cloned_at} for state in states for _, copy in state.cloned]
    if copies:
        transaction.execute(text("UPDATE boots SET cloned_at = :cloned WHERE id = :id"), copies)


def sealed_at(item: Incoming) -> datetime:
    """When the host says that it sealed the batch."""
    return datetime.fromtimestamp(item.batch.sealed_wall_ns / 1e9, tz=UTC)
