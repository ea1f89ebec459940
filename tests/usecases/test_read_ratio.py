"""Ratio advice as read: a week of heat and page samples gives an answer with its evidence; less is refused."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from factories.ratio_services import GIB, now, send_history
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.reads import RatioReads, find_by_name
from tierscope.usecases.slowdown.points import SlowdownPointRequest, SlowdownPoints

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        yield opened


def service_of(database: Database) -> str:
    return find_by_name(database, "demo/cache")


def read(database: Database, **options: object) -> Ratio:
    reads = RatioReads(ReadContext(database, now, Settings(_env_file=None)))
    asked: dict[str, Any] = {"loss_target": 0.05, "stressed": False, "growth": 0.0, "from_": None, "to": None}
    return reads.service(service_of(database), **{**asked, **options})


def test_a_full_week_gives_the_smallest_ratio_that_keeps_the_target(database: Database) -> None:
    send_history(database)
    view = read(database)
    assert (view.refused, view.answer) == ((), "ratio")
    assert view.chosen is not None
    names = [candidate.name for candidate in view.candidates]
    assert names == ["8:1", "4:1", "2:1", "1:1", "1:2", "1:4"]
    kept = [candidate.name for candidate in view.candidates if candidate.kept]
    assert view.chosen.name == kept[-1]
    assert set(view.alternatives) == set(kept) - {view.chosen.name}
    assert all(candidate.why_not for candidate in view.candidates if not candidate.kept)
    upper = [candidate.loss_upper.value or 0.0 for candidate in view.candidates]
    assert upper == sorted(upper)
    assert (view.chosen.loss_upper.value or 1.0) <= 0.05
    share = view.chosen.share_on_slow
    assert (share.n_hosts, share.unit) == (3, "ratio")
    assert share.interval is not None
    assert share.interval.lo <= (share.value or 0.0) <= share.interval.hi
    figures = {named.metric: named.figure for named in view.evidence}
    assert figures["required_bytes_per_host"].value == pytest.approx(100 * GIB)
    assert figures["hot_bytes_per_host"].value == pytest.approx(10 * GIB)
    assert figures["rho"].status == figures["demand_bytes_per_s"].status == "not_collected"
    assert view.chosen.dram_bytes == pytest.approx(view.chosen.dram_ratio * 100 * GIB)
    assert {item.name for item in view.assumptions} >= {"placement", "headroom", "rho", "exponent"}
    assert [item.name for item in view.sensitivity] == ["rho", "exponent", "growth"]
    assert view.expires_at is not None
    assert (view.expires_at - view.window.end).days == 14
    assert view.service_class.name is None
    assert view.chosen.name in view.sentence
    assert read(database, from_="-1h").answer == "ratio", "a week is read whatever the window asked for"
    grown = read(database, growth=0.5)
    more = [candidate.share_on_slow.value or 0.0 for candidate in grown.candidates]
    less = [candidate.share_on_slow.value or 0.0 for candidate in view.candidates]
    assert all(after > before for before, after in zip(less, more, strict=True)), "growth takes DRAM away"
    assert grown.headroom_ratio == pytest.approx(1 - 0.98 / 1.5)


def test_a_tighter_target_keeps_more_dram_and_needs_measured_latencies(database: Database) -> None:
    send_history(database, spread=1.2)
    strict = read(database, loss_target=0.01)
    assert strict.answer == "refused"
    assert any("bench" in reason for reason in strict.refused)
    assert (strict.candidates, strict.sweep, strict.chosen, strict.expires_at) == ((), None, None, None)
    loose, tight = read(database, loss_target=0.2, stressed=True), read(database, loss_target=0.02, stressed=True)
    assert loose.chosen is not None
    assert tight.chosen is None or tight.chosen.dram_ratio > loose.chosen.dram_ratio


def test_owners_points_move_the_belief(database: Database) -> None:
    send_history(database)
    before = read(database)
    assert before.posterior is not None
    points, service = SlowdownPoints(database), service_of(database)
    share = before.candidates[3].share_on_slow.value or 0.1
    points.create(
        service, SlowdownPointRequest(share, 0.0005, 0.0001, "ab_test", None, ""), actor="t", idempotency_key=None
    )
    points.create(
        service, SlowdownPointRequest(share, -0.001, 0.001, "ab_test", None, ""), actor="t", idempotency_key=None
    )
    after = read(database)
    assert [point.used for point in after.points] == [False, True]
    assert after.points[0].why_not is not None
    assert after.posterior is not None
    assert (after.posterior.points_used, before.posterior.points_used) == (1, 0)
    assert after.posterior.variance < before.posterior.variance
    assert after.posterior.at_share == pytest.approx(share)
    assert (after.candidates[3].loss_upper.value or 1) < (before.candidates[3].loss_upper.value or 0)


@pytest.mark.parametrize(
    ("history", "missing"),
    [
        ({"hosts": 2}, "3 are needed"),
        ({"days": 6}, "full week"),
        ({"hours_of_day": range(0, 24, 2)}, "10% of the intervals are missing"),
        ({"memory_bytes": (64 * GIB, 128 * GIB)}, "differ in hardware"),
        ({"pages": 40, "per_page": 0.01}, "accesses"),
    ],
)
def test_thin_data_is_refused_with_what_is_missing(database: Database, history: dict[str, Any], missing: str) -> None:
    send_history(database, **history)
    view = read(database)
    assert view.answer == "refused"
    assert any(missing in reason for reason in view.refused), view.refused
    assert view.candidates == ()
    assert view.sentence.startswith("No ratio is advised yet")


def test_no_data_at_all_is_refused(database: Database) -> None:
    send_history(database, hosts=1, days=1)
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("DELETE FROM traces")
        transaction.connection.exec_driver_sql("DELETE FROM heat_live")
    view = read(database)
    assert (view.answer, view.posterior) == ("refused", None)
    assert view.leading.cold_in_dram_bytes.status == "not_collected"
    with pytest.raises(NotFound):
        find_by_name(database, "demo/none")
