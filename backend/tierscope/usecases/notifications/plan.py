"""Computes due notifications: changes of alerts are routed into groups, and groups that are due are flushed.

All of it is one transaction: the position behind the changes that were read moves together with the groups and the
outbox, so that a notifier that dies at any moment neither loses a change nor takes one in twice.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tierscope.core.database import WriteTransaction
from tierscope.domain.notifications.content import MAX_ALERTS, SentAlert
from tierscope.domain.notifications.groups import (
    Change,
    Flush,
    Group,
    Member,
    MutedAlerts,
    flush,
    flush_before,
    retire,
    take_changes,
)
from tierscope.domain.notifications.receivers import Receiver
from tierscope.domain.notifications.routes import Destination
from tierscope.domain.notifications.routing import Routing
from tierscope.domain.notifications.silences import FiringAlert, Muting
from tierscope.storage.notifications import groups as stored
from tierscope.storage.notifications.groups import AlertEvent, NotifierState, StoredGroup
from tierscope.storage.notifications.outbox import NewNotification, insert_notification, waiting_groups
from tierscope.storage.notifications.routes import StoredRouting, read_stored_routing
from tierscope.storage.notifications.silences import acknowledged_alerts, silences_in_force

BATCH = 5000
"""Changes that are taken in at once; the rest follows in the next run."""


@dataclass(slots=True)
class Planned:
    """What one run of planning did: changes taken in, notifications put into the outbox, whether more wait."""

    changes: int = 0
    notifications: int = 0
    more: bool = False


@dataclass(slots=True)
class Plan:
    """One run: the groups that it touches, as they were and as they are."""

    transaction: WriteTransaction
    now: datetime
    routing: Routing
    muted_alerts: MutedAlerts = field(default_factory=MutedAlerts)
    before: dict[str, StoredGroup] = field(default_factory=dict)
    groups: dict[str, StoredGroup] = field(default_factory=dict)
    planned: Planned = field(default_factory=Planned)
    waiting: set[str] = field(default_factory=set)
    places: dict[str, set[str]] = field(default_factory=dict)
    """Which groups hold an alert, by fingerprint."""
    queues: dict[str, list[AlertEvent]] = field(default_factory=dict)
    """Changes of one moment that a group has not taken in yet: it takes them in together."""

    def load(self, groups: Iterable[StoredGroup]) -> None:
        """Takes in groups as they are stored; those that are here already stay as they are."""
        for group in groups:
            if group.group.key not in self.groups:
                self.before[group.group.key] = self.groups[group.group.key] = group
                for fingerprint in group.group.members:
                    self.places.setdefault(fingerprint, set()).add(group.group.key)

    def take(self, event: AlertEvent) -> None:
        """Takes in one change: a new alert goes where the routes lead, an old one is over wherever it was flushed."""
        places = self.places.setdefault(event.alert.fingerprint, set())
        keys: Iterable[str] = places
        if event.state == "firing":
            keys = [self._group_of(place, event.alert) for place in self.routing.destinations(event.alert.labels)]
            places.update(keys)
        for key in keys:
            queue = self.queues.setdefault(key, [])
            if queue and event.at > queue[-1].at:
                self._take_queue(key)
            self.queues.setdefault(key, []).append(event)

    def _group_of(self, destination: Destination, alert: SentAlert) -> str:
        key = destination.group_key(alert.labels)
        if key not in self.groups:
            receiver = self.routing.receiver(destination.receiver)
            keeps_alive = receiver is not None and receiver.keeps_alive
            group = Group(key, destination.timing, keeps_alive=keeps_alive)
            labels = destination.group_labels(alert.labels)
            self.groups[key] = StoredGroup(destination.receiver, labels, group, {})
        return key

    def _take_queue(self, key: str) -> None:
        queue = self.queues.pop(key)
        held = self.groups[key]
        group, flushed = flush_before(held.group, queue[0].at, self.muted_alerts)
        self._put(held, group, flushed)
        held = self.groups[key]
        changes = (Change(event.alert.fingerprint, event.alert.id, event.state, event.at) for event in queue)
        group = take_changes(held.group, changes)
        alerts = dict(held.alerts)
        for event in queue:
            member = group.members.get(event.alert.fingerprint)
            if member is not None and (member.alert_id, member.state) == (event.alert.id, event.state):
                alerts[member.fingerprint] = event.alert
        self.groups[key] = replace(held, group=group, alerts=alerts)

    def take_rest(self) -> None:
        """Lets every group take in what is left."""
        for key in list(self.queues):
            self._take_queue(key)

    def flush(self) -> None:
        """Flushes every group that is due."""
        for held in list(self.groups.values()):
            group, flushed = flush(held.group, self.now, self.muted_alerts)
            self._put(held, group, flushed)

    def _put(self, held: StoredGroup, group: Group, flushed: Flush | None) -> None:
        self.groups[group.key] = replace(held, group=group)
        receiver = self.routing.receiver(held.receiver)
        if flushed is None or receiver is None:
            return
        if flushed.reason == "repeat" and group.key in self.waiting:
            return  # what waits to be sent is the same
        for new in make_notifications(receiver, held, flushed):
            if insert_notification(self.transaction, new):
                self.planned.notifications += 1
                self.waiting.add(group.key)

    def store(self) -> None:
        """Writes what has changed."""
        for key, group in self.groups.items():
            before = self.before.get(key)
            if group is not before and (before is None or group.group != before.group):
                stored.write_group(self.transaction, group, before)


def plan_notifications(transaction: WriteTransaction, now: datetime) -> Planned:
    """Takes in what has changed and puts what is due into the outbox."""
    state = stored.read_notifier(transaction) or NotifierState(0, 0)
    configured = read_stored_routing(transaction)
    events, position = stored.read_changes(transaction, state.position, BATCH)
    plan = Plan(transaction, now, configured.routing, waiting=waiting_groups(transaction))
    plan.planned.changes = len(events)
    plan.planned.more = position - state.position >= BATCH
    if configured.version != state.routing_version:
        _reroute(plan, configured)
        events = [*stored.read_firing(transaction), *events]
    keys = {
        destination.group_key(event.alert.labels)
        for event in events
        if event.state == "firing"
        for destination in plan.routing.destinations(event.alert.labels)
    }
    fingerprints = [event.alert.fingerprint for event in events]
    plan.load(stored.read_groups(transaction, keys=keys, fingerprints=fingerprints, now=now))
    if not plan.planned.more:
        events = [*events, *stored.read_lost(transaction, now, position)]
        plan.load(stored.read_groups(transaction, fingerprints=[event.alert.fingerprint for event in events]))
    plan.muted_alerts = _muted_alerts(plan, events)
    for event in events:
        plan.take(event)
    plan.take_rest()
    if not plan.planned.more:
        plan.flush()
    plan.store()
    stored.write_notifier(transaction, NotifierState(position, configured.version), now)
    return plan.planned


def _reroute(plan: Plan, configured: StoredRouting) -> None:
    """The routes have changed: groups take their new timing. One that no route leads to any more only says its end."""
    for held in stored.read_groups(plan.transaction, every=True):
        receiver = configured.routing.receiver(held.receiver)
        if receiver is None:
            stored.drop_group(plan.transaction, held.group.key)
            continue
        places = {
            destination.group_key(alert.labels): destination.timing
            for alert in held.alerts.values()
            for destination in configured.routing.destinations(alert.labels)
        }
        timing = places.get(held.group.key)
        plan.load([held])
        plan.groups[held.group.key] = replace(
            held, group=retire(held.group) if timing is None else replace(held.group, timing=timing)
        )


def _muted_alerts(plan: Plan, events: Sequence[AlertEvent]) -> MutedAlerts:
    """What is muted at a moment. Sources of inhibitions are those that fire now."""
    transaction = plan.transaction
    since = min([plan.now, *(event.at for event in events)])
    silences = silences_in_force(transaction, since)
    inhibitions = plan.routing.inhibitions
    firing = stored.read_firing(transaction) if inhibitions else []
    sources = [FiringAlert(event.alert.id, event.alert.labels) for event in firing]
    at_moment: dict[datetime, Muting] = {}
    labels = {event.alert.id: event.alert.labels for event in events}
    for held in plan.groups.values():
        labels.update({alert.id: alert.labels for alert in held.alerts.values()})

    def muted(member: Member, at: datetime) -> bool:
        if not silences and not sources:
            return False
        muting = at_moment.get(at)
        if muting is None:
            muting = at_moment.setdefault(at, Muting(at, silences, inhibitions, sources))
        return bool(muting.judge(member.alert_id, labels.get(member.alert_id, {})))

    return MutedAlerts(muted, acknowledged_alerts(transaction))


def make_notifications(receiver: Receiver, held: StoredGroup, flushed: Flush) -> list[NewNotification]:
    """A flushed group as notifications: one, or several where a receiver must get all of very many alerts."""
    resolved = flushed.resolved if receiver.sends_resolved else ()
    alerts = [held.alerts[fingerprint] for fingerprint in (*flushed.firing, *resolved)]
    if not alerts:
        return []
    size = MAX_ALERTS[receiver.kind]
    if len(alerts) > size and not receiver.keeps_alive:
        # What is left out is what was sent before.
        members = held.group.members
        alerts.sort(key=lambda alert: alert.is_firing and members[alert.fingerprint].told_alert_id == alert.id)
    parts = [alerts[at : at + size] for at in range(0, len(alerts), size)] if receiver.keeps_alive else [alerts[:size]]
    told = ",".join(alert.id for alert in alerts)
    content = f"{held.group.key}|{held.group.notified_at}|{len(flushed.firing)}|{flushed.reason}|{told}"
    if flushed.reason == "repeat":
        content += f"|{flushed.at}"
    return [
        NewNotification(
            public_id="n" + secrets.token_hex(8),
            key=hashlib.sha256(f"{content}|{number}".encode()).hexdigest(),
            group_key=held.group.key,
            group_labels=dict(held.labels),
            receiver=receiver.name,
            kind=receiver.kind,
            reason=flushed.reason,
            firing=len(flushed.firing),
            resolved=len(resolved),
            alerts=tuple(part),
            more_alerts=0 if receiver.keeps_alive else len(alerts) - len(part),
            created_at=flushed.at,
        )
        for number, part in enumerate(parts)
    ]
