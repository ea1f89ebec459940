"""The clock of a group: when it says what, from the changes of its alerts and what its receiver was told before.

A change counts from its own time, and what was due before it is flushed before it is taken in: a notifier that was away
sends the same notifications when it is back. A receiver is told that an alert fires unless it is muted, and that it is
resolved only if it was told that it fires; a resolution is sent even while muted, so that nobody waits for an incident
that is over.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from tierscope.domain.notifications.routes import Timing

_NEVER_SECONDS = 1e9
MemberState = Literal["firing", "resolved"]
Reason = Literal["firing", "resolved", "repeat", "test"]


@dataclass(frozen=True, slots=True)
class Member:
    """An alert in a group, by fingerprint: `alert_id` is of this time that it comes.

    `told_alert_id`: of which alert the receiver was last told that it fires; None = of none, or told it is resolved.
    """

    fingerprint: str
    alert_id: str
    state: MemberState
    changed_at: datetime
    told_alert_id: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A group between two notifications. `notified_at` is when it was last flushed; None = never."""

    key: str
    timing: Timing
    members: Mapping[str, Member] = field(default_factory=dict)
    notified_at: datetime | None = None
    keeps_alive: bool = False
    """The receiver forgets alerts that are not sent again: repeats go on for acknowledged ones too."""


@dataclass(frozen=True, slots=True)
class Flush:
    """One notification of a group: fingerprints of alerts that fire, and of those that are resolved."""

    at: datetime
    reason: Reason
    firing: tuple[str, ...]
    resolved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MutedAlerts:
    """Which alerts, by alert id, are muted at a moment, and which are acknowledged, so that they are not repeated."""

    muted: Callable[[Member, datetime], bool] = lambda _member, _at: False
    acknowledged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """An alert began to fire, or was resolved."""

    fingerprint: str
    alert_id: str
    state: MemberState
    at: datetime


def take_changes(group: Group, changes: Iterable[Change]) -> Group:
    """The group after changes, in their order.

    What is resolved before its receiver heard of it is forgotten; what is resolved and fires again under a new id is
    sent again, and resolved once.
    """
    members = dict(group.members)
    for change in changes:
        before = members.get(change.fingerprint)
        after = _begin(before, change) if change.state == "firing" else _end(before, change)
        if after is not None:
            members[change.fingerprint] = after
        elif before is not None:
            del members[change.fingerprint]
    return replace(group, members=members)


def _begin(before: Member | None, change: Change) -> Member:
    if before is not None and before.alert_id == change.alert_id and before.state == "firing":
        return before
    told = None if before is None else before.told_alert_id
    return Member(change.fingerprint, change.alert_id, "firing", change.at, told)


def _end(before: Member | None, change: Change) -> Member | None:
    if before is None or before.alert_id != change.alert_id or before.state == "resolved":
        return before
    return None if before.told_alert_id is None else replace(before, state="resolved", changed_at=change.at)


def retire(group: Group) -> Group:
    """The group after its route went away: it sends resolutions of what it sent, and nothing more."""
    told = {name: member for name, member in group.members.items() if member.told_alert_id is not None}
    return replace(group, members=told, timing=replace(group.timing, repeat_interval_seconds=_NEVER_SECONDS))


def changes_due_at(group: Group, muted_alerts: MutedAlerts, now: datetime) -> datetime | None:
    """When the group is to be flushed because of changes; None where there is nothing new to say."""
    changed = [member.changed_at for member in group.members.values() if _is_news(member, muted_alerts, now)]
    if not changed:
        return None
    due = min(changed) + timedelta(seconds=group.timing.group_wait_seconds)
    if group.notified_at is None:
        return due
    return max(due, group.notified_at + timedelta(seconds=group.timing.group_interval_seconds))


def repeat_due_at(group: Group, muted_alerts: MutedAlerts, now: datetime) -> datetime | None:
    """When the group is to say again what still fires; None where nothing does, or all of it is acknowledged."""
    if group.notified_at is None:
        return None
    for member in group.members.values():
        heard = member.alert_id in muted_alerts.acknowledged and not group.keeps_alive
        if member.state == "firing" and _was_told(member) and not heard and not muted_alerts.muted(member, now):
            return group.notified_at + timedelta(seconds=group.timing.repeat_interval_seconds)
    return None


def flush(group: Group, now: datetime, muted_alerts: MutedAlerts) -> tuple[Group, Flush | None]:
    """What the group says at `now`, if anything is due, and the group after it."""
    due = changes_due_at(group, muted_alerts, now)
    if due is not None and due <= now:
        return _flush(group, now, muted_alerts, repeat=False)
    again = repeat_due_at(group, muted_alerts, now)
    if due is None and again is not None and again <= now:
        return _flush(group, now, muted_alerts, repeat=True)
    return group, None


def flush_before(group: Group, at: datetime, muted_alerts: MutedAlerts) -> tuple[Group, Flush | None]:
    """What was due about changes before a new one came in at `at`, flushed at the time at which it was due."""
    due = changes_due_at(group, muted_alerts, at)
    return (group, None) if due is None or due >= at else _flush(group, due, muted_alerts, repeat=False)


def _was_told(member: Member) -> bool:
    return member.told_alert_id == member.alert_id


def _is_news(member: Member, muted_alerts: MutedAlerts, now: datetime) -> bool:
    if member.state == "resolved":
        return member.told_alert_id is not None
    return not _was_told(member) and not muted_alerts.muted(member, now)


def _flush(group: Group, now: datetime, muted_alerts: MutedAlerts, *, repeat: bool) -> tuple[Group, Flush]:
    members: dict[str, Member] = {}
    firing: list[str] = []
    resolved: list[str] = []
    news = False
    for fingerprint, member in group.members.items():
        if member.state == "resolved":
            resolved.append(fingerprint)
        elif muted_alerts.muted(member, now):
            members[fingerprint] = member
        else:
            news = news or not _was_told(member)
            firing.append(fingerprint)
            members[fingerprint] = replace(member, told_alert_id=member.alert_id)
    reason: Reason = "repeat" if repeat else "firing" if news else "resolved"
    flushed = Flush(now, reason, tuple(sorted(firing)), tuple(sorted(resolved)))
    return replace(group, members=members, notified_at=now), flushed
