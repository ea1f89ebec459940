"""Ratio advice on what the hosts' own policy makes of their sampled pages, and on the best static placement without."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from factories.batches import MINUTE_NS
from factories.made_ledgers import made
from factories.ratio_services import now, send_history
from fixtures.elsewhere import long
from fixtures.histories import Histories
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.knobs.facts import DEMOTE_SCALE, DEMOTION, NUMA_BALANCING
from tierscope.domain.ledger import Tiers, plan_host
from tierscope.storage.ledger.rows import append_ledgers
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import service_named
from tierscope.usecases.knobs.advice_refresh import RefreshAdvice
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.placement import PlacementFacts, place_by_replay
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.usecases.simulate.placements import (
    EVERY,
    HOLDS,
    FoundPlacement,
    ReplayedPlacement,
    ReplayPlacements,
    find_replay,
)
from tierscope.usecases.slowdown.points import SlowdownPointRequest, SlowdownPoints
from tierscope.wire._generated import heat_pb2

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)

TPP = {NUMA_BALANCING: "2", DEMOTION: "true", DEMOTE_SCALE: "200"}
TIERING = {NUMA_BALANCING: "2", DEMOTION: "true"}


def read(database: Database, *, later: timedelta = timedelta()) -> Ratio:
    reads = RatioReads(ReadContext(database, lambda: now() + later, Settings(_env_file=None)))
    service = service_named(database, "demo/cache")
    return reads.service(service, loss_target=0.2, hold_hot=False, growth=0.0, from_=None, to=None)


def replay(database: Database, *, later: timedelta = timedelta()) -> bool:
    with database.read() as session:
        number = int(session.execute(text("SELECT id FROM services")).scalar_one())
    return ReplayPlacements(database, lambda: now() + later).refresh(number)


def shares(view: Ratio) -> list[float]:
    return [candidate.share_on_slow.value or 0.0 for candidate in view.candidates]


@long
def test_the_share_is_that_of_the_hosts_own_policy_with_the_best_static_one_beside(histories: Histories) -> None:
    database, _ = histories.copy(send_history, knobs=TPP)
    before = read(database)
    assert before.placement is not None
    assert (before.placement.source, before.placement.beside) == ("best_static", None)
    assert "not replayed under TPP yet" in before.placement.why
    assert before.next_steps[0].what == "replay"
    assert any(item.name == "placement_policy" for item in before.assumptions)
    done = RefreshAdvice(database, now, Settings(_env_file=None)).run()
    assert done is not None
    assert (done.failures, done.subjects > 0) == (0, True), "the hourly refresh replays before it advises"
    view = read(database)
    assert (view.answer, view.grade) == ("range", "established")
    assert view.next_steps[0].what == "ab_test"
    assert view.placement is not None
    assert (view.placement.source, view.placement.beside) == ("simulated:tpp", "best_static")
    assert "3 of 3 hosts run it: numa_balancing is 2, demotion is on" in view.placement.why
    assert view.placement.made_at == now()
    assert shares(view) == sorted(shares(view)), "less DRAM serves less"
    best = [candidate.share_on_slow_best_static for candidate in view.candidates]
    assert [figure.value if figure else None for figure in best] == pytest.approx(shares(before))
    for candidate in view.candidates:
        share = candidate.share_on_slow
        assert share.interval is not None
        assert share.interval.lo <= (share.value or 0.0) <= share.interval.hi
        assert (share.n_hosts, share.grounding) == (3, "A sampled pages replayed under TPP")
    assert {item.name for item in view.assumptions} >= {"placement", "first_placement", "headroom"}


@long
def test_a_default_kernel_leaves_hot_pages_where_they_are_and_the_answer_says_what_that_costs(
    histories: Histories,
) -> None:
    database, _ = histories.copy(send_history, days=2, knobs={NUMA_BALANCING: "0", DEMOTION: "false"})
    static = read(database)
    assert replay(database)
    view = read(database)
    assert view.placement is not None
    assert view.placement.source == "simulated:first_touch"
    half = next(candidate for candidate in view.candidates if candidate.name == "1:1")
    assert half.share_on_slow.value == pytest.approx(0.51, abs=0.2), "placement knows nothing of heat"
    assert all(simulated > best for simulated, best in zip(shares(view), shares(static), strict=True)), (
        "the best static placement serves more"
    )
    assert view.placement.chosen_beside is not None
    assert any(view.placement.chosen_beside in note and "densest" in note for note in view.notes)


def test_what_the_placement_of_today_keeps_the_densest_pages_keep_too(
    histories: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, _ = histories.copy(send_history, knobs=TPP)
    assert replay(database)
    known = read(database)
    assert known.range is not None
    assert known.range.safe is not None

    def beside_bounds(found: FoundPlacement, placement: ReplayedPlacement, best: PlacementFacts) -> PlacementFacts:
        return place_by_replay(found, placement, replace(best, are_bounds=True))

    monkeypatch.setattr("tierscope.usecases.ratio.placement.place_by_replay", beside_bounds)
    view = read(database)
    assert view.range == known.range
    assert view.placement is not None
    assert view.placement.chosen_beside == known.range.safe


def find(database: Database, *, later: timedelta = timedelta()) -> FoundPlacement:
    with database.read() as session:
        number = int(session.execute(text("SELECT id FROM services")).scalar_one())
        return find_replay(session, number, now() + later)


def test_accessed_bits_do_not_tell_what_hot_page_selection_goes_by_and_another_policy_stands_in(
    histories: Histories,
) -> None:
    database, _ = histories.copy(send_history, days=1, knobs=TIERING, backend=heat_pb2.HEAT_BACKEND_ABIT_WALK)
    assert replay(database)
    found = find(database)
    assert found.running.policy.policy == "hot_page_selection_auto"
    assert found.placement is not None
    assert found.placement.stand_in == "tpp"
    view = read(database)
    assert view.placement is not None
    assert view.placement.source == "simulated:tpp"
    assert "accessed bits do not tell" in view.placement.why
    assert "stand_in" in {item.name for item in view.assumptions}
    active = {share: (away.lo, away.hi) for share, away in found.placement.shares}[0.8]
    at_four = next(one for one in view.candidates if one.name == "4:1").share_on_slow.interval
    assert at_four is not None
    assert at_four.lo < active[0] / 10.0, "busy pages may serve far more than active intervals say"
    # Another policy may do 1.5 times worse, as far as chance, which none of this kind exceeds.
    for share, away in found.placement.shares:
        chance = max(1.0 - share, away.value)
        assert away.value * (chance - away.hi) <= (chance - away.value) * away.hi / 1.5 + 1e-9


def count_traffic(database: Database, moved_pages: int, *, alone: bool = True) -> None:
    """A day of bytes at memory: of 1 GB/s a tenth is at slow memory, beside which pages move; DRAM holds half."""
    minutes, page = 24 * 60, 4096
    with database.write() as transaction:
        transaction.execute(text("UPDATE inventory SET at = at - interval '2 days'"))  # settings that have long been so
        hosts = [int(row.id) for row in transaction.execute(text("SELECT id FROM hosts"))]
        service = int(transaction.execute(text("SELECT id FROM services")).scalar_one())
        copied = moved_pages * page
        traffic = {"fast_traffic_bytes": 54e9 + copied, "slow_traffic_bytes": 6e9 + copied}
        pages = {"promoted_pages": moved_pages // 2, "demoted_pages": moved_pages - moved_pages // 2}
        whole = made({**traffic, **pages}, n=minutes)
        own = made({} if alone else {"top_resident_bytes": page, "slow_resident_bytes": page}, n=minutes)
        start_s = now().timestamp() - 60.0 * (minutes + 1)
        plan = plan_host((), Tiers(frozenset({0}), known=True, slow_nodes=frozenset({1})), page_bytes=page)
        parts = [
            (host, subject, replace(ledger, times_s=ledger.times_s + start_s), plan)
            for host in hosts
            for subject, ledger in ((0, whole), (service, own))
        ]
        append_ledgers(transaction, parts)


def test_a_replay_passes_through_what_hosts_measure_at_the_dram_that_they_have(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, knobs=TPP)
    assert replay(database)
    before = read(database)
    count_traffic(database, moved_pages=100_000)
    view = read(database)
    measured = next(item for item in view.assumptions if item.name == "measured_share")
    assert measured.value == pytest.approx(0.1), "copies of pages are no accesses"
    assert "bytes at memory of 3 hosts on which DRAM holds 50% of the memory" in measured.why
    by_name = {candidate.name: candidate.share_on_slow for candidate in view.candidates}
    assert by_name["1:1"].value == pytest.approx(0.1, rel=0.2), "2 % of DRAM stay free"
    more = by_name["4:1"].interval
    assert more is not None
    assert more.hi < 0.1 * 2.5, "more DRAM never serves less"
    assert shares(view) == sorted(shares(view))
    assert shares(view) != shares(before)


def test_bytes_of_a_host_that_others_fill_say_nothing_of_a_service(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, knobs=TPP)
    assert replay(database)
    before = read(database)
    count_traffic(database, moved_pages=0, alone=False)
    assert shares(read(database)) == shares(before)


def test_what_was_measured_under_other_settings_says_nothing_of_these(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, knobs=TPP)
    assert replay(database)
    before = read(database)
    count_traffic(database, moved_pages=0)
    with database.write() as transaction:
        # For half an hour the hosts promoted nothing.
        copy = """INSERT INTO inventory (host_id, at, body) SELECT host_id, :at,
            replace(body::text, '"value": "2"', :mode)::jsonb FROM inventory WHERE at < :at - interval '1 day'"""
        for minutes, mode in ((60, 0), (30, 2)):
            told = {"at": now() - timedelta(minutes=minutes), "mode": f'"value": "{mode}"'}
            transaction.execute(text(copy), told)
    assert shares(read(database)) == shares(before)


def test_replays_are_made_daily_and_used_while_they_are_fresh_and_of_todays_settings(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, knobs=TPP)
    assert replay(database)
    assert not replay(database, later=EVERY - timedelta(hours=1)), "one a day is enough"
    assert replay(database, later=EVERY)
    assert find(database, later=EVERY + HOLDS).placement is not None
    assert "older" in (find(database, later=EVERY + HOLDS + timedelta(hours=1)).why_not or "")
    with database.write() as transaction:
        statement = "UPDATE inventory SET body = replace(body::text, '\"200\"', '\"300\"')::jsonb"
        transaction.execute(text(statement))
    assert "other settings" in (find(database).why_not or "")
    assert replay(database, later=timedelta(minutes=1)), "other settings are replayed at once"
    assert find(database).placement is not None


def test_a_replay_and_an_own_measurement_give_one_ratio(histories: Histories) -> None:
    database, _ = histories.copy(send_history, knobs=TPP)
    assert replay(database)
    service = service_named(database, "demo/cache")
    measured = SlowdownPointRequest(0.3, 0.02, 0.003, "ab_test", None, "")
    SlowdownPoints(database).create(service, measured, actor="t", idempotency_key=None)
    view = read(database)
    assert (view.answer, view.grade) == ("ratio", "established")
    assert view.chosen is not None
    assert view.chosen.name == [candidate.name for candidate in view.candidates if candidate.kept][-1]
    assert (view.chosen.loss_upper.value or 1.0) <= 0.2
    assert view.range is not None
    assert view.range.safe == view.chosen.name
    assert view.chosen.name in view.sentence


def test_one_host_is_replayed_for_its_own_answer_and_again_when_its_samples_can_have_doubled(
    histories: Histories,
) -> None:
    database, _ = histories.copy(send_history, days=1, hosts=1, knobs=TPP, intervals=12)
    assert replay(database)
    found = find(database)
    assert found.why_not is None
    assert found.placement is not None
    assert (found.placement.n_hosts, found.placement.observed_days) == (1, 0.5)
    assert not replay(database, later=timedelta(hours=11))
    assert replay(database, later=timedelta(hours=12))


def test_pages_of_a_moving_hot_set_are_replayed_and_answered(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, hosts=1, knobs=TPP)
    assert replay(database)
    view = read(database)
    jaccard = next(named.figure for named in view.evidence if named.metric == "hot_set_jaccard")
    assert jaccard.value is None, "an overlap that was not measured neither passes nor refuses"
    assert view.answer == "range"


def test_too_few_pages_are_not_replayed(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, hosts=1, knobs=TPP, pages=20)
    assert not replay(database)
    assert "too few to be replayed" in (find(database).why_not or "")
    assert "20 sampled pages" in (find(database).lacks or "")


def test_an_answer_from_few_touched_pages_says_to_wait_instead_of_naming_a_replay_that_cannot_be_made(
    histories: Histories,
) -> None:
    database, _ = histories.copy(
        send_history, days=1, hosts=1, knobs=TPP, pages=80, intervals=12, interval_ns=MINUTE_NS
    )
    view = read(database)
    assert view.answer == "range"
    step = next(step for step in view.next_steps if step.what == "replay")
    assert step.command is None
    assert step.by is not None
    assert "1000 are needed" in step.text
