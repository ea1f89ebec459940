"""When a bucket is due."""

from datetime import UTC, datetime, timedelta

import pytest

from tierscope.domain.base.jobs import (
    COUNTERS,
    HEAT_1D,
    HEAT_1H,
    JOBS,
    SAMPLES,
    SERVICE_HEAT_1D,
    SERVICE_HEAT_1H,
    Job,
    due_table,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def is_due(job: Job, bucket: datetime, now: datetime) -> bool:
    return bucket < job.due_before(now)


def test_the_ledger_is_rebuilt_while_its_bucket_is_open() -> None:
    assert is_due(COUNTERS, NOON, NOON + timedelta(seconds=1))
    assert not is_due(COUNTERS, NOON + timedelta(minutes=10), NOON + timedelta(minutes=10))


@pytest.mark.parametrize("job", [job for job in JOBS if not job.open_buckets], ids=lambda job: job.kind)
def test_other_buckets_wait_until_they_have_closed_and_uploads_are_in(job: Job) -> None:
    closed = NOON + timedelta(microseconds=job.width_us)
    # Agents spread their uploads over a minute; Prometheus sends what it has scraped at once.
    assert job.wait >= timedelta(seconds=5 if job is SAMPLES else 60)
    assert not is_due(job, NOON, closed + job.wait - timedelta(seconds=1))
    assert is_due(job, NOON, closed + job.wait + timedelta(seconds=1))


def test_what_is_made_of_all_hosts_waits_for_their_own_buckets() -> None:
    for of_all, of_one in ((SERVICE_HEAT_1H, HEAT_1H), (SERVICE_HEAT_1D, HEAT_1D)):
        assert of_all.wait > of_one.wait


def test_each_kind_has_its_moment() -> None:
    held = timedelta(minutes=4)
    table = due_table(NOON, held)
    assert len(table) == len(JOBS), "two jobs of one kind"
    assert table[COUNTERS.kind] == NOON
    assert table[HEAT_1H.kind] == NOON - timedelta(hours=1) - HEAT_1H.wait - held
    assert table[SAMPLES.kind] == NOON - timedelta(microseconds=SAMPLES.width_us) - SAMPLES.wait


def test_fine_buckets_are_worked_before_the_coarse_ones_that_stand_on_them() -> None:
    order = [job.kind for job in JOBS]
    for fine, coarse in (
        ("counters", "metrics_1h"),
        ("metrics_1h", "metrics_1d"),
        ("counters", "counters_pack"),
        ("heat", "heat_1h"),
        ("heat_1h", "heat_1d"),
    ):
        assert order.index(fine) < order.index(coarse)
