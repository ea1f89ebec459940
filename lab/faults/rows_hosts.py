"""The faults of disks, clocks and load."""

import dataclasses
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import httpx

from factories.loopback import LOOPBACK, free_port
from factories.waiting import DEADLINE_SECONDS, until
from faults.oracle import key_of, read_stored
from faults.overload import overload
from faults.processes import Agent
from faults.proxy import Weather
from faults.rows import wait_for_ledger
from faults.scene import Row, Scene
from faults.spools import Kept, cut_in_half, flip_a_bit, records, segments, waiting
from faults.stage import NotHereError, filled, small_disk
from fixtures.shifted_clock import can_shift, clock_variables, offset_s, shift

SPOOL_DISK_MIB = 1
_HOUR_SECONDS = 3600


def fill_spool_disk(scene: Scene) -> None:
    """The agent cannot queue: it counts what it loses, says so, and goes on when there is space."""
    with small_disk(scene.stage.folder / f"spool-{scene.rng.random()}", SPOOL_DISK_MIB) as mounted:
        if not mounted:
            raise NotHereError("this account may not mount a small disk for the spool")
        folder = next(iter(scene.stage.folder.glob("spool-*")))
        listen = f"{LOOPBACK}:{free_port()}"
        place = dataclasses.replace(
            scene.stage.place(), state_dir=folder / "state", more=f'metrics_listen = "{listen}"'
        )
        agent = scene.add_agent(place)
        scene.stage.proxy.change(Weather(cut=True))
        scene.pause(1.0, 2.0)
        scene.spooled |= {_key(kept) for kept in waiting(agent.state_dir)}
        with filled(folder):
            # Its segment has room for some batches yet. What it counts cannot reach its status file now, so that it
            # is asked.
            until(lambda: _asked_dropped(listen) >= 2, "the agent counts what its disk does not take")
        until(lambda: _spool(agent, "dropped_batches") >= 2, "the agent writes down what it counted")
        scene.notes.append(f"{_spool(agent, 'dropped_batches')} batches dropped and counted")
        scene.stage.proxy.change(Weather())
        scene.progress(4)
        until(lambda: _spool(agent, "batches") == 0, "the agent's queue is empty")
        scene.finish(agent)


def fill_database_disk(scene: Scene) -> None:
    """503 with Retry-After while nothing can be written, and on by itself when there is space."""
    if not scene.stage.small:
        raise NotHereError("this account may not mount a small disk for the database")
    scene.pause(0.1, 0.5)
    refused = scene.stage.proxy.tap.statuses[503]
    with filled(scene.stage.database_disk):
        until(lambda: scene.stage.proxy.tap.statuses[503] > refused, "the API answers 503 on a full disk")
        scene.pause(0.5, 1.5)
    # Where the database could not even write its log, it has ended, and its supervisor starts it again.
    scene.stage.revive_database()
    wait_for_ledger(scene)


def corrupt_spool(scene: Scene) -> None:
    """A flipped bit, a cut tail, an empty file and a file of garbage: everything else arrives, each loss is counted."""
    (agent,) = scene.agents
    scene.stage.proxy.change(Weather(cut=True))
    for life in (1, 2, 3):
        # Each life of the agent writes a segment of its own.
        until(partial(_grown, agent, life), f"the agent fills segment {life}: {agent.log_tail()}")
        agent.kill()
        agent.start()
    agent.kill()
    flipped, cut = _victims(scene, agent)
    flip_a_bit(flipped, scene.rng.randrange(1 << 20))
    cut_in_half(cut)
    folder = agent.state_dir / "spool"
    (folder / "00000000000000000000.segment").write_bytes(b"")
    (folder / "99999999999999999999.segment").write_bytes(scene.rng.randbytes(3000))
    scene.spooled |= {_key(kept) for kept in waiting(agent.state_dir)}
    scene.host_losses += 2
    scene.skips_numbers = True
    agent.start()
    until(lambda: _spool(agent, "damaged_records") >= 2, "the agent counts the damage")
    scene.stage.proxy.change(Weather())
    scene.progress(3)
    (folder / "00000000000000000000.segment").unlink(missing_ok=True)
    scene.notes.append(f"{_spool(agent, 'damaged_records')} damaged stretches counted")


def _victims(scene: Scene, agent: Agent) -> tuple[Kept, Kept]:
    """A record in the middle of one segment, and the last record of another."""
    full = [list(records(segment)) for segment in segments(agent.state_dir)]
    full = [kept for kept in full if len(kept) >= 2]
    assert len(full) >= 2, f"segments hold {[len(kept) for kept in full]} records"
    first, last = full[0], full[-1]
    return scene.rng.choice(first[:-1]), last[-1]


def _grown(agent: Agent, count: int) -> bool:
    found = segments(agent.state_dir)
    return len(found) >= count and len(list(records(found[-1]))) >= 3


def _key(kept: Kept) -> tuple[str, str, int]:
    return key_of(kept.payload)


def _spool(agent: Agent, name: str) -> int:
    return int(agent.status().get("spool", {}).get(name, 0))


def _asked_dropped(address: str) -> int:
    """Batches that an agent dropped, by its own `/metrics`."""
    page = httpx.get(f"http://{address}/metrics", timeout=DEADLINE_SECONDS).text
    name = "tierscope_agent_dropped_batches_total "
    return next(int(line.removeprefix(name)) for line in page.splitlines() if line.startswith(name))


def jump_agent_clock(scene: Scene) -> None:
    """An hour ahead, then an hour behind: no interval waits for the clock, the service rebuilds the times."""
    binary = scene.stage.dynamic_agent
    if binary is None:
        raise NotHereError("no agent of this source is linked dynamically, as setting its clock takes (make test-rust)")
    with _settable_clock(scene) as (env, set_clock):
        agent = scene.add_agent(dataclasses.replace(scene.stage.place(), binary=binary, env=env))
        _jump(scene, set_clock, agent)
        _note_rebuilt_times(scene, {agent.host_id})
        scene.finish(agent)


def jump_service_clock(scene: Scene) -> None:
    """The service's clock an hour ahead, then an hour behind: nothing is refused, nothing is lost."""
    with _settable_clock(scene) as (env, set_clock), scene.stage.another_api(**env):
        _jump(scene, set_clock, None)
    _note_rebuilt_times(scene, {agent.host_id for agent in scene.agents})


def _jump(scene: Scene, set_clock: Callable[[int], None], agent: Agent | None) -> None:
    for offset_seconds in scene.rng.sample([_HOUR_SECONDS, -_HOUR_SECONDS], 2):
        set_clock(offset_seconds)
        _few_more(scene, agent)
        set_clock(0)
        _few_more(scene, agent)


def _note_rebuilt_times(scene: Scene, hosts: set[str]) -> None:
    """The two clocks disagreed by an hour: the service has noticed, and says so on the rows."""
    rebuilt = read_stored(scene.stage.cluster.url(), hosts).corrected.total()
    assert rebuilt > 0, "clocks an hour apart, and no time was rebuilt"
    scene.notes.append(f"{rebuilt} samples with a rebuilt time")


def _few_more(scene: Scene, agent: Agent | None) -> None:
    tap = scene.stage.proxy.tap
    hosts = {agent.host_id} if agent is not None else {made.host_id for made in scene.agents}
    goal = len(tap.acknowledged_of(hosts)) + 2
    until(lambda: len(tap.acknowledged_of(hosts)) >= goal, "samples go on after the clock was set")


@contextmanager
def _settable_clock(scene: Scene) -> Iterator[tuple[dict[str, str], Callable[[int], None]]]:
    """The environment of a program whose wall clock is off by what the callable says, in seconds."""
    if not can_shift():
        raise NotHereError("there is no C compiler, with which programs are told another time")
    scene.compare = False
    file = scene.stage.folder / f"clock-{secrets.token_hex(4)}"

    def set_clock(offset_seconds: int) -> None:
        shift(file, offset_s() + offset_seconds)

    set_clock(0)
    yield clock_variables(file), set_clock


def chaos(scene: Scene) -> None:
    """Several at once: a slow line that breaks, answers lost, agents, API, worker, database and Redis killed."""
    stage, rng = scene.stage, scene.rng
    weathers = [
        Weather(delay_seconds=0.1, bytes_per_second=40_000),
        Weather(answers="lose"),
        Weather(cut=True),
        Weather(requests="reset"),
    ]
    kills: list[Callable[[], None]] = [
        stage.kill_database,
        stage.kill_queue,
        stage.api.kill,
        stage.worker.kill,
        *(lambda agent=agent: scene.kill_agent(agent) for agent in scene.agents),
    ]
    rng.shuffle(weathers)
    rng.shuffle(kills)
    for index, kill in enumerate(kills):
        stage.proxy.change(weathers[index % len(weathers)])
        scene.pause(0.2, 1.0)
        kill()
    stage.proxy.change(Weather())
    stage.revive_database()
    stage.queue.start()
    stage.api.start()
    stage.worker.start()
    for agent in scene.agents:
        agent.start()
    stage.api.wait_ready()
    wait_for_ledger(scene)


ROWS = (
    Row("spool-disk-full", "disk of the agent's queue full while the network is cut", fill_spool_disk, agents=0),
    Row("database-disk-full", "disk of the database full", fill_database_disk),
    Row("spool-corrupt", "queue on disk damaged: bit flipped, tail cut, empty file, garbage", corrupt_spool),
    Row("agent-clock", "clock of the host an hour ahead and an hour behind", jump_agent_clock, agents=0),
    Row("service-clock", "clock of the service an hour ahead and an hour behind", jump_service_clock),
    Row("overload", "ten times the load that the service takes", overload),
    Row("chaos", "everything killed in a random order under a bad network", chaos, agents=2),
)
