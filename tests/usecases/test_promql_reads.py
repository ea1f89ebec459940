"""History in PromQL: counters over a midnight, gaps that stay gaps, columns that a host does not have, packed days."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text

from factories import batches
from factories.derived import drain
from factories.installations import enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.base.buckets import day_of
from tierscope.domain.ledger import COLUMN_KEYS
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.ledger.days import LEDGER, Moves, copy_moves
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.promql.reads import PromQueries

KEYS = (
    "host|vmstat|pgdemote_direct",
    "host|vmstat|pgdemote_kswapd",
    "host|vmstat|pgpromote_success",
    "service:demo/cache|memory.stat|pgpromote_success",
)
MINUTE_S = 60
MISSING = range(40, 55)
"""Samples that never came: those of 00:10 to 00:24."""
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def midnight() -> datetime:
    return day_of(utc_now()) - timedelta(days=1)


@pytest.fixture(params=["built", "fresh"])
def queries(database_url: str, request: pytest.FixtureRequest) -> Iterator[PromQueries]:
    """An hour of one host around a midnight, with and without what workers make of it; the clock stands at its end."""
    first_ns = int((midnight() - timedelta(minutes=30)).timestamp()) * 10**9
    some = [i for i in range(61) if i not in MISSING]
    ends = [first_ns + i * batches.MINUTE_NS for i in some]
    with closing(Database(database_url)) as database:
        host = enrol(database, name="h")
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=max(ends))
        rows = [[i, 1000 + 50 * i, 7_000_000 + i * i, 10 * i] for i in some]
        batches.add_counters(batch, rows, ends_ns=ends, keys=KEYS)
        batches.add_inventory(batch)
        assert store(database, host, [batch])
        if request.param == "built":
            drain(database)
        at = datetime.fromtimestamp(max(ends) / 1e9, tz=UTC)
        yield PromQueries(ReadContext(database, lambda: at, Settings(_env_file=None)))


def ask(queries: PromQueries, query: str) -> dict[str, float]:
    """Values by the metric's name, empty where it was dropped."""
    found = json.loads(queries.instant(query, None))["data"]
    assert found["resultType"] == "vector"
    return {one["metric"].get("__name__", ""): float(one["value"][1]) for one in found["result"]}


def test_a_counter_begins_anew_at_midnight_and_loses_nothing(queries: PromQueries) -> None:
    promoted = "tierscope_host_promoted_pages_total"
    assert ask(queries, f"resets({promoted}[2h])") == {"": 1}
    assert ask(queries, promoted) == {promoted: 60**2 - 30**2}
    assert ask(queries, f"{promoted} @ {midnight().timestamp()}") == {promoted: 30**2}
    gained = ask(queries, f"increase({promoted}[50m])")[""]
    assert gained == pytest.approx(60**2 - 10**2, rel=0.05)  # extrapolated to the ends of the range


def test_a_gap_stays_a_gap_behind_the_lookback(queries: PromQueries) -> None:
    start = midnight().timestamp() + 9 * MINUTE_S
    answer = queries.range("tierscope_host_promoted_pages_total", str(start), str(start + 16 * MINUTE_S), "1m")
    (found,) = json.loads(answer)["data"]["result"]
    minutes = [round((at_s - start) / MINUTE_S) + 9 for at_s, _ in found["values"]]
    assert minutes == [9, 10, 11, 12, 13, 25]


def test_rates_are_those_of_each_interval(queries: PromQueries) -> None:
    assert ask(queries, "tierscope_host_demoted_pages_per_second") == {
        "tierscope_host_demoted_pages_per_second": pytest.approx(51 / 60)
    }


def test_a_column_that_the_kernel_does_not_count_has_no_series(queries: PromQueries) -> None:
    assert ask(queries, "tierscope_host_demoted_khugepaged_pages_total") == {}
    assert ask(queries, "absent(tierscope_host_oom_kills_total)") == {"": 1}


def test_days_that_are_packed_are_told_too(queries: PromQueries, database_url: str) -> None:
    day, n = midnight() - timedelta(days=20), 10
    place = COLUMN_KEYS.index("promoted_pages")
    values, present = np.zeros((n, len(COLUMN_KEYS)), np.int64), np.zeros((n, len(COLUMN_KEYS)), np.bool_)
    values[:, place], present[:, place] = 7, True
    ends, none = to_us(day) + 60_000_000 * np.arange(1, n + 1), np.zeros(n, np.int64)
    with closing(Database(database_url)) as database, database.write() as transaction:
        host_id = transaction.execute(text("SELECT id FROM hosts")).scalar_one()
        ensure_partitions(transaction, day, day + timedelta(days=1))
        copy_moves(transaction, [Moves(host_id, 0, ends, np.full(n, 60.0), none, none, values, present)])
        LEDGER.close(transaction, host_id, [day])
    promoted = "tierscope_host_promoted_pages_total"
    assert ask(queries, f"{promoted} @ {day.timestamp() + n * MINUTE_S}") == {promoted: 7 * n}


def test_a_service_has_the_moves_of_its_own_cgroups(queries: PromQueries) -> None:
    promoted = "tierscope_service_promoted_pages_total"
    assert ask(queries, f'{promoted}{{service="cache",host="h"}}') == {promoted: 300}
    assert ask(queries, f'resets({promoted}{{namespace="demo"}}[2h])') == {"": 1}
    assert ask(queries, "tierscope_service_promoted_pages_per_second") == {
        "tierscope_service_promoted_pages_per_second": pytest.approx(10 / 60)
    }
    assert ask(queries, f'{promoted}{{service="other"}}') == {}
    assert ask(queries, "tierscope_service_demoted_pages_total") == {}
    # What is counted for whole hosts alone is no metric of a service.
    told = queries.metadata(None, None).data
    assert {"tierscope_host_fast_traffic_bytes_total", "tierscope_host_damon_promoted_bytes_total"} <= set(told)
    assert not {"tierscope_service_fast_traffic_bytes_total", "tierscope_service_damon_promoted_bytes_total"} & set(
        told
    )
    listed = queries.series([promoted, "tierscope_service_demoted_kswapd_pages_total"], None, None).data
    # Series are listed by the rows that workers have made, of services as of hosts.
    n_listed = len(queries.series(["tierscope_host_promoted_pages_total"], None, None).data)
    assert [(one["__name__"], one["service"], one["host"]) for one in listed] == [(promoted, "cache", "h")] * n_listed
