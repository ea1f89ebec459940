"""An object store that lies, hangs and forgets, while pages are read and hours are moved into it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta

from attack.assault import Assault
from core.test_object_lies import LIES, Answers
from factories import batches
from factories.derived import drain
from factories.installations import enrol, store
from factories.object_stores import s3_settings
from factories.ratio_services import add_day_of_heat, this_hour
from factories.waiting import until
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Unavailable
from tierscope.core.objects.open import open_store
from tierscope.core.objects.store import RETRY_SECONDS
from tierscope.domain.ingest.arrival import Clocks
from tierscope.usecases.objects.mover import MoveObjects

AT_ONCE = 60
"""More than the service has threads."""


def attack(assault: Assault) -> None:
    """Hours that a store forgets stay rows; then each lie about an hour of a host of its own; then silence."""
    objects = assault.arena.objects
    objects.lie = _welcome  # before the hours are there: the instance's own worker moves them, too
    try:
        hosts = _add_hosts(assault)
        before = {host: _grid(assault, host) for host in hosts}
        assert all(before.values()), "hosts without tiles"
        try:
            with _mover(assault) as mover:
                mover.run(full=True)
            assault.found("hours were moved to what answers everything with 200")
        except Unavailable:
            pass
        if {host: _grid(assault, host) for host in hosts} != before:
            assault.found("a store that keeps nothing got what rows had")
    finally:
        objects.lie = None
    with _mover(assault) as mover:
        until(lambda: (mover.run(full=True), _in_rows(assault) == 0)[1], "the worker or this has moved them")
    *told, silent = hosts
    for host, name in zip(told, assault.some(LIES, 2), strict=False):
        _lie(assault, host, name, before[host])
    _silent(assault, silent, before[silent])


def _add_hosts(assault: Assault) -> list[str]:
    """One for each lie and one for silence, whose tiles the service has never read from an object."""
    database, end = assault.arena.database, this_hour()
    hosts = [enrol(database, name=f"kept-{number}") for number in range(len(LIES) + 1)]
    for host in hosts:
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end)
        add_day_of_heat(batch, end, range(24))
        batches.add_tiles(batch)
        assert store(database, host, [batch], clocks=Clocks(end, None, None))
    drain(database)
    until(lambda: _in_rows(assault) >= len(hosts), "the worker or this has made rows of them")
    return [host.id for host in hosts]


def _lie(assault: Assault, host: str, name: str, right: bytes | None) -> None:
    objects = assault.arena.objects
    objects.lie, objects.asked = LIES[name], 0
    try:
        _refused(assault, host, name)
    finally:
        objects.lie = None
    if not objects.asked:
        assault.found(f"{name}: nobody asked the store")
    _right_again(assault, host, name, right)


def _refused(assault: Assault, host: str, what: str, expect: tuple[int, ...] = (503,)) -> None:
    answer = assault.ask("GET", _path(assault, host), headers=assault.arena.admin, expect=expect, what=what)
    if answer is not None and "retry-after" not in answer.headers:
        assault.found(f"{what}: nobody is told when to ask again")


def _right_again(assault: Assault, host: str, what: str, right: bytes | None) -> None:
    """What cannot be reached is not asked for a while; then it answers as before."""
    seen: list[bytes | None] = []

    def answered() -> bool:
        seen.append(_grid(assault, host, expect=(200, 503)))
        return seen[-1] is not None

    until(answered, f"tiles are read again after {what}", seconds=2 * RETRY_SECONDS)
    if seen[-1] != right:
        assault.found(f"other tiles than before: {what}")


def _silent(assault: Assault, host: str, right: bytes | None) -> None:
    """Many readers of what a server that says nothing has: everybody else is served."""
    objects, go_on = assault.arena.objects, threading.Event()

    def say_nothing(_: Answers) -> None:
        go_on.wait()

    objects.lie, objects.asked = say_nothing, 0
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting = [pool.submit(_refused, assault, host, "silence", (429, 503)) for _ in range(AT_ONCE)]
            while not all(one.done() for one in waiting):
                assault.ask("GET", "/v1/hosts", headers=assault.arena.admin, expect=(200,), what="beside readers")
        assault.notes.append(f"{AT_ONCE} readers asked a silent store {objects.asked} times")
    finally:
        objects.lie = None
        go_on.set()
    _right_again(assault, host, "silence", right)


def _welcome(answer: Answers) -> None:
    answer.send(b"<html>Welcome</html>")


def _path(assault: Assault, host: str) -> str:
    return f"/v1/services/{assault.arena.made.ids['service_id'][0]}/tiles?host={host}&from=-2d"


def _grid(assault: Assault, host: str, expect: tuple[int, ...] = (200,)) -> bytes | None:
    answer = assault.ask("GET", _path(assault, host), headers=assault.arena.admin, expect=expect)
    return str(answer.json()["cells"]).encode() if answer is not None and answer.status_code == 200 else None


def _in_rows(assault: Assault) -> int:
    """Hours of tiles of which no object has the bodies."""
    with assault.arena.database.read() as session:
        return int(session.ask("SELECT count(*) AS n FROM tiles WHERE object_key IS NULL")[0].n)


@contextmanager
def _mover(assault: Assault) -> Iterator[MoveObjects]:
    """As the worker's, of hours that have no end yet too."""
    objects = open_store(s3_settings(assault.arena.objects.address))
    assert objects is not None
    with closing(Database(assault.arena.database_url, objects=objects)) as database:
        yield MoveObjects(database, objects, lambda: utc_now() + timedelta(hours=2))
