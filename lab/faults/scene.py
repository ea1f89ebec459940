"""One row of the matrix: agents and reporters at work, a fault in the middle, recovery, judgement."""

import itertools
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from factories.installations import enrol
from factories.waiting import until
from faults.oracle import Verdict, judge, key_of
from faults.processes import Agent, AgentPlace
from faults.proxy import Weather
from faults.reporters import Reporter
from faults.spools import waiting
from faults.stage import Stage
from faults.tap import Key, Tap

_numbers = itertools.count(1)
RECOVERY_SECONDS = 300.0


def let_pass(seconds: float) -> None:
    """Lets time pass where the fault is that something stays as it is for so long; nothing is awaited by it."""
    time.sleep(seconds)


@dataclass(slots=True)
class Scene:
    """What a fault works on. Hosts are new for each scene, so that its counts are its own."""

    stage: Stage
    rng: random.Random
    agents: list[Agent] = field(default_factory=list)
    reporters: list[Reporter] = field(default_factory=list)
    spooled: set[Key] = field(default_factory=set)
    """Batches that were seen on an agent's disk: they have to arrive."""
    others: set[str] = field(default_factory=set)
    """Hosts that are neither agents nor reporters."""
    host_losses: int = 0
    """Batches that an agent lost and has to have counted."""
    reported_losses: int = 0
    """What agents that have ended said of their losses."""
    skips_numbers: bool = False
    """Whether an agent leaves numbers out on purpose: after damage it cannot know which ones it had used."""
    notes: list[str] = field(default_factory=list)
    compare: bool = True
    """Whether rollups are held against an undisturbed run; not where the service rebuilt times."""
    _ended_hosts: set[str] = field(default_factory=set)

    def add_agent(self, place: AgentPlace | None = None) -> Agent:
        """A new agent that runs and has delivered."""
        made = self.stage.add_agent(f"a{next(_numbers)}", place)
        self.agents.append(made)
        made.start()
        until(made.has_delivered, f"{made.name} delivers")
        return made

    def add_reporters(self, count: int) -> None:
        """New reporters that run."""
        for _ in range(count):
            host = enrol(self.stage.database, name=f"r{next(_numbers)}")
            made = Reporter(self.stage.proxy.url, host)
            self.reporters.append(made)
            made.start()

    @property
    def hosts(self) -> set[str]:
        """All host ids of the scene."""
        running = {agent.host_id for agent in self.agents} | {reporter.host.id for reporter in self.reporters}
        return running | self._ended_hosts | self.others

    def pause(self, least_seconds: float, most_seconds: float) -> None:
        """Lets a random time pass."""
        let_pass(self.rng.uniform(least_seconds, most_seconds))

    def progress(self, batches: int = 1) -> None:
        """Waits until so many more batches have been acknowledged."""
        goal = self.stage.proxy.tap.taken() + batches
        until(lambda: self.stage.proxy.tap.taken() >= goal, f"{batches} more batches are acknowledged")

    def look_into_spools(self) -> None:
        """Notes what waits on the agents' disks: from now on it has to arrive."""
        for agent in self.agents:
            self.spooled |= keys_on_disk(agent)

    def kill_agent(self, agent: Agent) -> None:
        """SIGKILL to an agent; what is on its disk then has to arrive."""
        agent.kill()
        self.spooled |= keys_on_disk(agent)

    def finish(self, agent: Agent) -> None:
        """Ends an agent before the scene does, because what it lives on goes away; it has to have delivered all."""
        self.reported_losses += reported_losses(agent)
        self._ended_hosts.add(agent.host_id)
        agent.kill()
        self.agents.remove(agent)


def keys_on_disk(agent: Agent) -> set[Key]:
    """The batches in an agent's queue, by their own words."""
    return {key_of(kept.payload) for kept in waiting(agent.state_dir)}


@dataclass(frozen=True, slots=True)
class Row:
    """A fault."""

    name: str
    title: str
    play: Callable[[Scene], None]
    agents: int = 1
    reporters: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run of a row."""

    row: Row
    seed: int
    verdict: Verdict
    host_losses: int
    reported_losses: int
    recovery_seconds: float
    without_retry_after: list[str]
    refusals: list[str]
    spooled_missing: list[Key]
    hosts: frozenset[str]
    notes: tuple[str, ...]
    compare: bool
    skips_numbers: bool

    def faults(self) -> list[str]:
        """What is wrong; empty where the row passed."""
        verdict = self.verdict
        found = []
        if verdict.lost:
            found.append(f"{verdict.lost} acknowledged batches or samples of them are not stored")
        if verdict.stored_twice:
            found.append(f"{verdict.stored_twice} samples are stored twice")
        if verdict.acknowledged == 0:
            found.append("nothing was acknowledged at all")
        if verdict.stored != verdict.sent:
            found.append(f"{verdict.sent} batches were sent, {verdict.stored} are stored")
        if verdict.missing > self.reported_losses and not self.skips_numbers:
            found.append(f"{verdict.missing} batches never came, the agents report {self.reported_losses}")
        if self.host_losses > self.reported_losses:
            found.append(f"{self.host_losses} batches were destroyed, the agents report {self.reported_losses}")
        if self.spooled_missing:
            found.append(f"seen on an agent's disk and never stored: {self.spooled_missing[:3]}")
        if self.without_retry_after:
            found.append(f"answers without Retry-After: {self.without_retry_after[:2]}")
        if self.refusals:
            found.append(f"refused: {self.refusals[:2]}")
        return found


def play(stage: Stage, row: Row, seed: int) -> Outcome:
    """Runs a row once, with random points drawn from `seed`."""
    scene = Scene(stage, random.Random(f"{row.name}-{seed}"))  # noqa: S311 - no secret
    answered_badly = len(stage.proxy.tap.without_retry_after)
    try:
        for _ in range(row.agents):
            scene.add_agent()
        scene.add_reporters(row.reporters)
        scene.progress(3)
        row.play(scene)
        healed = time.monotonic()
        stage.proxy.change(Weather())
        scene.look_into_spools()
        _settle(scene)
        recovery_seconds = time.monotonic() - healed
        reported = scene.reported_losses + sum(reported_losses(agent) for agent in scene.agents)
        hosts = scene.hosts
        # From now on nothing new reaches the service: what has reached it can be counted.
        stage.proxy.change(Weather(requests="hold"))
        verdict = judge(stage.proxy.tap, stage.cluster.url(), hosts)
    finally:
        for reporter in scene.reporters:
            reporter.give_up()
        for agent in scene.agents:
            agent.kill()
        stage.proxy.change(Weather())
    acknowledged = set(stage.proxy.tap.acknowledged_of(hosts))
    return Outcome(
        row=row,
        seed=seed,
        verdict=verdict,
        host_losses=scene.host_losses,
        reported_losses=reported,
        recovery_seconds=recovery_seconds,
        without_retry_after=stage.proxy.tap.without_retry_after[answered_badly:],
        refusals=[text for reporter in scene.reporters for text in reporter.refusals],
        spooled_missing=sorted(scene.spooled - acknowledged),
        hosts=frozenset(hosts),
        notes=tuple(scene.notes),
        compare=scene.compare,
        skips_numbers=scene.skips_numbers,
    )


def _has_more(tap: Tap, agent: Agent, than: int) -> bool:
    return len(tap.acknowledged_of({agent.host_id})) > than


def _settle(scene: Scene) -> None:
    """Waits until every queue is empty and every process works again."""
    for reporter in scene.reporters:
        reporter.ending.set()
    for reporter in scene.reporters:
        reporter.join(seconds=RECOVERY_SECONDS)
    tap = scene.stage.proxy.tap
    for agent in scene.agents:
        # Not the agent's word: what was on its disk has come through, and then something newer too.
        until(
            lambda: scene.spooled <= set(tap.acknowledged_of(scene.hosts)),
            f"{agent.name} delivers what is on its disk; it says {agent.status().get('delivery_error')}",
            seconds=RECOVERY_SECONDS,
        )
        newest = len(tap.acknowledged_of({agent.host_id}))
        until(
            partial(_has_more, tap, agent, newest),
            f"{agent.name} goes on; it says {agent.status()}",
        )


def reported_losses(agent: Agent) -> int:
    """What an agent says that it lost: batches dropped or refused, and stretches of its disk that are damaged."""
    spool = agent.status().get("spool", {})
    return sum(int(spool.get(name, 0)) for name in ("dropped_batches", "damaged_records", "rejected_batches"))
