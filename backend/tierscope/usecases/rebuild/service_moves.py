"""From ledgers of hosts: per hour of a service what each of its hosts counted since midnight, and lines over all."""

from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import day_of
from tierscope.domain.ledger import COLUMN_KEYS
from tierscope.domain.ledger.gathered import Gathered, add, nothing, subtract
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.base.subjects import hosts_of_service
from tierscope.storage.ledger.services import (
    MovesHour,
    list_resets,
    read_moves_hours,
    read_since_midnight,
    replace_moves_hour,
    sum_hour,
)

_DAY = timedelta(days=1)


def rebuild_service_moves_1h(transaction: WriteTransaction, claimed: Claim) -> None:
    """Sum the claimed hours again, and carry what changed over to the later hours of their days."""
    hosts = [host.id for host in hosts_of_service(transaction, claimed.service_id)]
    by_day: dict[datetime, list[datetime]] = {}
    for hour in claimed.buckets:
        by_day.setdefault(day_of(hour), []).append(hour)
    for midnight, hours in by_day.items():
        _rebuild_day(transaction, claimed.service_id, hosts, midnight, hours)


def _rebuild_day(
    transaction: WriteTransaction, service_id: int, hosts: list[int], midnight: datetime, claimed: list[datetime]
) -> None:
    stored = {hour.start: hour for hour in read_moves_hours(transaction, service_id, midnight, midnight + _DAY)}
    states = read_since_midnight(transaction, service_id, list(stored))
    # Of the service's own cgroups and of whole hosts apart: their sums are never mixed.
    before: dict[bool, Gathered] = {}
    state: dict[bool, Gathered] = {}
    for start in sorted({*stored, *claimed}):
        hour = stored.get(start)
        if start < claimed[0]:
            if hour is not None:
                before[hour.own] = state[hour.own] = states[start]
            continue
        if hour is None or start in claimed:
            counted, own = sum_hour(transaction, service_id, hosts, start)
        else:
            counted, own = subtract(states[start], before.get(hour.own, nothing())), hour.own
        if hour is not None:
            before[hour.own] = states[start]
        if not len(counted.host_ids):
            replace_moves_hour(transaction, service_id, None, start, counted)
            continue
        state[own] = add(state.get(own, nothing()), counted)
        if hour is None or start in claimed:
            scope = service_id if own else 0
            resets = tuple(list_resets(transaction, scope, hosts, start, _used(state[own])))
        else:
            resets = hour.resets
        made = MovesHour(start, own, len(counted.host_ids), counted.rates(), resets)
        replace_moves_hour(transaction, service_id, made, start, state[own])


def _used(state: Gathered) -> dict[int, frozenset[str]]:
    """The columns that each host has had since midnight."""
    keys = np.array(COLUMN_KEYS)
    return {
        host: frozenset(keys[state.counts[:, place] > 0].tolist()) for place, host in enumerate(state.host_ids.tolist())
    }
