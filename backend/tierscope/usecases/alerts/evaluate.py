"""Live evaluation: judges every minute that has become complete, once, whichever worker comes first.

One evaluator works at a time, under an advisory lock. Where each rule stands is stored in the transaction that writes
its alerts, so that a restart, or a worker that dies, neither loses a minute nor judges one twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.clock import Clock
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.alerts.evaluating import evaluate, measure
from tierscope.domain.alerts.frame import MINUTE_S, Frame, Ints
from tierscope.domain.alerts.machine import LEVEL_NAMES, Level, States, follow, start_states
from tierscope.domain.alerts.rules import CheckedRule, Scope, check_rule
from tierscope.domain.alerts.vocabulary import AGE, DAYS_EARLY, DAYS_MEDIAN, ScopeKind
from tierscope.domain.fleet.sending import CLOSELY, NOTED_EVERY
from tierscope.storage.alerts.rows import StoredStates, lock_alerts, open_alerts_of, read_states, store_states
from tierscope.storage.alerts.rule_sources import read_subject_services
from tierscope.storage.alerts.rules import RuleRow, list_rules
from tierscope.storage.fleet.sending import look_closely
from tierscope.storage.nodes.rows import read_nodes
from tierscope.usecases.alerts.episodes import RuleEpisodes
from tierscope.usecases.alerts.forecasts import record_forecasts
from tierscope.usecases.alerts.frames import ARRIVAL_SECONDS, SETTLING_SECONDS, read_frame
from tierscope.usecases.alerts.rules import store_shipped
from tierscope.usecases.alerts.standing import join_states, pack_states, unpack_states
from tierscope.usecases.alerts.subjects import Fleet, Subject

MOST_MINUTES = 360
"""After a longer pause evaluation restarts at this distance: what lay before is not judged."""
_MINUTES_AT_ONCE = 60


@dataclass(slots=True)
class Evaluated:
    """What one run did. `busy`: another evaluator was at work."""

    minutes: int = 0
    changes: int = 0
    failed: list[str] = field(default_factory=list)
    busy: bool = False


@dataclass(slots=True)
class _Standing:
    """A rule that is being evaluated, with its subjects and their states."""

    row: RuleRow
    checked: CheckedRule
    subjects: list[Subject]
    ids: Ints
    states: States
    evaluated_to: int
    target: int
    """The newest minute of which everything has come in time that its hosts send."""
    elsewhere: tuple[Ints, States] | None = None
    """Subjects that are not seen, with their states, while a server of the fleet is away; None = none is."""


class EvaluateRules:
    """Evaluates all enabled rules up to the newest complete minute."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def run(self) -> Evaluated:
        """Judge what has become complete since the last run; at most an hour of minutes in one transaction."""
        done = Evaluated()
        target = newest_complete(self._clock())
        while True:
            with self._database.write() as transaction:
                if not lock_alerts(transaction, wait=False):
                    done.busy = True
                    return done
                if not self._advance(transaction, target, done):
                    return done

    def _advance(self, transaction: WriteTransaction, target: int, done: Evaluated) -> bool:
        """Judge some minutes; False when none is left."""
        now = self._clock()
        store_shipped(transaction, now=now)
        standings = self._standings(transaction, target, done)
        behind = [standing for standing in standings if standing.evaluated_to < standing.target]
        if not behind:
            return False
        first = min(standing.evaluated_to for standing in behind) + 1
        target = max(standing.target for standing in behind)
        last = min(target, first + _MINUTES_AT_ONCE - 1)
        if any({DAYS_MEDIAN, DAYS_EARLY} & standing.checked.inputs for standing in behind):
            services = {row.public_id: row for row in read_subject_services(transaction)}
            record_forecasts(transaction, services, (first, last))
        for group in _groups(behind):
            if group[0].target >= first:
                self._judge(transaction, group, (first, min(last, group[0].target)), now, done)
        self._look_closely(transaction, behind, now)
        done.minutes += last - first + 1
        return last < target

    def _standings(self, transaction: WriteTransaction, target: int, done: Evaluated) -> list[_Standing]:
        stored = read_states(transaction)
        some_away = any(node.away_since is not None for node in read_nodes(transaction))
        fleet = Fleet.read(transaction)
        by_scope: dict[Scope, list[Subject]] = {}
        found = []
        for row in list_rules(transaction):
            if not row.rule.enabled:
                continue
            checked, problems = check_rule(row.rule)
            if checked is None:
                done.failed.append(f"{row.rule.name}: {problems[0].message}")
                continue
            if row.rule.scope not in by_scope:
                by_scope[row.rule.scope] = fleet.subjects(row.rule.scope)
            subjects = by_scope[row.rule.scope]
            held = fleet.held_minutes(subjects)
            found.append(_stand(row, checked, subjects, stored.get(row.id), target - held, some_away=some_away))
        return found

    @staticmethod
    def _look_closely(transaction: WriteTransaction, standings: Sequence[_Standing], now: datetime) -> None:
        """Let hosts of which a rule that needs each minute is pending or firing send each minute for some time."""
        hosts: set[int] = set()
        for standing in standings:
            if standing.checked.needs_each_minute and standing.checked.rule.scope.kind != "fleet":
                active = np.isin(standing.states.level, (Level.PENDING, Level.FIRING))
                hosts.update(host for place in np.flatnonzero(active) for host in standing.subjects[place].host_ids)
        until = now + CLOSELY + NOTED_EVERY
        look_closely(transaction, sorted(hosts), until=until, rewrite_before=until - NOTED_EVERY)

    def _judge(
        self,
        transaction: WriteTransaction,
        group: list[_Standing],
        span: tuple[int, int],
        now: datetime,
        done: Evaluated,
    ) -> None:
        """Judge rules of one kind over the same minutes from one frame."""
        kind: ScopeKind = group[0].checked.rule.scope.kind
        subjects = {subject.id: subject for standing in group for subject in standing.subjects}
        lookback = max(standing.checked.lookback for standing in group)
        names = {name for standing in group for name in standing.checked.inputs if name != AGE}
        everyone = [subjects[key] for key in sorted(subjects)]
        frame = read_frame(transaction, kind, everyone, (span[0] - lookback, span[1]), names)
        rows = open_alerts_of(transaction, [standing.row.id for standing in group])
        for standing in group:
            own = {row.fingerprint: row for row in rows if row.rule_id == standing.row.id}
            episodes = RuleEpisodes(transaction, standing.row, standing.checked, own, now)
            done.changes += _follow(standing, frame, span, episodes)
            _store(transaction, standing, span[1])


def newest_complete(now: datetime) -> int:
    """The newest minute that may be judged where hosts send each minute: all that arrives in time has arrived."""
    return int((now.timestamp() - ARRIVAL_SECONDS - SETTLING_SECONDS) // MINUTE_S)


def _stand(
    row: RuleRow,
    checked: CheckedRule,
    subjects: list[Subject],
    stored: StoredStates | None,
    target: int,
    *,
    some_away: bool,
) -> _Standing:
    ids = np.array([subject.id for subject in subjects], np.int64)
    if stored is None or stored.version != row.version:
        none = (np.zeros(0, np.int64), start_states(0)) if some_away else None
        return _Standing(row, checked, subjects, ids, start_states(len(ids)), target - 1, target, none)
    states, unseen = unpack_states(stored.body, ids)
    reached = int(stored.evaluated_to.timestamp()) // MINUTE_S
    elsewhere = (unseen, unpack_states(stored.body, unseen)[0]) if some_away else None
    return _Standing(row, checked, subjects, ids, states, max(reached, target - MOST_MINUTES), target, elsewhere)


def _groups(standings: Sequence[_Standing]) -> list[list[_Standing]]:
    """Rules that share a frame: of one kind and as far as each other, and those that look far back for themselves."""
    groups: dict[tuple[ScopeKind, bool, int], list[_Standing]] = {}
    for standing in standings:
        key = (standing.checked.rule.scope.kind, AGE in standing.checked.inputs, standing.target)
        groups.setdefault(key, []).append(standing)
    return list(groups.values())


def _follow(standing: _Standing, frame: Frame, span: tuple[int, int], episodes: RuleEpisodes) -> int:
    """Step one rule through the minutes that it has not judged; how many changes there were."""
    inside = frame.of(standing.ids)
    count = span[1] - max(standing.evaluated_to, span[0] - 1)
    if count > 0:
        holds = evaluate(standing.checked.condition, inside)[:, -count:]
        recovery = standing.checked.recovery
        recovers = None if recovery is None else evaluate(recovery, inside)[:, -count:]
        values = measure(standing.checked.condition, inside)[:, -count:]
        frozen = _frozen(standing)
        standing.states, changes = follow(standing.states, holds, recovers, standing.checked.timing, frozen=frozen)
        minutes = frame.minutes[-count:]
        episodes.apply(changes, standing.subjects, minutes, values)
        at = datetime.fromtimestamp(int(minutes[-1]) * MINUTE_S, UTC)
        episodes.touch(standing.states, standing.subjects, values[:, -1], at)
        found = len(changes)
    else:
        found, at = 0, datetime.fromtimestamp(span[1] * MINUTE_S, UTC)
    if episodes.open and standing.elsewhere is None:
        episodes.drop_but(standing.subjects, at)
    return found


def _frozen(standing: _Standing) -> npt.NDArray[np.bool_] | None:
    """Subjects of several hosts that fire while a server is away: what they recover by may be what its hosts lack."""
    if standing.elsewhere is None or standing.checked.rule.scope.kind == "host":
        return None
    return np.asarray(standing.states.level == Level.FIRING, np.bool_)


def _store(transaction: WriteTransaction, standing: _Standing, reached: int) -> None:
    level = standing.states.level
    counts: dict[str, int] = {name: int((level == Level[name.upper()]).sum()) for name in LEVEL_NAMES}
    at = datetime.fromtimestamp(max(reached, standing.evaluated_to) * MINUTE_S, UTC)
    ids, kept = standing.ids, standing.states
    if standing.elsewhere is not None:
        ids, kept = np.concatenate([ids, standing.elsewhere[0]]), join_states(kept, standing.elsewhere[1])
    states = StoredStates(standing.row.version, at, pack_states(ids, kept))
    store_states(transaction, standing.row.id, states, counts)
