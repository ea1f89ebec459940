"""What sysstat and Performance Co-Pilot recorded becomes the ledger of a host on which nothing of ours ever ran."""

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from cli.commands import Ended, call
from factories.derived import drain
from factories.installations import enrol
from factories.loopback import free_port
from factories.prometheus import process, require
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Unprocessable
from tierscope.domain.ingest.history.recorded import Recorded
from tierscope.storage.ledger.rows import read_ledger
from tierscope.usecases.ingest import recorded_history
from tierscope.usecases.ingest.recorded_history import read_collectl, read_pcp, read_sysstat

pytestmark = pytest.mark.running_clock
NATIVE = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
DAY = timedelta(days=1)
TEN_MINUTES = timedelta(minutes=10)
SADC = Path("/usr/lib/sysstat/sadc")


def run_import(database_url: str, folder: Path, *words: str | Path) -> Ended:
    environment = os.environ | {"TIERSCOPE_DATABASE_URL": database_url, "TIERSCOPE_DATA_DIR": str(folder / "data")}
    return call("import", *words, env=environment)


def sadf_json(first: datetime, promoted_per_s: list[float]) -> dict[str, Any]:
    """Output of `sadf -j` with records every ten minutes."""
    rows = []
    for i, rate in enumerate(promoted_per_s):
        at = first + i * TEN_MINUTES
        stamp = {"date": f"{at:%Y-%m-%d}", "time": f"{at:%H:%M:%S}", "tz": "UTC", "interval": 600}
        memory = {"memfree": 1 << 20, "memused": 3 << 20, "memused-percent": 75.0}
        rows.append({"timestamp": stamp, "paging": {"pgprom": rate, "pgdem": 2.0, "pgsteal": 8.0}, "memory": memory})
    host = {"nodename": "old1", "release": "6.12.9", "machine": "x86_64", "statistics": rows, "restarts": []}
    return {"sysstat": {"hosts": [host]}}


@NATIVE
def test_two_days_of_sysstat_are_a_ledger_in_any_order(database: Database, database_url: str, tmp_path: Path) -> None:
    start = utc_now().replace(hour=0, minute=0, second=0, microsecond=0) - 12 * DAY
    for name, at, rates in (("sa02", start + DAY, 3.0), ("sa01", start, 1.5), ("sa02", start + DAY, 3.0)):
        printed = json.dumps(sadf_json(at + TEN_MINUTES, [rates] * 143))
        (tmp_path / f"{name}.xz").write_bytes(lzma.compress(printed.encode()))
        done = run_import(database_url, tmp_path, "sysstat", tmp_path / f"{name}.xz")
        assert done.status == 0, done.stderr
    assert "old1: sysstat, 144 samples" in done.stdout
    assert "memory by node is not collected: sysstat never records it" in done.stderr
    drain(database)
    with database.read() as session:
        (part,) = read_ledger(session, [1], 0, start - TEN_MINUTES, start + 2 * DAY)
    assert part.ledger.total("promoted_pages") == round(143 * 600 * 4.5)
    assert part.ledger.total("demoted_pages") == 2 * 143 * 600 * 2
    assert part.ledger.total("reclaimed_pages") is None


@NATIVE
def test_history_before_the_agent_is_taken_and_none_beside_it(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    start = utc_now().replace(hour=0, minute=0, second=0, microsecond=0) - 3 * DAY
    enrolled = start + DAY
    enrol(database, name="old1")
    with database.write() as transaction:
        agent = "UPDATE hosts SET agent_version = '1.0', last_seen_at = now(), boot_id = 'own', enrolled_at = :at"
        transaction.execute(text(agent), {"at": enrolled})
    (tmp_path / "sa.json").write_text(json.dumps(sadf_json(start + TEN_MINUTES, [1.5] * 200)))
    assert run_import(database_url, tmp_path, "sysstat", tmp_path / "sa.json").status == 0
    drain(database)
    with database.read() as session:
        (part,) = read_ledger(session, [1], 0, start - TEN_MINUTES, start + 2 * DAY)
        boot = session.execute(text("SELECT boot_id FROM hosts")).scalar_one()
    assert boot == "own"
    assert part.ledger.total("promoted_pages") == round((23 * 6) * 600 * 1.5)


def assess(database_url: str, folder: Path, *words: str) -> Ended:
    """Runs `tierscope assess --host`."""
    environment = os.environ | {"TIERSCOPE_DATABASE_URL": database_url, "TIERSCOPE_DATA_DIR": str(folder / "data")}
    return call("assess", "--host", *words, env=environment)


@NATIVE
def test_a_host_on_which_nothing_of_ours_ran_is_assessed(database: Database, database_url: str, tmp_path: Path) -> None:
    start = utc_now().replace(hour=0, minute=0, second=0, microsecond=0) - 5 * DAY
    printed = sadf_json(start + TEN_MINUTES, [1.5] * 143)
    for row in printed["sysstat"]["hosts"][0]["statistics"]:
        row["memory"] |= {"active": 1 << 20, "inactive": 1 << 19}
    (tmp_path / "sa.json").write_text(json.dumps(printed))
    assert run_import(database_url, tmp_path, "sysstat", tmp_path / "sa.json").status == 0
    table = ['Time,"mem.vmstat.numa_hint_faults","mem.vmstat.pgfault","mem.numa.util.total-node0"']
    table += [f"{(start + 2 * DAY + i * TEN_MINUTES).isoformat()},{60 * i},{9 * i},{8 << 20}" for i in range(12)]
    (tmp_path / "p.csv").write_text("\n".join(table))
    assert run_import(database_url, tmp_path, "pcp", tmp_path / "p.csv", "--host", "pcp1").status == 0
    drain(database)
    answer = json.loads(assess(database_url, tmp_path, "old1", "--json").stdout)
    assert [(day["day"], day["promoted_pages"]) for day in answer["days"]] == [(f"{start:%Y-%m-%d}", 143 * 900)]
    found = {figure["key"]: figure for figure in answer["figures"]}
    assert (found["promoted_pages"]["state"], found["promoted_pages"]["figure"]["value"]) == ("given", 1.5)
    assert found["memory_bytes"]["figure"]["value"] == 4 << 30
    assert found["used_bytes"]["figure"]["value"] == 3 << 30
    cold = found["cold_bytes"]["figure"]["interval"]
    assert (found["cold_bytes"]["state"], cold["lo"], cold["hi"]) == ("bounded", 0, 3 << 29)
    assert found["dram_saving_bytes"]["figure"]["interval"]["lo"] == 1 << 30
    for key in ("hint_faults", "slower_bytes", "refault_anon_pages"):
        assert (found[key]["state"], "sysstat" in found[key]["note"]) == ("not_collected", True)
    said = assess(database_url, tmp_path, "old1").stdout
    assert "1 day with counters in the last 30" in said
    assert f"{start:%Y-%m-%d}  23.8 h  128,700 pages promoted, 171,600 pages demoted" in said
    said = assess(database_url, tmp_path, "pcp1").stdout
    assert "tier moves did not come" in said
    assert re.search(r"Promoted.*: Performance Co-Pilot sends no such series: .* PCP 7", said)
    assert "Hint faults: 0.1 faults/s" in said
    assert "there is no host" in assess(database_url, tmp_path, "nobody").stderr


def page_faults() -> int:
    """What the kernel counts now."""
    found = re.search(r"^pgfault (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def is_in_order(*values: float) -> bool:
    """Whether none is less than the one before."""
    return list(values) == sorted(values)


def counted(recorded: Recorded, metric: str) -> list[float]:
    """The values of a series without labels, in order of time."""
    return [value for _, value in sorted(recorded.columns[metric, ()].items())]


def test_a_file_of_sadc_has_what_the_kernel_counted(tmp_path: Path) -> None:
    require("sadf")
    file = tmp_path / "sa01"
    before = page_faults()
    subprocess.run([SADC, "1", "3", file], check=True, timeout=DEADLINE_SECONDS)
    (tmp_path / "sa01.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    (recorded,) = read_sysstat(tmp_path, None)
    faults = counted(recorded, "sysstat_vmstat_pgfault")
    assert is_in_order(before, *faults, page_faults())
    assert len(faults) == 3
    whole = gzip.decompress((tmp_path / "sa01.gz").read_bytes())
    (tmp_path / "sa02").write_bytes(whole[:200])
    with pytest.raises(Unprocessable, match="sadf"):
        read_sysstat(tmp_path / "sa02", None)
    (tmp_path / "sa03").write_bytes(whole[:-100])
    (ended,) = read_sysstat(tmp_path / "sa03", None)
    assert counted(ended, "sysstat_vmstat_pgfault") == faults[:2]
    assert any("ends within a record" in note for note in ended.notes)
    # Of sysstat 11.7.3, which Red Hat 8 has: the format 0x2173 and the version.
    (tmp_path / "sa04").write_bytes(whole[:2] + b"\x73\x21\x0b\x07\x03" + whole[7:])
    with pytest.raises(Unprocessable, match=r"sysstat version 11\.7\.3") as refused:
        read_sysstat(tmp_path / "sa04", None)
    assert "sadf -c" in str(refused.value.next_step)


def test_json_of_several_days_in_one_file_is_taken_and_half_of_it_is_said_to_be_cut_off(tmp_path: Path) -> None:
    days = [json.dumps(sadf_json(datetime(2026, 11, day, 0, 10, tzinfo=UTC), [1.5] * 3)) for day in (1, 2)]
    file = tmp_path / "days.json"
    file.write_text("\n".join(days) + "\n")
    assert [one.host for one in read_sysstat(file, None)] == ["old1", "old1"]
    file.write_text(days[0][:-5])
    with pytest.raises(Unprocessable, match="is cut off"):
        read_sysstat(file, None)


@pytest.mark.parametrize("form", ["tar", "tar.gz", "tar.bz2", "tar.xz", "tree"])
def test_files_are_found_in_reports_and_in_directories_by_month(form: str, tmp_path: Path) -> None:
    told = json.dumps(sadf_json(datetime(2026, 11, 1, 0, 10, tzinfo=UTC), [1.5] * 3))
    report = tmp_path / "sosreport-old1"
    taken, others = (
        ("var/log/sa/sa27", "sysstat/202610/sa01.bz2"),
        ("proc/vmstat", "usr/lib64/sa/sa1", "var/log/sa/sar27"),
    )
    for name in (*taken, *others):
        file = report / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bz2.compress(told.encode()) if name.endswith(".bz2") else told.encode())
    path = report
    if form != "tree":
        path = tmp_path / f"report.{form}"
        subprocess.run(["tar", "-caf", path, report.name], cwd=tmp_path, check=True)
    assert [one.host for one in read_sysstat(path, None)] == ["old1", "old1"]
    with pytest.raises(Unprocessable, match=r"has no archive|holds no file of pmlogger"):
        read_pcp(path, None, None)
    with pytest.raises(Unprocessable, match=r"has no file|holds no file of collectl"):
        read_collectl(path)


def test_a_file_that_is_too_large_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_history, "UNPACKED_BYTES", 1000)
    for name, size in (("sa01", 10), ("sa02", 1001)):
        (tmp_path / name).write_bytes(bytes(size))
    subprocess.run(["tar", "-cf", "report.tar", "sa01", "sa02"], cwd=tmp_path, check=True)
    with pytest.raises(Unprocessable, match=r"sa02 in .*report\.tar is larger than"):
        read_sysstat(tmp_path / "report.tar", None)


def test_an_archive_of_pmlogger_has_what_the_kernel_counted(tmp_path: Path) -> None:
    require("pmrep", "pmlogger", "pmloglabel")
    if not Path("/var/lib/pcp/pmns/root").exists():
        pytest.skip("PCP is not set up: run Rebuild in /var/lib/pcp/pmns")
    (tmp_path / "pmcd.conf").write_text("linux 60 dso linux_init /var/lib/pcp/pmdas/linux/pmda_linux.so\n")
    (tmp_path / "ask").write_text("log mandatory on 1 second { mem.vmstat.pgfault kernel.uname.release }\n")
    port, before = str(free_port()), page_faults()
    pmcd = ["/usr/lib/pcp/bin/pmcd", "-f", "-A", "-c", str(tmp_path / "pmcd.conf"), "-p", port, "-U", "root"]
    with process([*pmcd, "-s", str(tmp_path / "socket"), "-l", str(tmp_path / "pmcd.log")], tmp_path / "out"):
        asked = ["pminfo", "-h", f"localhost:{port}"]
        until(lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0, "pmcd answers")
        words = ["pmlogger", "-h", f"localhost:{port}", "-c", "ask", "-l", "log", "-T", "3sec", "archive"]
        subprocess.run(words, cwd=tmp_path, check=True, timeout=DEADLINE_SECONDS)
    for path in (tmp_path / "archive", tmp_path / "archive.meta", tmp_path):
        (recorded,) = read_pcp(path, None, None)
        faults = counted(recorded, "mem_vmstat_pgfault")
        assert is_in_order(before, *faults, page_faults())
        assert recorded.about["release"] == os.uname().release
    assert any(note.startswith("promotions: not in the archive") for note in recorded.notes)
    crashed = tmp_path / "pmlogger" / "db1"
    crashed.mkdir(parents=True)
    for end in ("meta", "index", "0"):
        content = (tmp_path / f"archive.{end}").read_bytes()
        (crashed / f"20261128.{end}").write_bytes(content[:-9] if end == "0" else content)
    subprocess.run(["tar", "-cjf", "report.tar.bz2", "pmlogger"], cwd=tmp_path, check=True)
    for path in (tmp_path / "pmlogger", tmp_path / "report.tar.bz2"):
        (recorded,) = read_pcp(path, None, None)
        told = counted(recorded, "mem_vmstat_pgfault")
        assert told == faults[: len(told)] != []
        assert any("ends within a record" in note for note in recorded.notes)


@NATIVE
def test_what_is_something_else_is_refused_with_what_takes_it(database_url: str, tmp_path: Path) -> None:
    other = tmp_path / "t.csv"
    other.write_text("time,pages\n1,2\n")
    assert "no recording of collectl" in run_import(database_url, tmp_path, "collectl", other).stderr
    refused = run_import(database_url, tmp_path, "sysstat", other)
    assert "neither a data file of sysstat (sa) nor output of `sadf -j`" in refused.stderr
    text_of_sar = tmp_path / "sar.txt"
    text_of_sar.write_text("Linux 6.12.9 (db1)\t11/29/26\t_x86_64_\t(2 CPU)\n\n08:22:49  pgpgin/s\n")
    for words in (("sysstat",), ("pcp",), ("pcp", "--host", "db1")):
        refused = run_import(database_url, tmp_path, *words, text_of_sar)
        assert "It is text of sysstat (sar, mpstat, iostat or pidstat): it has rates alone" in refused.stderr
    refused = run_import(database_url, tmp_path, "pcp", other, "--host", "db1")
    assert "no table of pmrep" in refused.stderr
    table = tmp_path / "p.csv"
    table.write_text('Time,"mem.vmstat.pgfault"\n2026-11-02 00:00:00,5\n')
    assert "--timezone" in run_import(database_url, tmp_path, "pcp", table, "--host", "db1").stderr
    assert "--host" in run_import(database_url, tmp_path, "pcp", table).stderr
    assert "is no time zone" in run_import(database_url, tmp_path, "pcp", table, "--timezone", "Nowhere").stderr
    old = run_import(database_url, tmp_path, "pcp", table, "--host", "db1", "--timezone", "UTC")
    assert (old.status, "older than" in old.stdout) in ((0, False), (3, True))
