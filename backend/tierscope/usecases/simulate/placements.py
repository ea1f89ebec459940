"""Placements by replay: what the policy of a service's hosts makes of its sampled pages, kept for ratio advice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter

from tierscope.core.clock import Clock, was_within
from tierscope.core.database import Database, ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.knobs.machine import read_host
from tierscope.domain.knobs.policy import HostPolicy, policy_of_hosts
from tierscope.domain.simulate import Costs, PolicyName
from tierscope.domain.simulate.sampled import LEAD_INTERVALS, SampledTrace
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace, replay_run
from tierscope.domain.slowdown import ShareOnSlow
from tierscope.storage.base.subjects import hosts_of_service
from tierscope.storage.curve.page_samples import newest_sample
from tierscope.storage.fleet.hosts import read_inventories
from tierscope.storage.simulate.placements import find_placement, store_placement
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.curve.pages import NOT_SAMPLED
from tierscope.usecases.simulate.samples import ChosenSamples, choose_samples, read_traces

SPAN = timedelta(days=1)
EVERY = timedelta(hours=20)
"""A replay is repeated after so long; sooner while its samples can have doubled, and where hosts run another policy."""
HOLDS = timedelta(days=3)
"""Older ones are not used."""
MAX_HOSTS = 8
MAX_TOUCHED = 2_000_000
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
STAND_IN_SD = 0.4
"""Of ln share: what a policy replayed on counts differs from its stand-in on accessed bits (docs/method/ratio.md)."""
WARM_UP_RATIO = 0.25
"""Part of the trace in which the policy finds its state, which at the beginning is not known [A]."""


@dataclass(frozen=True, slots=True)
class ReplayedPlacement:
    """Share of accesses outside DRAM under a policy, at parts of the peak that DRAM holds, the smallest first.

    `intervals`, `hosts` and `samples` stand behind it: `observed_days` of the host that was observed longest. Settings
    are those that differ from the policy's defaults. `stand_in`: what was replayed in place of the policy; its error is
    in the shares.
    """

    policy: str
    settings: dict[str, float]
    start: datetime
    end: datetime
    shares: tuple[tuple[float, ShareOnSlow], ...]
    n_hosts: int
    n_samples: int
    n_intervals: int
    warm_up_intervals: int
    method: str
    observed_days: float = 1.0
    stand_in: PolicyName | None = None


_PLACEMENT = TypeAdapter(ReplayedPlacement)


@dataclass(frozen=True, slots=True)
class RunningPolicy:
    """The policy that most of a service's hosts run: `n_running` of `n_hosts`."""

    policy: HostPolicy
    n_running: int
    n_hosts: int


@dataclass(frozen=True, slots=True)
class FoundPlacement:
    """A stored replay with when it was made, or why there is none. `lacks`: what would have to be sampled for one."""

    running: RunningPolicy
    placement: ReplayedPlacement | None
    made_at: datetime | None
    why_not: str | None
    lacks: str | None = None


def read_running_policy(session: ReadSession, service_id: int, asked: PolicyName | None = None) -> RunningPolicy:
    """What the service's hosts run, by their newest inventories; `asked` where these do not say."""
    ids = [host.id for host in hosts_of_service(session, service_id)]
    hosts = [read_host(body) for _, body in read_inventories(session, ids).values()]
    policy, count = policy_of_hosts(hosts, asked)
    return RunningPolicy(policy, count, len(hosts))


def find_replay(
    session: ReadSession, service_id: int, now: datetime, asked: PolicyName | None = None
) -> FoundPlacement:
    """The stored replay under the policy that the hosts run now, else `asked`; or why it cannot be used."""
    running = read_running_policy(session, service_id, asked)
    row = find_placement(session, service_id, running.policy.policy)
    label = running.policy.label
    if row is None:
        lacks = _read_newest(session, service_id)
        if isinstance(lacks, str):
            why = f"its page samples are too few to be replayed under {label}"
            return FoundPlacement(running, None, None, why, lacks)
        why = f"its page samples were not replayed under {label} yet"
        return FoundPlacement(running, None, None, why)
    found = _PLACEMENT.validate_python(row.body)
    why_not = None
    if found.settings != dict(running.policy.settings):
        why_not = f"its page samples were replayed under other settings of {label} than its hosts have now"
    elif now - row.made_at > HOLDS:
        why_not = f"its last replay under {label} is older than {HOLDS.days} days"
    elif not found.shares:
        why_not = f"its last replay under {label} came to nothing"
    return FoundPlacement(running, None if why_not else found, row.made_at, why_not)


class ReplayPlacements:
    """Makes the replays."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def refresh_named(self, public_id: str, asked: PolicyName | None = None) -> bool:
        """The same as `refresh` for a service by its public id.

        Raises:
            NotFound: there is no such service.
            RuntimeError: the compiled core is not built.
        """
        with self._database.read() as session:
            service = require_service(session, public_id)
        return self.refresh(service.id, asked)

    def refresh(self, service_id: int, asked: PolicyName | None = None) -> bool:
        """Replay a service's newest page samples unless that was done of late; whether it was.

        `asked`: the policy for hosts whose settings are not known.

        Raises:
            RuntimeError: the compiled core is not built.
        """
        now = self._clock()
        with self._database.read() as session:
            running = read_running_policy(session, service_id, asked)
            before = find_placement(session, service_id, running.policy.policy)
            same = before is not None and before.body["settings"] == dict(running.policy.settings)
            if before is not None and same and was_within(_good_for(before.body), before.made_at, now):
                return False
            made = replay_service(session, service_id, running.policy, now)
        if made is None:
            return False
        with self._database.write() as transaction:
            body = _PLACEMENT.dump_python(made, mode="json")
            store_placement(transaction, service_id, running.policy.policy, now, body)
        return True


def _good_for(body: Mapping[str, Any]) -> timedelta:
    """How long a replay stands: as long as what it was made from, at most `EVERY`."""
    return min(timedelta(days=_PLACEMENT.validate_python(body).observed_days), EVERY)


def _read_newest(session: ReadSession, service_id: int) -> tuple[Window, ChosenSamples] | str:
    """The day up to the newest page sample with its blocks; or what they lack, in words."""
    end = newest_sample(session, service_id, None)
    if end is None:
        return NOT_SAMPLED
    window = Window(end - SPAN, end)
    chosen = choose_samples(session, service_id, window, most_hosts=MAX_HOSTS, most_touched=MAX_TOUCHED)
    if chosen is None:
        return NOT_SAMPLED
    return chosen.missing() or (window, chosen)


def _replay_shares(
    traces: Sequence[HostTrace], policy: HostPolicy, *, interval_s: float, warm_up_intervals: int
) -> tuple[tuple[float, ShareOnSlow], ...] | None:
    """Share of accesses outside DRAM at each of `SHARES` of the peak; None where no accesses are left to count."""
    conditions = Conditions(Costs(), interval_s=interval_s, warm_up_intervals=warm_up_intervals)
    found = []
    for share in SHARES:
        away = replay_run(traces, policy.at(share), conditions).away
        if away is None:
            return None
        found.append((share, away))
    return tuple(found)


def replay_service(
    session: ReadSession, service_id: int, policy: HostPolicy, now: datetime
) -> ReplayedPlacement | None:
    """Replay the day up to the newest page sample at several DRAM shares; None where there is too little of it."""
    newest = _read_newest(session, service_id)
    if isinstance(newest, str):
        return None
    window, chosen = newest
    sampled = read_traces(session, service_id, chosen, window, now=now)
    if not sampled:
        return None
    return replay_sampled(list(sampled.values()), policy, chosen, window)


def replay_sampled(
    sampled: Sequence[SampledTrace], policy: HostPolicy, chosen: ChosenSamples, window: Window
) -> ReplayedPlacement | None:
    """Replay hosts' sampled pages at several DRAM shares; None where no accesses are left to count.

    Raises:
        RuntimeError: the compiled core is not built.
    """
    warm_up = int(min(one.n_intervals for one in sampled) * WARM_UP_RATIO)
    stand_in = None if chosen.counts else policy.stand_in()
    traces = [HostTrace.of_sample(one, lead_intervals=LEAD_INTERVALS) for one in sampled]
    shares = _replay_shares(traces, stand_in or policy, interval_s=chosen.interval_s, warm_up_intervals=warm_up)
    if shares is None:
        return None
    if stand_in is not None:
        shares = tuple((share, away.widened(STAND_IN_SD, most=1.0 - share)) for share, away in shares)
    longest = max(one.n_intervals for one in sampled)
    return ReplayedPlacement(
        policy=policy.policy,
        settings=dict(policy.settings),
        start=window.start,
        end=window.end,
        shares=shares,
        n_hosts=len(sampled),
        n_samples=sum(one.n_samples for one in sampled),
        n_intervals=longest,
        warm_up_intervals=warm_up,
        method=chosen.method.family,
        observed_days=longest * chosen.interval_s / SPAN.total_seconds(),
        stand_in=None if stand_in is None else stand_in.policy,
    )
