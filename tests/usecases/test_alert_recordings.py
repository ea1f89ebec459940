"""Recordings of real kernels under the shipped rules: ping-pong is alerted on once, the others are never critical."""

import pytest

from factories.watched import Change, Watched, recording
from fixtures.elsewhere import long
from tierscope.core.database import Database

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
LULL = 4
QUIET = 45


def watch(database: Database, name: str, *, lull_at: int | None = None, quiet: int = 0) -> Watched:
    """A recording, a minute per snapshot, judged from its begin to its end. In a lull all counters stand still."""
    keys, rows = recording(name)
    if lull_at is not None:
        rows = [*rows[:lull_at], *[rows[lull_at - 1]] * LULL, *rows[lull_at:]]
    rows = [*rows, *[rows[-1]] * quiet]
    watched = Watched(database, len(rows))
    host = watched.enrol()
    watched.send(host, keys, rows[:2])
    watched.evaluate(3.5)
    watched.send(host, keys, rows[2:], first=2)
    watched.evaluate(len(rows) + 4)
    return watched


def steps(changes: list[Change]) -> list[str]:
    return [change.after for change in changes]


def test_ping_pong_is_alerted_on_kept_through_a_lull_and_cleared_once(database: Database) -> None:
    watched = watch(database, "04-pingpong", lull_at=60, quiet=QUIET)
    for rule in ("ping-pong-futile", "ping-pong-critical"):
        changes = watched.changes(rule)
        assert steps(changes)[-2:] == ["firing", "resolved"]
        assert steps(changes).count("firing") == 1
        fired, cleared = changes[-2].minute, changes[-1].minute
        assert fired < 60 < 60 + LULL < cleared
        assert cleared > 103


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("01-baseline-fits", marks=long),
        pytest.param("02-default-spill", marks=long),
        "03-tiering-steady",
        pytest.param("05-ratelimited", marks=long),
        pytest.param("07b-phase-fastscan", marks=long),
        "08-swap",
        pytest.param("10-cxl-real", marks=long),
        pytest.param("15-mixed-reclaim", marks=long),
    ],
)
def test_other_recordings_raise_nothing_critical(database: Database, name: str) -> None:
    watched = watch(database, name)
    assert [change for change in watched.changes() if change.severity == "critical"] == []


def test_a_flood_of_cold_file_pages_raises_nothing_critical(database: Database) -> None:
    """A scan of a large file: a million pages a minute are demoted, and hardly one of them is wanted back."""
    per_minute = {
        "host|vmstat|numa_hint_faults": 3_000,
        "host|vmstat|numa_pte_updates": 200_000,
        "host|vmstat|pgdemote_kswapd": 1_000_000,
        "host|vmstat|pgpromote_candidate": 60,
        "host|vmstat|pgpromote_success": 50,
        "host|vmstat|pgscan_anon": 0,
        "host|vmstat|pgscan_file": 1_050_000,
        "host|vmstat|pgsteal_anon": 0,
        "host|vmstat|pgsteal_file": 1_000_000,
    }
    sizes = {
        "node:0|vmstat|nr_active_anon": 60_000,
        "node:0|vmstat|nr_inactive_file": 100_000,
        "node:1|vmstat|nr_inactive_file": 700_000,
    }
    rows: list[list[int | None]] = [
        [*(step * minute for step in per_minute.values()), *sizes.values()] for minute in range(120)
    ]
    watched = Watched(database, len(rows))
    host = watched.enrol()
    watched.send(host, (*per_minute, *sizes), rows[:2])
    watched.evaluate(3.5)
    watched.send(host, (*per_minute, *sizes), rows[2:], first=2)
    assert watched.evaluate(len(rows) + 4) > 100
    assert [change for change in watched.changes() if change.severity == "critical"] == []
    assert watched.changes("ping-pong-futile") == []


@pytest.mark.parametrize(("up", "down"), [(30, 36), (3600, 3600)])
def test_an_exchange_on_nodes_whose_sizes_nobody_sends_fires_nothing(database: Database, up: int, down: int) -> None:
    """As of a node_exporter without its collector of node sizes: how much of the memory moves cannot be told."""
    per_minute = {
        "host|vmstat|numa_hint_faults": 60_000,
        "host|vmstat|numa_pte_updates": 200_000,
        "host|vmstat|pgdemote_direct": 0,
        "host|vmstat|pgdemote_kswapd": down,
        "host|vmstat|pgpromote_candidate": up,
        "host|vmstat|pgpromote_success": up,
        "host|vmstat|pswpin": 0,
        "host|vmstat|pswpout": 0,
    }
    rows: list[list[int | None]] = [[step * minute for step in per_minute.values()] for minute in range(60)]
    watched = Watched(database, len(rows))
    host = watched.enrol()
    watched.send(host, tuple(per_minute), rows[:2])
    watched.evaluate(3.5)
    watched.send(host, tuple(per_minute), rows[2:], first=2)
    assert watched.evaluate(len(rows) + 4) > 50
    assert [change for change in watched.changes() if change.after == "firing"] == []
