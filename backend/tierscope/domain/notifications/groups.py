"""The clock of a group: when it says what, from the changes of its alerts and what its receiver was told before.

A change counts from its own time, and what was due before it is said before it is taken in: a notifier that was away
says the same things when it is back. A receiver is told that an alert fires unless it is muted, and that it is resolved
only if it was told that it fires; that resolution is said even while muted, so that nobody waits for an incident that
is over.
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
    """A group between two notifications. `notified_at` is when it last spoke; None = never."""

    key: str
    timing: Timing
    members: Mapping[str, Member] = field(default_factory=dict)
    notified_at: datetime | None = None
    keeps_alive: bool = False
    """The receiver forgets alerts that are not sent again: repeats go on for acknowledged ones too."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a group says at a moment: fingerprints of alerts that fire, and of those that are resolved."""

    at: datetime
    reason: Reason
    firing: tuple[str, ...]
    resolved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hushed:
    """Which alerts, by alert id, are not to be said now, and which nobody needs to be reminded of."""

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
    said again, and resolved once.
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
    """The group after its route went away: it says the end of what it said, and nothing more."""
    told = {name: member for name, member in group.members.items() if member.told_alert_id is not None}
    return replace(group, members=told, timing=replace(group.timing, repeat_interval_seconds=_NEVER_SECONDS))


def changes_due_at(group: Group, hushed: Hushed, now: datetime) -> datetime | None:
    """When the group is to speak about changes; None where there is nothing new to say."""
    changed = [member.changed_at for member in group.members.values() if _is_news(member, hushed, now)]
    if not changed:
        return None
    due = min(changed) + timedelta(seconds=group.timing.group_wait_seconds)
    if group.notified_at is None:
        return due
    return max(due, group.notified_at + timedelta(seconds=group.timing.group_interval_seconds))


def repeat_due_at(group: Group, hushed: Hushed, now: datetime) -> datetime | None:
    """When the group is to say again what still fires; None where nothing does, or all of it is acknowledged."""
    if group.notified_at is None:
        return None
    for member in group.members.values():
        heard = member.alert_id in hushed.acknowledged and not group.keeps_alive
        if member.state == "firing" and _was_told(member) and not heard and not hushed.muted(member, now):
            return group.notified_at + timedelta(seconds=group.timing.repeat_interval_seconds)
    return None


def speak(group: Group, now: datetime, hushed: Hushed) -> tuple[Group, Utterance | None]:
    """What the group says at `now`, if anything is due, and the group after it."""
    due = changes_due_at(group, hushed, now)
    if due is not None and due <= now:
        return _say(group, now, hushed, repeat=False)
    again = repeat_due_at(group, hushed, now)
    if due is None and again is not None and again <= now:
        return _say(group, now, hushed, repeat=True)
    return group, None


def speak_before(group: Group, at: datetime, hushed: Hushed) -> tuple[Group, Utterance | None]:
    """What was due about changes before a new one came in at `at`, said at the time at which it was due."""
    due = changes_due_at(group, hushed, at)
    return (group, None) if due is None or due >= at else _say(group, due, hushed, repeat=False)


def _was_told(member: Member) -> bool:
    return member.told_alert_id == member.alert_id


def _is_news(member: Member, hushed: Hushed, now: datetime) -> bool:
    if member.state == "resolved":
        return member.told_alert_id is not None
    return not _was_told(member) and not hushed.muted(member, now)


def _say(group: Group, now: datetime, hushed: Hushed, *, repeat: bool) -> tuple[Group, Utterance]:
    members: dict[str, Member] = {}
    firing: list[str] = []
    resolved: list[str] = []
    news = False
    for fingerprint, member in group.members.items():
        if member.state == "resolved":
            resolved.append(fingerprint)
        elif hushed.muted(member, now):
            members[fingerprint] = member
        else:
            news = news or not _was_told(member)
            firing.append(fingerprint)
            members[fingerprint] = replace(member, told_alert_id=member.alert_id)
    reason: Reason = "repeat" if repeat else "firing" if news else "resolved"
    said = Utterance(now, reason, tuple(sorted(firing)), tuple(sorted(resolved)))
    return replace(group, members=members, notified_at=now), said
