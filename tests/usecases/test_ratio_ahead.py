"""Ratio advice that a worker read ahead: the same figures at any target, and none once what it rests on has changed."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from factories.ratio_services import now, send_history
from fixtures.histories import Histories
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import service_named
from tierscope.usecases.knobs.advice_refresh import LOOK_EVERY, RefreshAdvice
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.reads import FRESH, HOLDS, RatioReads
from tierscope.usecases.slowdown.points import SlowdownPointRequest, SlowdownPoints
from tierscope.usecases.tco.losses import ServiceFacts
from tierscope.usecases.tco.presets import ScenarioPresetReads, ScenarioPresets

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


class Asked:
    """A service whose advice is asked at a moment; `reads` counts how often what it rests on was read for that."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = database
        self.at = now()
        self.reads = 0
        self._service = service_named(database, "demo/cache")
        read = RatioReads._read

        def counted(reads: RatioReads, service_id: str, *rest: object) -> object:
            self.reads += 1
            return read(reads, service_id, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(RatioReads, "_read", counted)

    @property
    def context(self) -> ReadContext:
        """What use cases read in at that moment."""
        return ReadContext(self.database, lambda: self.at, Settings(_env_file=None))

    def work(self) -> None:
        """What a worker does every minute."""
        RefreshAdvice(self.database, lambda: self.at, Settings(_env_file=None)).run(at_most=timedelta(hours=1))

    def ask(self, target: float = 0.05, *, growth: float = 0.0, from_: str | None = None) -> tuple[Ratio, int]:
        self.reads = 0
        view = RatioReads(self.context).service(
            self._service, loss_target=target, hold_hot=False, growth=growth, from_=from_, to=None
        )
        return view, self.reads

    def forget(self) -> None:
        with self.database.write() as transaction:
            transaction.execute(text("DELETE FROM ratio_inputs"))

    def later(self, by: timedelta) -> None:
        """Lets time go by."""
        self.at += by


@pytest.fixture
def asked(histories: Histories, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(histories.copy(send_history)[0], monkeypatch)


def test_any_target_is_answered_from_what_was_read_ahead_with_the_same_figures(asked: Asked) -> None:
    questions = [(0.05, 0.0), (0.2, 0.0), (0.01, 0.0), (0.05, 0.3)]
    assert asked.ask()[1] == 1, "before the first run it is read for"
    asked.work()
    ahead = [asked.ask(target, growth=growth) for target, growth in questions]
    assert [reads for _, reads in ahead] == [0] * 4
    assert asked.ask(from_="-7d") == ahead[0], "a week is read whatever the window asked for"
    assert asked.ask(from_="-20d")[1] == 1, "a longer one was not"
    asked.forget()
    assert [asked.ask(target, growth=growth) for target, growth in questions] == [(view, 1) for view, _ in ahead]


def test_an_answer_says_how_far_back_it_was_read_and_is_read_anew_where_that_is_long_ago(asked: Asked) -> None:
    asked.work()
    fresh, _ = asked.ask()
    asked.later(FRESH)
    old, reads = asked.ask()
    assert (reads, old.window) == (0, fresh.window)
    assert replace(old, notes=old.notes[:-1], next_steps=()) == replace(fresh, next_steps=())
    assert f"up to {fresh.window.end:%Y-%m-%d %H:%M} UTC" in old.notes[-1]
    asked.later(HOLDS - FRESH + timedelta(seconds=1))
    anew, reads = asked.ask()
    assert (reads, anew.window.end, anew.notes) == (1, asked.at, fresh.notes)
    asked.work()
    assert asked.ask() == (anew, 0), "the next round reads it anew"


CHANGES = {
    "inventory": "INSERT INTO inventory SELECT host_id, at + interval '1 minute', body FROM inventory LIMIT 1",
    "host": "DELETE FROM host_services WHERE host_id = (SELECT max(id) FROM hosts)",
    "replay": "UPDATE replayed_placements SET made_at = made_at - interval '1 minute'",
}


@pytest.mark.parametrize("change", [*CHANGES, "generation"])
def test_once_what_it_rests_on_changes_it_is_read_anew_and_a_worker_does_so_next(asked: Asked, change: str) -> None:
    asked.work()
    assert asked.ask()[1] == 0
    with asked.database.write() as transaction:
        if change == "generation":
            transaction.renew_generation()
        else:
            transaction.execute(text(CHANGES[change]))
    view, reads = asked.ask()
    assert reads == 1
    asked.later(LOOK_EVERY)
    asked.work()
    again, reads = asked.ask()
    assert (reads, again.kinds, again.range) == (0, view.kinds, view.range)


def test_the_owners_measurements_of_now_count_at_once(asked: Asked) -> None:
    asked.work()
    before, _ = asked.ask()
    SlowdownPoints(asked.database).create(
        before.service_id,
        SlowdownPointRequest(0.1, 0.0005, 0.0001, "ab_test", None, ""),
        actor="t",
        idempotency_key=None,
    )
    after, reads = asked.ask()
    assert (reads, [point.used for point in after.points]) == (0, [True])
    assert after.posterior != before.posterior
    asked.forget()
    assert asked.ask() == (after, 1)


def test_scenarios_of_the_fleet_rest_on_what_was_read_ahead(asked: Asked) -> None:
    def presets() -> tuple[ScenarioPresets, int]:
        asked.reads = 0
        found = ScenarioPresetReads(asked.context, ServiceFacts(asked.context)).read(None, dram_ratio=None)
        return found, asked.reads

    asked.work()
    ahead, reads = presets()
    assert reads == 0
    with asked.database.write() as transaction:
        transaction.execute(text("UPDATE ratio_inputs SET body = '[{}]'"))
    assert presets() == (ahead, 1), "what another release stored is read anew"
