"""Records of damo: `tierscope analyze` and `tierscope export-damo`, with damo itself as the judge."""

import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.commands import call
from fixtures.damo import damo_percentiles, needs_damo

RECORDS = Path(__file__).resolve().parents[1] / "data" / "damo"


def analyze(path: Path, *words: str | Path, expect: int = 0) -> dict[str, Any]:
    done = call("analyze", path, *words, "--json")
    assert done.status == expect, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sizes(found: dict[str, Any], key: str) -> dict[int, int]:
    return {row["percent"]: row[key] for row in found["targets"][0]["working_set"]["percentiles"]}


@needs_damo
@pytest.mark.parametrize("name", ["r1-paddr-5ms-100ms.data", "r3-redis-1gib.data", "r4-redis-1gib.perf_script"])
def test_the_working_set_of_a_record_is_that_of_damo(name: str) -> None:
    found = analyze(RECORDS / name)
    assert sizes(found, "by_size_bytes") == damo_percentiles(RECORDS / name, "--sortby", "size")
    assert sizes(found, "by_time_bytes") == damo_percentiles(RECORDS / name, "--sortby", "time")


def overlapping(directory: Path) -> Path:
    """A record of three snapshots in which a hot region lies in a cold one."""
    region = {"age": {"usec": None, "aggr_intervals": "1"}}
    regions = [
        {"start": "4,096", "end": "1,052,672", "nr_accesses": {"samples": 1, "percent": None}, **region},
        {"start": "8,192", "end": "16,384", "nr_accesses": {"samples": 5, "percent": None}, **region},
    ]
    snapshots = [
        {"start_time": str(at * 10**9), "end_time": str((at + 1) * 10**9), "regions": regions} for at in range(3)
    ]
    intervals = {"sample_us": "100,000", "aggr_us": "1,000,000", "ops_update_us": "1,000,000"}
    record = {
        "kdamond_idx": 0,
        "context_idx": 0,
        "intervals": intervals,
        "scheme_idx": None,
        "target_id": 0,
        "snapshots": snapshots,
    }
    path = directory / "overlapping.data"
    path.write_bytes(zlib.compress(json.dumps([record]).encode()))
    return path


@needs_damo
def test_overlapping_regions_are_counted_and_the_working_set_stays_that_of_damo(tmp_path: Path) -> None:
    path = overlapping(tmp_path)
    found = analyze(path, "--exclude-snapshots", "0")
    target = found["targets"][0]
    assert target["overlapping"] == {"snapshots": 3, "regions": 3, "bytes": 3 * 8192}
    assert target["monitored_bytes"] == 1_048_576
    assert sizes(found, "by_size_bytes") == damo_percentiles(path, "--exclude_samples", "0", "--sortby", "size")
    assert "overlap" in call("analyze", path, "--exclude-snapshots", "0").stdout


def test_a_record_with_too_few_snapshots_has_no_working_set_and_says_what_to_do(tmp_path: Path) -> None:
    path = overlapping(tmp_path)
    working_set = analyze(path, expect=3)["targets"][0]["working_set"]
    assert (working_set["average_bytes"], working_set["percentiles"]) == (None, [])
    assert working_set["reason"] == "the record has 3 snapshots, and the first 20 are left out"
    assert "--exclude-snapshots 0" in call("analyze", path).stderr


def page_trace(path: Path, rows: list[tuple[int, int, str]]) -> Path:
    """A page trace of (interval, page, kind)."""
    interval, page, kind = zip(*rows, strict=True)
    ones = pa.array([1] * len(rows), pa.uint32())
    table = pa.table(
        {
            "interval": pa.array(interval, pa.uint32()),
            "page": pa.array(page, pa.uint64()),
            "kind": pa.array(kind),
            "loads": ones,
            "stores": ones,
        }
    )
    pq.write_table(table, path)
    return path


@needs_damo
def test_a_page_trace_becomes_a_record_of_which_damo_reports_the_pages_accessed(tmp_path: Path) -> None:
    rows = [(at, page, "heap") for at in range(30) for page in range(100, 120) if (page * 7 + at) % 5 < at % 4]
    rows.append((0, 100, "heap"))
    rows += [(0, 40, "file"), (29, 41, "file")]
    trace = page_trace(tmp_path / "trace.parquet", sorted(rows))
    done = call("export-damo", trace, tmp_path / "out.data", "--json")
    assert done.status == 0, done.stderr
    assert json.loads(done.stdout)["targets"] == [[0, "anon"], [1, "file"]]
    accessed = sorted(4096 * sum(at == now and kind == "heap" for at, _, kind in rows) for now in range(30))
    read_back = analyze(tmp_path / "out.data", "--exclude-snapshots", "0")
    expected = {percent: accessed[min(percent * 30 // 100, 29)] for percent in range(0, 101, 5)}
    assert sizes(read_back, "by_size_bytes") == expected
    trace = page_trace(tmp_path / "trace.parquet", sorted(row for row in rows if row[2] == "heap"))
    assert call("export-damo", trace, tmp_path / "heap.data").status == 0
    assert damo_percentiles(tmp_path / "heap.data", "--exclude_samples", "0", "--sortby", "size") == expected


def test_an_exported_record_holds_what_was_read(tmp_path: Path) -> None:
    source = RECORDS / "r3-redis-1gib.data"
    assert call("export-damo", source, tmp_path / "again.json", "--text").status == 0
    text = (tmp_path / "again.json").read_text()
    assert all(json.dumps(one) in text for one in json.loads(text)[0]["snapshots"])
    first, again = analyze(source), analyze(tmp_path / "again.json")
    assert first["targets"] == again["targets"]


def test_other_files_and_places_are_refused_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    done = call("export-damo", tmp_path / "note.txt", tmp_path / "out.data")
    assert (done.status, "next" in done.stderr.lower()) == (1, True)
    assert not (tmp_path / "out.data").exists()
    done = call("export-damo", RECORDS / "r3-redis-1gib.data", tmp_path / "missing" / "out.data")
    assert done.status != 0
    assert "cannot be written" in done.stderr
    damaged = tmp_path / "damaged.data"
    damaged.write_bytes((RECORDS / "r3-redis-1gib.data").read_bytes()[:9000])
    done = call("analyze", damaged)
    assert done.status != 0
    assert "Record it again" in done.stderr
