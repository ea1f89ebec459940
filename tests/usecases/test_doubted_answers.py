"""Answers of hosts whose files had a problem: none of their figures is good, and no advice of theirs is certain."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from factories import batches, swapping
from factories.derived import drain
from factories.installations import enrol, store
from factories.ratio_services import now, send_history, this_hour
from factories.watched import Cells, Watched
from fixtures.histories import Histories
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.alerts.rules import Rule
from tierscope.domain.base.figures import Figure
from tierscope.domain.ingest.arrival import Clocks
from tierscope.usecases.alerts.reads import AlertFilter, AlertReads
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import service_named
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.wire._generated import batch_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
CUT = "1 file ends within a line and may be cut off: /sys/devices/system/node/node0/meminfo"
BESIDE = "this is a container's view of its host: its lists of reclaim hold 64.0 GiB, and MemTotal is 4.0 GiB"
DOUBTS = [pytest.param("file-not-understood", CUT, id="cut-off"), pytest.param("container-view", BESIDE, id="view")]


def figures_in(answer: object) -> Iterator[Figure]:
    if isinstance(answer, Figure):
        yield from [answer] if answer.value is not None else []
    elif isinstance(answer, (tuple, list)):
        for part in answer:
            yield from figures_in(part)
    elif is_dataclass(answer):
        for field in fields(answer):
            yield from figures_in(getattr(answer, field.name))


def good_in(answer: object) -> list[str]:
    return [figure.definition for figure in figures_in(answer) if figure.grade == "good"]


def add_finding(batch: batch_pb2.Batch, finding: str, cause: str) -> None:
    batch.inventory.findings.add(id=finding, severity="warning", cause=cause, fix="f", confidence="certain")


def ratio_of(database: Database) -> Ratio:
    return RatioReads(ReadContext(database, now, Settings(_env_file=None))).service(
        service_named(database, "demo/cache"), loss_target=0.05, hold_hot=False, growth=0.0, from_=None, to=None
    )


@pytest.mark.parametrize(("finding", "cause"), DOUBTS)
def test_no_ratio_is_established(histories: Histories, finding: str, cause: str) -> None:
    database, hosts = histories.copy(send_history)
    before = ratio_of(database)
    assert before.grade == "established"
    for host in hosts[:1]:
        batch = batches.make_batch(host_id=host.id, seq=100, sealed_wall_ns=this_hour())
        batches.add_inventory(batch)
        add_finding(batch, finding, cause)
        assert store(database, host, [batch], clocks=Clocks(this_hour(), None, None))
    drain(database, now())

    after = ratio_of(database)

    assert (after.grade, after.kinds[0].grade, good_in(after)) == ("provisional", "provisional", [])
    assert after.range == before.range
    assert any(cause in note for note in after.notes)
    assert {figure.warnings[-1] for figure in figures_in(after)} == {after.notes[-1].split(": ", 1)[1]}


@pytest.mark.parametrize(("finding", "cause"), DOUBTS)
def test_no_swap_is_said_to_pay(database: Database, finding: str, cause: str) -> None:
    at, host = batches.now_ns(), enrol(database)
    swapping.send(database, host, at, {4: 0.0001, 12: 0.0001}, {20: 0.5, 40: 0.5})
    before = swapping.read(database, at, 64.0)
    assert before.verdict == "pays"
    batch = batches.make_batch(host_id=host.id, seq=2, sealed_wall_ns=at)
    batches.add_inventory(batch)
    add_finding(batch, finding, cause)
    assert store(database, host, [batch])

    after = swapping.read(database, at, 64.0)

    assert (after.verdict, after.binding, good_in(after)) == ("may_pay", "uncertainty", [])
    assert cause in after.sentence
    assert cause in after.warnings[-1]


@pytest.mark.parametrize(("finding", "cause"), DOUBTS)
def test_an_alert_says_what_it_may_be_wrong_of(database: Database, finding: str, cause: str) -> None:
    watched = Watched(database, 20)
    Rules(database).create(Rule("busy", "promoted_pages > 1000/s", for_seconds=60, summary="{{ value }}"), actor="test")
    watched.evaluate(2.5)
    host = watched.enrol()
    counted: list[Cells] = [[0, int(total)] for total in np.cumsum([10**6, *[2000 * 60] * 10])]
    watched.send(host, ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success"), counted)
    watched.evaluate(20)
    reads = AlertReads(ReadContext(database, lambda: watched.at(20), Settings(_env_file=None)))
    (alert,) = reads.list(AlertFilter(), limit=10, cursor=None).items
    assert reads.show(alert.id).notes == ()
    batch = batches.make_batch(host_id=host.id, seq=100, sealed_wall_ns=round(watched.at(8).timestamp() * 1e9))
    batches.add_inventory(batch)
    add_finding(batch, finding, cause)
    assert store(database, host, [batch])

    notes = reads.show(alert.id).notes

    assert len(notes) == 1
    assert cause in notes[0]
