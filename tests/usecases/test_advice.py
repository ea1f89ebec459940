"""Advice cards: refreshed in place, gone when they no longer hold, decisions kept until what they are about changes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from sqlalchemy import text

from factories import batches
from factories.installations import enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, Conflict, NotFound
from tierscope.core.settings import Settings
from tierscope.domain.fleet.gain import ServiceGain
from tierscope.storage.knobs.advice import Subject
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.services import ServiceReads
from tierscope.usecases.knobs.advice import Advice, AdviceCard
from tierscope.usecases.knobs.advice_cards import Made
from tierscope.usecases.knobs.advice_refresh import EXPIRES, RefreshAdvice, Refreshed
from tierscope.usecases.tco.prices import Prices
from tierscope.usecases.tco.reclaimable import ReclaimableReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


class Fleet:
    """Hosts of one service, whose advice a test makes up."""

    def __init__(self, database: Database, hosts: int) -> None:
        self.database = database
        for number in range(hosts):
            host = enrol(database, name=f"node-{number}")
            batch = batches.make_batch(host_id=host.id)
            batches.add_inventory(batch)
            assert store(database, host, [batch])
        with database.read() as session:
            self.hosts = [int(found) for found in session.execute(text("SELECT id FROM hosts ORDER BY id")).scalars()]
            service = session.execute(text("SELECT id, public_id FROM services")).one()
        self.service, self.service_id = int(service.id), str(service.public_id)

    def refresh(
        self, subject: Subject, made: list[Made], *, at: datetime = NOW, unjudged: tuple[str, ...] = ()
    ) -> None:
        run = RefreshAdvice(self.database, lambda: at, Settings(_env_file=None))
        run.store_cards(Refreshed(), subject, made, unjudged, [self.service_id])

    def cards(self, **wanted: object) -> tuple[AdviceCard, ...]:
        asked: dict[str, Any] = {"kind": None, "status": None, "service": None, "host": None, "limit": 100}
        return Advice(self.database, clock=lambda: NOW).list(**{**asked, "cursor": None, **wanted}).items


def knob(rule: str = "F1", *, stake: float | None = 10.0, says: Mapping[str, str | float | None] | None = None) -> Made:
    said = {"kernel.numa_balancing": 2.0} if says is None else says
    return Made("knob", rule, f"Do {rule}", f"{rule} helps", stake, {"rule": rule}, said)


def ratio(name: str = "2:1", upper: float = 0.01, stake: float | None = 100.0) -> Made:
    says: dict[str, str | float | None] = {"ratio": name, "loss_target": 0.05, "loss_upper": upper}
    return Made(
        "ratio", "ratio", f"DRAM:CXL ratio {name} is enough", f"{name} keeps it", stake, {"answer": "ratio"}, says
    )


def test_the_same_advice_to_several_hosts_reads_as_one_card(database: Database) -> None:
    fleet = Fleet(database, 3)
    for number, host in enumerate(fleet.hosts):
        made = [knob("F1"), knob("F3", says={"vm.watermark_scale_factor": 10.0 + 50 * number})]
        fleet.refresh(Subject(host, is_host=True), made)
    fleet.refresh(Subject(fleet.service, is_host=False), [ratio()])
    cards = fleet.cards()
    assert [(card.key, card.hosts, card.stake_bytes) for card in cards] == [
        ("ratio", 0, 100.0),
        ("F1", 3, 30.0),
        ("F3", 1, 10.0),
        ("F3", 1, 10.0),
        ("F3", 1, 10.0),
    ]
    shared = cards[1]
    assert (shared.host_id, shared.service_id, shared.subject_name) == (None, fleet.service_id, "3 hosts of demo/cache")
    assert (len(shared.host_ids), len(shared.advice_ids), shared.sentence) == (3, 3, "F1 helps")
    assert [card.key for card in fleet.cards(kind="ratio")] == ["ratio"]
    assert {card.hosts for card in fleet.cards(host=shared.host_ids[0])} == {1}
    assert len(fleet.cards(service=fleet.service_id)) == 5
    assert fleet.cards(service="s_none") == ()


def test_the_highest_proven_gain_leads_and_a_ratio_that_is_not_proven_comes_last(database: Database) -> None:
    fleet = Fleet(database, 2)
    gain = ServiceGain("2:1", 0.67, "ddr4", 1e12, 900.0, 400.0, 1500.0, "USD", "established", None)
    fleet.refresh(Subject(fleet.service, is_host=False), [replace(ratio(stake=1.0), gain=gain)])
    fleet.refresh(Subject(fleet.hosts[0], is_host=True), [knob(stake=50.0)])
    unproven = {"ratio": None, "plausible": "1:4"}
    fleet.refresh(Subject(fleet.hosts[1], is_host=True), [replace(ratio(stake=1e15), says=unproven)])
    cards = fleet.cards()
    assert [card.stake_bytes for card in cards] == [1.0, 50.0, 1e15]
    assert [card.gain for card in cards] == [gain, None, None]
    (line,) = (
        ServiceReads(ReadContext(database, lambda: NOW, Settings(_env_file=None)))
        .list(limit=10, cursor=None, origin=None, host=None)
        .items
    )
    assert line.gain == gain
    total = ReclaimableReads(ReadContext(database, lambda: NOW, Settings(_env_file=None))).read(currency="USD").saving
    assert total is not None
    assert (total.net_per_year, total.dram_freed_bytes, total.n_services) == (900.0, 1e12, 1)


def test_pages_of_the_list_meet_every_card_once(database: Database) -> None:
    fleet = Fleet(database, 1)
    fleet.refresh(Subject(fleet.hosts[0], is_host=True), [knob(f"F{i}", stake=float(i % 3)) for i in range(7)])
    advice, cursor, seen = Advice(database), None, []
    while True:
        page = advice.list(kind=None, status=None, service=None, host=None, limit=3, cursor=cursor)
        seen += [card.id for card in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert len(seen) == len(set(seen)) == 7
    with pytest.raises(BadRequest):
        advice.list(kind=None, status=None, service=None, host=None, limit=3, cursor="x")


def test_a_card_is_refreshed_in_place_and_gone_when_it_no_longer_holds(database: Database) -> None:
    fleet = Fleet(database, 1)
    subject, later = Subject(fleet.service, is_host=False), NOW + timedelta(hours=5)
    fleet.refresh(subject, [ratio()])
    first = fleet.cards()[0]
    fleet.refresh(subject, [ratio("1:1", upper=0.04)], at=later)
    second = fleet.cards()[0]
    assert (second.id, second.created_at, second.title) == (first.id, NOW, "DRAM:CXL ratio 1:1 is enough")
    assert (second.refreshed_at, second.expires_at) == (later, later + EXPIRES)
    fleet.refresh(subject, [], unjudged=("ratio",))
    assert len(fleet.cards()) == 1, "what cannot be judged now stays"
    fleet.refresh(subject, [])
    assert fleet.cards() == ()
    assert [card.status for card in fleet.cards(status="gone")] == ["gone"]
    fleet.refresh(subject, [ratio()], at=later)
    assert [(card.status, card.created_at) for card in fleet.cards()] == [("open", later)]


def test_a_dismissed_card_stays_so_until_what_it_says_changes(database: Database) -> None:
    fleet = Fleet(database, 2)
    advice = Advice(database, clock=lambda: NOW)
    for host in fleet.hosts:
        fleet.refresh(Subject(host, is_host=True), [knob()])
    decided = advice.decide(fleet.cards()[0].id, "dismissed", note="not now", actor="ann")
    assert (decided.status, decided.hosts, decided.decided_by, decided.note) == ("dismissed", 2, "ann", "not now")
    assert decided.body == {"rule": "F1"}
    for host in fleet.hosts:
        fleet.refresh(Subject(host, is_host=True), [knob(stake=11.0)])
    assert [(card.status, card.hosts, card.note) for card in fleet.cards()] == [("dismissed", 2, "not now")]
    fleet.refresh(Subject(fleet.hosts[0], is_host=True), [knob(says={"kernel.numa_balancing": 3.5})])
    states = {(card.status, card.hosts, card.decided_by) for card in fleet.cards()}
    assert states == {("dismissed", 1, "ann"), ("open", 1, None)}


def test_small_steps_do_not_carry_a_decision_far(database: Database) -> None:
    fleet = Fleet(database, 1)
    subject, advice = Subject(fleet.service, is_host=False), Advice(database, clock=lambda: NOW)
    fleet.refresh(subject, [ratio(upper=0.010)])
    advice.decide(fleet.cards()[0].id, "adopted", note="", actor="ann")
    for upper, status in ((0.012, "adopted"), (0.0145, "adopted"), (0.0175, "open")):
        fleet.refresh(subject, [ratio(upper=upper)])
        assert fleet.cards()[0].status == status


def test_decisions_are_taken_back_audited_and_refused_on_what_is_gone(database: Database) -> None:
    fleet = Fleet(database, 1)
    subject, advice = Subject(fleet.service, is_host=False), Advice(database, clock=lambda: NOW)
    fleet.refresh(subject, [ratio()])
    card = fleet.cards()[0]
    advice.decide(card.id, "dismissed", note="no", actor="ann")
    back = advice.decide(card.id, "open", note="", actor="ann")
    assert (back.status, back.decided_by, back.decided_at, back.note) == ("open", None, None, None)
    with database.read() as session:
        statement = text("SELECT detail->>'decision' FROM audit WHERE action = 'advice.decide' ORDER BY id")
        assert list(session.execute(statement).scalars()) == ["dismissed", "open"]
    fleet.refresh(subject, [])
    with pytest.raises(Conflict, match="no longer holds"):
        advice.decide(card.id, "adopted", note="", actor="ann")
    with pytest.raises(NotFound):
        advice.read("a_none")


def test_a_run_judges_each_hour_and_ends_what_expired(database: Database) -> None:
    fleet = Fleet(database, 1)
    fleet.refresh(Subject(fleet.service, is_host=False), [ratio()], at=NOW - EXPIRES - timedelta(hours=1))
    at = [utc_now()]
    run = RefreshAdvice(database, lambda: at[0], Settings(_env_file=None))
    first = run.run()
    assert first is not None
    assert (first.gone, first.subjects, first.failures) == (1, 1, 0), "the host has slow memory"
    second = run.run()
    assert second is not None
    assert second.subjects == 0, "nothing new within the hour"
    at[0] += timedelta(minutes=6)
    Prices(database, clock=lambda: at[0]).confirm("preset-dram-2026-spot", actor="ann")
    at[0] += timedelta(minutes=1)
    priced = [run.run() for _ in range(2)]
    assert [done.subjects for done in priced if done] == [1, 0], "what is saved is another amount, once"
    at[0] += timedelta(hours=1)
    third = run.run()
    assert third is not None
    assert third.subjects == 1
    at[0] -= timedelta(hours=26)
    fourth = run.run()
    assert fourth is not None
    assert fourth.subjects == 1, "a clock that was ahead and is set back delays nothing"


def test_a_round_over_a_large_fleet_takes_several_runs(database: Database) -> None:
    Fleet(database, 5)
    begun = utc_now()
    ticks, later = count(), [timedelta(0)]

    def clock() -> datetime:
        return begun + later[0] + timedelta(seconds=next(ticks))

    run = RefreshAdvice(database, clock, Settings(_env_file=None))
    judged = []
    while (done := run.run()) and done.subjects:
        judged.append(done.subjects)
    assert sum(judged) == 5, "each once"
    assert len(judged) > 1, "time was up in between"
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET enrolled_at = :at"), {"at": begun - timedelta(hours=1)})
    Fleet(database, 1)
    for minutes in (5, 10):
        later[0] = timedelta(minutes=minutes)
        done = run.run()
        assert done is not None
        assert done.subjects == 1, "the new one alone, whose heat may have come since"
        done = run.run()
        assert done is not None
        assert done.subjects == 0, "not before the next look"


def test_one_run_at_a_time(database: Database) -> None:
    from tierscope.storage.knobs.advice import lock_refresh  # noqa: PLC0415 - the lock that another worker would hold

    with database.write() as other:
        assert lock_refresh(other)
        assert RefreshAdvice(database, lambda: NOW, Settings(_env_file=None)).run() is None
