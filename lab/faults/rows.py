"""The faults of processes and of the network."""

from factories.waiting import until
from faults.proxy import Weather
from faults.scene import Row, Scene


def kill_agent(scene: Scene) -> None:
    """Twice, at random points of its second."""
    for _ in range(2):
        scene.pause(0.3, 1.6)
        for agent in scene.agents:
            scene.kill_agent(agent)
            agent.start()
        scene.progress(2)


def kill_api(scene: Scene) -> None:
    """While batches are on their way."""
    scene.pause(0.1, 1.0)
    scene.stage.api.kill()
    scene.pause(0.0, 1.0)
    scene.stage.api.start()
    scene.stage.api.wait_ready()


def kill_worker(scene: Scene) -> None:
    """The queue of work is in the database: the next worker goes on where this one was."""
    scene.pause(0.1, 2.0)
    scene.stage.worker.kill()
    scene.progress(3)
    scene.stage.worker.start()
    wait_for_ledger(scene)


def kill_database(scene: Scene) -> None:
    """The API answers 503 with Retry-After while it is away."""
    scene.pause(0.1, 1.0)
    scene.stage.kill_database()
    refused = scene.stage.proxy.tap.statuses[503]
    until(lambda: scene.stage.proxy.tap.statuses[503] > refused, "the API answers 503 without its database")
    scene.stage.revive_database()


def kill_queue(scene: Scene) -> None:
    """Redis only wakes: ingest goes on without it, and workers come back to it by themselves."""
    scene.pause(0.1, 1.0)
    scene.stage.kill_queue()
    scene.progress(3)
    scene.stage.queue.start()
    wait_for_ledger(scene)


def wait_for_ledger(scene: Scene) -> None:
    """Waits until the worker has made ledger rows of data that came after now."""
    scene.add_reporters(1)
    scene.progress(2)
    newest = scene.reporters[-1].host.identity.id

    def derived() -> bool:
        with scene.stage.database.read() as session:
            sql = f"SELECT 1 FROM tier_moves WHERE host_id = {newest} LIMIT 1"
            return session.driver.execute(sql.encode()).fetchone() is not None

    until(derived, f"the worker makes ledger rows again: {scene.stage.worker.log_tail()}")


def cut(scene: Scene) -> None:
    """All connections break, new ones are refused."""
    scene.pause(0.1, 1.0)
    scene.stage.proxy.change(Weather(cut=True))
    scene.pause(2.0, 4.0)


def break_in_a_body(scene: Scene) -> None:
    """Connections break in the middle of a request."""
    scene.stage.proxy.change(Weather(requests="reset"))
    scene.pause(1.5, 3.0)


def slow(scene: Scene) -> None:
    """A narrow line with a long way."""
    scene.stage.proxy.change(Weather(delay_seconds=scene.rng.uniform(0.1, 0.3), bytes_per_second=20_000))
    scene.progress(4)


def lose_answers(scene: Scene) -> None:
    """The service commits, the agent never hears of it and sends again: duplicates that must not count."""
    tap = scene.stage.proxy.tap
    before, unheard = len(tap.repeated), tap.unheard
    scene.stage.proxy.change(Weather(answers="lose"))
    scene.pause(1.0, 2.5)
    until(lambda: tap.unheard > unheard, "the answer about a batch that was stored is lost")
    scene.stage.proxy.change(Weather(answers="truncate"))
    scene.pause(1.0, 2.5)
    scene.stage.proxy.change(Weather())
    until(lambda: len(tap.repeated) > before, "a batch that was stored is sent again and answered `duplicate`")


def swallow(scene: Scene) -> None:
    """Half open: connections stand and nothing comes through."""
    scene.stage.proxy.change(Weather(requests="hold"))
    scene.pause(2.0, 4.0)
    scene.stage.proxy.change(Weather(cut=True))


ROWS = (
    Row("agent-killed", "agent killed (SIGKILL) and started again, twice", kill_agent, agents=2),
    Row("api-killed", "API killed and started again", kill_api),
    Row("worker-killed", "worker and scheduler killed and started again", kill_worker),
    Row("database-killed", "database killed and started again", kill_database),
    Row("queue-killed", "Redis killed and started again", kill_queue),
    Row("network-cut", "network cut: connections reset, new ones refused", cut, agents=2),
    Row("body-cut", "connections reset in the middle of a body", break_in_a_body),
    Row("network-slow", "network slow: 0.1-0.3 s a packet, 20 kB/s", slow),
    Row("answers-lost", "answers lost or cut in half after the commit", lose_answers),
    Row("half-open", "connections that stand and swallow everything, then break", swallow),
)
