"""What sysstat and Performance Co-Pilot recorded, as counters of the kernel: exact, by rates, or not there."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tierscope.domain.counters.unsent import find_lack, find_offers
from tierscope.domain.ingest.history import collectl
from tierscope.domain.ingest.history.pcp import read_csv
from tierscope.domain.ingest.history.recorded import Recorded
from tierscope.domain.ingest.history.sysstat import read_json, read_raw
from tierscope.domain.ingest.prometheus.other_senders import find_other
from tierscope.domain.ledger.columns import COLUMN_INDEX
from tierscope.domain.ledger.plan import Tiers, plan_host

HEADER = """System activity data file: sa01 (0x2175)
File created by sar/sadc from sysstat version 12.7.5
Host: Linux 6.12.9 (db1) \t11/02/26 \t_x86_64_\t(4 CPU)
"""
MARK = "# uptime_cs; {0}00; ust_time; {1}; extra_next; 0; record_type; {2}; HH:MM:SS; 00:00:00"
PAGING = "{0}; pgpgin/s; 0; 8; pgsteal/s; 10; 30; pgprom/s; {1}; {2}; pgdem/s; 5; 9;"
RAW = "\n".join(
    [
        MARK.format(1000, 1790000000, 1),
        MARK.format(1600, 1790000600, 1),
        "1790000600; pswpin/s; 1; 2; pswpout/s; 0; 0;",
        MARK.format(0, 1790000700, 2),
        MARK.format(5, 1790000705, 1),
        MARK.format(605, 1790001305, 1),
        "1790001305; pswpin/s; 0; 4; pswpout/s; 0; 0;",
        # Further activities come without the records that theirs are held against.
        MARK.format(1600, 1790000600, 1),
        PAGING.format(1790000600, 700, 1_700_000_000_000),
        MARK.format(605, 1790001305, 1),
        PAGING.format(1790001305, 3, 33),
        MARK.format(1600, 1790000600, 1),
        "1790000600; kbmemfree; 100; kbttlmem; 4096; %smem-10; 7; %smem; 5; 25; %fmem; 1; 2;",
    ]
)


def column(recorded: Recorded, name: str) -> dict[int, float]:
    (found,) = [values for (metric, _), values in recorded.columns.items() if metric == f"sysstat_{name}"] or [{}]
    return {at_ms // 1000: value for at_ms, value in found.items()}


def test_raw_output_has_the_counters_at_both_ends_of_each_interval_and_of_each_boot() -> None:
    recorded = read_raw(HEADER, RAW)
    assert (recorded.host, recorded.about["release"], recorded.about["machine"]) == ("db1", "6.12.9", "x86_64")
    assert column(recorded, "vmstat_pgpromote_success") == {
        1790000000: 700,
        1790000600: 1_700_000_000_000,
        1790000705: 3,
        1790001305: 33,
    }
    assert column(recorded, "vmstat_pswpin") == {1790000000: 1, 1790000600: 2, 1790000705: 0, 1790001305: 4}
    assert column(recorded, "pressure_memory_some") == {1790000000: 5, 1790000600: 25}
    assert column(recorded, "meminfo_MemTotal") == {1790000600: 4096 * 1024}
    assert set(column(recorded, "boot_time_seconds").values()) == {1789999000, 1790000700}
    assert not [metric for metric, _ in recorded.columns if "steal" in metric]
    assert any("twice" in note for note in recorded.notes)


def row(time: str, interval: int, **stamp: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A record with ten promoted pages a second."""
    paging = {"pgpgin": 1.5, "pgscand": 9.0, "pgsteal": 20.0, "pgprom": 10.0, "pgdem": 0.25}
    return {"timestamp": {"date": "2026-11-02", "time": time, "interval": interval, **stamp}, "paging": paging}


def entry(*rows: dict[str, Any], release: str = "6.12.9", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """One of `hosts`."""
    return {"nodename": "db1", "release": release, "machine": "x86_64", "statistics": list(rows), **more}


def test_rates_become_counts_that_begin_anew_at_a_restart_and_say_their_doubt() -> None:
    boot = {"boot": {"date": "2026-11-02", "time": "00:25:00", "utc": 1}}
    rows = [row("00:10:00", 600, utc=1), row("00:20:00", 600, utc=1), row("00:40:00", 600, utc=1)]
    recorded = read_json(entry(*rows, restarts=[boot]), None)
    start = 1793577600
    counted = column(recorded, "vmstat_pgpromote_success")
    assert counted == {start: 0, start + 600: 6000, start + 1200: 12000, start + 1800: 0, start + 2400: 6000}
    assert column(recorded, "vmstat_pgdem")[start + 1200] == 300
    boots = column(recorded, "boot_time_seconds")
    assert (boots[start + 1200], boots[start + 2400]) == (start, start + 1800)
    assert any("within 0.00083" in note for note in recorded.notes)


def test_an_interval_of_no_time_breaks_the_count() -> None:
    rows = [row("00:10:00", 600, tz="UTC"), row("00:20:00", 0, tz="UTC"), row("00:20:05", 600, tz="UTC")]
    counted = column(read_json(entry(*rows), None), "vmstat_pgpromote_success")
    assert list(counted.values()) == [0, 6000, 0, 6000]
    assert max(counted) - sorted(counted)[-2] == 5


def test_local_times_need_a_zone() -> None:
    local = entry(row("00:10:00", 600, tz="CET"))
    with pytest.raises(ValueError, match="zone CET"):
        read_json(local, None)
    recorded = read_json(local, ZoneInfo("Europe/Berlin"))
    assert max(column(recorded, "vmstat_pgdem")) == 1793577600 + 600 - 3600


def test_zero_of_a_kernel_that_may_not_count_moves_is_not_zero() -> None:
    still = row("00:10:00", 600, utc=1)
    still["paging"] |= {"pgprom": 0.0, "pgdem": 0.0}
    old, new = (read_json(entry(still, release=release), None) for release in ("5.14.0-503.el9", "6.12.9"))
    assert column(old, "vmstat_pgpromote_success") == column(old, "vmstat_pgdem") == {}
    assert sum("writes 0" in note for note in old.notes) == 2
    assert set(column(new, "vmstat_pgpromote_success").values()) == {0}
    del still["paging"]["pgprom"], still["paging"]["pgdem"]
    assert any("from 12.7 on" in note for note in read_json(entry(still), None).notes)


@pytest.mark.parametrize("used_has_caches", [False, True])
def test_all_memory_follows_from_its_parts(used_has_caches: bool) -> None:  # noqa: FBT001 - a parameter
    some = row("00:10:00", 600, utc=1)
    parts = {"memfree": 100, "buffers": 30, "cached": 50, "slab": 20}
    used = 900 - (0 if used_has_caches else 100)
    some["memory"] = {**parts, "memused": used, "memused-percent": used / 10}
    assert column(read_json(entry(some), None), "meminfo_MemTotal") == {1793578200: 1000 * 1024}
    some["memory"]["memused-percent"] = 1.0
    assert column(read_json(entry(some), None), "meminfo_MemTotal") == {}


def test_the_ledger_says_what_sysstat_sums_and_that_rates_are_no_counters() -> None:
    names = ("vmstat_pgpromote_success", "vmstat_pgdem", "vmstat_pgfault")
    for form, sender, trust in (({}, "sysstat", "exact"), ({"form": "rates"}, "sysstat_rates", "sampled")):
        found = [find_other({"__name__": f"sysstat_{name}", **form}) for name in names]
        assert {one[0] for one in found if one} == {sender}
        keys = sorted(key for one in found if one for key, _ in one[1])
        sent = find_offers(sender, keys, {})
        plan = plan_host(keys, Tiers(frozenset(), known=False), page_bytes=4096, senders=[sent])
        columns = {key: plan.columns[COLUMN_INDEX[key]] for key in COLUMN_INDEX}
        assert columns["promoted_pages"].trust == columns["demoted_pages"].trust == trust
        assert columns["demoted_pages"].plus == (keys.index("host|sysstat|pgdem"),)
        assert columns["demoted_kswapd_pages"].trust == "not_collected"
        assert columns["reclaimed_pages"].note.startswith("sysstat")
        lack = find_lack([sent], keys)
        assert lack is not None
        assert lack.lacking == ("hint faults", "memory by node")
    without = find_lack([find_offers("sysstat", ["host|vmstat|pgfault"], {})], ["host|vmstat|pgfault"])
    assert without is not None
    assert without.fix.startswith("Record with sysstat 12.7 or later")


TABLE = """Time,"mem.vmstat.pgpromote_success","mem.numa.util.total-node1","kernel.all.uptime","kernel.uname.release"
2026-11-02T00:00:00.250000+00:00,700,1024,100.5,"6.12.9"
2026-11-02T00:01:00.250000+00:00,1200,,160.5,
"""


def test_a_table_of_pmrep_has_the_series_of_pmproxy() -> None:
    recorded = read_csv(TABLE.splitlines(), "db1", None)
    assert recorded.about["release"] == "6.12.9"
    at_ms = 1793577600250
    columns = {(metric, dict(labels).get("instname")): values for (metric, labels), values in recorded.columns.items()}
    assert columns["mem_vmstat_pgpromote_success", None] == {at_ms: 700, at_ms + 60_000: 1200}
    assert columns["mem_numa_util_total", "node1"] == {at_ms: 1024}
    assert set(columns["pcp_boot_time_seconds", None].values()) == {1793577500}
    assert [note.partition(":")[0] for note in recorded.notes] == ["demotions", "hint faults", "memory by node"]


def test_rates_and_times_without_zone_are_refused() -> None:
    with pytest.raises(ValueError, match="rates"):
        read_csv(TABLE.replace(",700,", ",8.333,").splitlines(), "db1", None)
    local = TABLE.replace("+00:00", "")
    with pytest.raises(ValueError, match="no zone"):
        read_csv(local.splitlines(), "db1", None)
    berlin = read_csv(local.splitlines(), "db1", ZoneInfo("Europe/Berlin"))
    assert berlin.times_ms()[0] == 1793577600250 - 3_600_000
    with pytest.raises(ValueError, match="pmrep"):
        read_csv(["a,b", "1,2"], "db1", None)


COLLECTL = """\
################################################################################
# Collectl:   V4.3.1-1  HiRes: 1  Options: -smM -i10
# Host:       db1  DaemonOpts: -
# Booted:     1795971491.01 [20261129-16:58:11]
# HZ:         100  Arch: x86_64-linux-gnu-thread-multi PageSize: 4096
# Kernel:     6.18.44  Memory: 24684084 kB  Swap: 0 kB
################################################################################
>>> 1795976039.036 <<<
MemTotal:       24684084 kB
Active(file):    5090100 kB
workingset_refault_anon 7
pgpromote_success 10
pgdemote_kswapd 20
pgfault 300
pgactivate 1
pgfree 2
ctxt 12345
numai Node 1 MemFree:          1000 kB
numai Node 1 MemUsed:          3000 kB
numas Node 1 numa_hit 5
>>> 1795976049.036 <<<
pgpromote_success 40
pgfault 400
"""


def test_collectl_has_moves_as_counters_and_the_memory_of_nodes() -> None:
    recorded = collectl.read_raw(COLLECTL.splitlines(keepends=True))
    assert (recorded.host, recorded.about["release"], recorded.about["machine"]) == ("db1", "6.18.44", "x86_64")
    given: dict[str, list[float]] = {}
    for (metric, labels), column in recorded.columns.items():
        found = find_other({"__name__": metric, **dict(labels)})
        assert found is not None
        assert found[0] == "collectl"
        for key, scale in found[1]:
            given[key] = [value * scale for _, value in sorted(column.items())]
    assert given["host|vmstat|pgpromote_success"] == [10.0, 40.0]
    assert given["host|meminfo|Active(file)"] == [5090100.0 * 1024]
    assert given["node:1|meminfo|MemTotal"] == [4000.0 * 1024]
    assert given["node:1|numastat|numa_hit"] == [5.0]
    assert given["host|stat|btime"] == [1795971491.0] * 2
    assert "host|vmstat|ctxt" not in given
    assert [note.partition(":")[0] for note in recorded.notes] == ["hint faults", "memory by node"]
    sent = [find_offers("collectl", given, {})]
    lack = find_lack(sent, given)
    assert lack is not None
    assert "never records them" in lack.fix
    told = find_lack(sent, given.keys() - {"host|vmstat|pgdemote_kswapd"})
    assert told is not None
    assert "--memopts ps" in told.fix


def test_demotions_that_an_older_sysstat_lacks_are_not_said_to_be_never_recorded() -> None:
    keys = ["host|vmstat|pgfault"]
    sent = [find_offers("sysstat", keys, {})]
    plan = plan_host(keys, Tiers(frozenset(), known=False), page_bytes=4096, senders=sent)
    column = plan.columns[COLUMN_INDEX["demoted_pages"]]
    assert column.trust == "not_collected"
    assert "sysstat 12.7" in column.note


def test_what_is_no_recording_of_collectl_is_refused() -> None:
    for text in ("", "# Host:  db1\n", "MemTotal: 5 kB\n"):
        with pytest.raises(ValueError, match="collectl"):
            collectl.read_raw(text.splitlines(keepends=True))
