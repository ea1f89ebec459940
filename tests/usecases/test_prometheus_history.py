"""History of a real Prometheus is taken over exactly, goes on where it ended, and becomes ledger and rollups."""

import json
import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from cli.commands import call
from factories.derived import drain
from factories.prometheus import prometheus, require
from factories.waiting import DEADLINE_SECONDS
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.storage.ingest.series import match_series
from tierscope.storage.ledger.rows import read_ledger
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ingest.series import Series

pytestmark = [pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.running_clock]
STEP_S = 60
MINUTES = 150
DAYS_AGO = 12
CONFIGURATION = "global: {external_labels: {cluster: east}}\n"


def backfill(folder: Path, start: datetime) -> dict[str, list[float]]:
    """Fills a database of Prometheus with counters of one host; the values by metric."""
    steps = np.arange(MINUTES)
    values = {
        "node_vmstat_pgpromote_success": (steps**2).astype(float).tolist(),
        "node_vmstat_pgdemote_kswapd": (steps * 50).astype(float).tolist(),
        "node_vmstat_numa_hint_faults": (steps * 7).astype(float).tolist(),
        "node_pressure_memory_waiting_seconds_total": (steps * 0.123457).tolist(),
        "node_load1": np.sin(steps).tolist(),
    }
    lines = []
    for metric, column in values.items():
        lines.append(f"# TYPE {metric} unknown")
        for place, value in enumerate(column):
            at = start.timestamp() + place * STEP_S
            lines.append(f'{metric}{{instance="db1:9100",job="node"}} {value!r} {at:.3f}')
    text = folder / "history.txt"
    text.write_text("\n".join([*lines, "# EOF\n"]))
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "tsdb")]
    subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_SECONDS)
    return values


def run_import(database_url: str, folder: Path, *words: str) -> dict[str, int]:
    environment = os.environ | {"TIERSCOPE_DATABASE_URL": database_url, "TIERSCOPE_DATA_DIR": str(folder / "data")}
    done = call("import", "prometheus", "--json", *words, env=environment)
    assert done.status == 0, done.stderr
    answer: dict[str, int] = json.loads(done.stdout)
    return answer


def stored(database: Database, start: datetime, end: datetime) -> dict[str, list[float]]:
    """All samples of the window by metric."""
    reads = Series(ReadContext(database=database, clock=utc_now, settings=Settings()))
    found: dict[str, list[float]] = {}
    for row in reads.samples('{instance="db1:9100"}', from_=start.isoformat(), to=end.isoformat()):
        found.setdefault(row.series.labels["__name__"], []).append(row.value)
    return found


def test_history_becomes_ledger_and_is_taken_once(database: Database, database_url: str, tmp_path: Path) -> None:
    require("prometheus", "promtool")
    start = (utc_now() - timedelta(days=DAYS_AGO)).replace(minute=3, second=0, microsecond=0)
    end = start + timedelta(minutes=MINUTES)
    values = backfill(tmp_path, start)
    words = ["--from", (start - timedelta(minutes=5)).isoformat(), "--to", end.isoformat()]
    with prometheus(tmp_path, CONFIGURATION, "--storage.tsdb.retention.time=60d") as address:
        first = run_import(database_url, tmp_path, "--url", address, *words)
        again = run_import(database_url, tmp_path, "--url", address, *words)
        anew = run_import(database_url, tmp_path, "--url", address, *words, "--again")
    n = sum(map(len, values.values()))
    assert (first["samples"], again["samples"], anew["samples"]) == (n, 0, n)
    before = start - timedelta(seconds=1)
    assert stored(database, before, end) == values
    drain(database)
    assert stored(database, before, end) == values
    with database.read() as session:
        (one,) = match_series(session, [("__name__", "=", "node_load1")], after=0, limit=5)
        assert one.labels["cluster"] == "east"
        (part,) = read_ledger(session, [1], 0, before, end)
    assert part.ledger.total("promoted_pages") == (MINUTES - 1) ** 2
    assert part.ledger.total("demoted_kswapd_pages") == 50 * (MINUTES - 1)
    assert part.ledger.total("psi_some_us") == round((MINUTES - 1) * 0.123457 * 1e6)
