"""Hosts that Prometheus reports and that differ in nothing but their pages: the same bytes and the same words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from factories import batches, swapping
from factories.derived import drain
from factories.installations import enrol
from factories.remote_writes import Series, named
from factories.sampled_hosts import AFTER, send_samples, start_ms
from factories.watched import Cells, Watched
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.alerts.rules import Rule
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.knobs.reads import HostKnobAdvice, KnobReads
from tierscope.usecases.ledger.answers import Ledger
from tierscope.usecases.ledger.reads import LedgerReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MIB, GIB = 1 << 20, 1 << 30
SIZES = {"small": 4096, "medium": 16384, "large": 65536}
MINUTES = 20


def physics(minute: int) -> tuple[dict[str, int], dict[str, int]]:
    """Series in bytes, by metric, and series in bytes that the host sends as pages: 240 MiB/s go up and come down."""
    moved = 240 * MIB * 60 * minute
    sizes = {"node_memory_MemTotal_bytes": 512 * GIB, "node_memory_MemFree_bytes": 64 * GIB}
    pages = {
        "nr_free_pages": 64 * GIB,
        "pgpromote_success": moved,
        "pgpromote_candidate": 4 * moved,
        "pgdemote_kswapd": moved,
        "pgdemote_direct": 0,
        "pgmigrate_success": 2 * moved,
        "numa_hint_faults": 5 * moved,
        "numa_pte_updates": 10 * moved,
        "pgsteal_kswapd": moved,
        "pgscan_kswapd": 2 * moved,
    }
    return sizes, {f"node_vmstat_{name}": size for name, size in pages.items()}


def scrape(at_ms: int, minute: int, name: str, page: int, *, in_both_units: bool = True) -> list[Series]:
    """A scrape of a host of two nodes. Without `in_both_units` nothing tells its page size."""
    sizes, pages = physics(minute)
    values = sizes | {metric: size // page for metric, size in pages.items()}
    if not in_both_units:
        del values["node_vmstat_nr_free_pages"]
    values["node_boot_time_seconds"] = 1_700_000_000
    values["node_sysctl_kernel_numa_balancing"] = 2
    values["node_sysctl_kernel_numa_balancing_promote_rate_limit_MBps"] = 256
    made: list[tuple[Mapping[str, str], Sequence[tuple[int, float]]]] = [
        (named(metric, f"{name}:9100"), [(at_ms, float(value))]) for metric, value in values.items()
    ]
    made.append((named("node_uname_info", f"{name}:9100", release="6.6.0", machine="aarch64"), [(at_ms, 1.0)]))
    for node, local in (("0", 1000 + minute), ("1", 0)):
        of_node = {"MemTotal": 256 * GIB, "MemFree": 32 * GIB, "local_node_total": local}
        of_node |= dict.fromkeys(("Active_anon", "Inactive_anon", "Active_file", "Inactive_file"), 50 * GIB)
        made += [
            (named(f"node_memory_numa_{metric}", f"{name}:9100", node=node), [(at_ms, float(value))])
            for metric, value in of_node.items()
        ]
        of_zone = {"managed_pages": 256 * GIB, "min_pages": GIB, "low_pages": 2 * GIB, "high_pages": 3 * GIB}
        if in_both_units:
            made += [
                (named(f"node_zoneinfo_{metric}", f"{name}:9100", node=node, zone="Normal"), [(at_ms, size / page)])
                for metric, size in of_zone.items()
            ]
    return made


def read(database: Database, name: str) -> tuple[str, Ledger, ReadContext]:
    with database.read() as session:
        host_id = session.execute(text("SELECT public_id FROM hosts WHERE name = :name"), {"name": name}).scalar_one()
    context = ReadContext(database, utc_now, Settings(_env_file=None))
    return str(host_id), LedgerReads(context).host(str(host_id), from_="-1h", to=None, max_points=100), context


def in_bytes(ledger: Ledger) -> Mapping[str, float | None]:
    """Totals of columns, those in pages by the page size."""
    factor = ledger.page_bytes or 0
    return {
        column.key: column.total.value
        if column.total.value is None or column.total.unit != "pages"
        else column.total.value * factor
        for column in ledger.columns
        if "hint" not in column.key and "pte" not in column.key
    }


def answered(view: HostKnobAdvice) -> tuple[object, ...]:
    """What is advised, without the evidence, part of which is in pages."""
    advised = [(one.rule, one.changes) for one in view.advice]
    return advised, [one.rule for one in view.unknown], view.subtracted, view.verdict, view.explanation


def test_the_same_physics_in_other_pages_is_the_same_answer(database: Database) -> None:
    start = start_ms(timedelta(minutes=MINUTES + 5))
    for name, page in SIZES.items():
        send_samples(database, *(scrape(start + i * 60_000, i, name, page) for i in range(MINUTES)))
    drain(database, utc_now() + AFTER)
    found = {name: read(database, name) for name in SIZES}
    host_id, expected, context = found["small"]
    assert expected.ping_pong.verdict == "limiter_bound"
    assert expected.ping_pong.tier_move_bytes_per_s.value == pytest.approx(480 * MIB)
    advice = KnobReads(context).host(host_id, from_="-1h", to=None)
    for name, page in SIZES.items():
        host_id, ledger, context = found[name]
        assert ledger.page_bytes == page
        assert in_bytes(ledger) == in_bytes(expected)
        assert ledger.ping_pong.tier_move_bytes_per_s.value == expected.ping_pong.tier_move_bytes_per_s.value
        assert ledger.ping_pong.verdict == expected.ping_pong.verdict
        assert ledger.ping_pong.evidence == expected.ping_pong.evidence
        resident = next(column for column in ledger.columns if column.key == "top_resident_bytes")
        assert resident.total.value == 200 * GIB
        nodes = HostReads(context).detail(host_id).nodes
        assert [node.watermark_low_bytes for node in nodes] == [2 * GIB, 2 * GIB]
        given = KnobReads(context).host(host_id, from_="-1h", to=None)
        assert answered(given) == answered(advice)


def test_without_a_page_size_pages_stand_and_bytes_are_not_known(database: Database) -> None:
    start = start_ms(timedelta(minutes=MINUTES + 5))
    send_samples(database, *(scrape(start + i * 60_000, i, "db", 65536, in_both_units=False) for i in range(MINUTES)))
    drain(database, utc_now() + AFTER)
    _, ledger, _ = read(database, "db")
    assert ledger.page_bytes is None
    totals = {column.key: column.total for column in ledger.columns}
    assert totals["promoted_pages"].value == 240 * MIB * 60 * (MINUTES - 1) / 65536
    # The kernel prints these in kB itself.
    assert totals["top_resident_bytes"].value == 200 * GIB
    moved = ledger.ping_pong.tier_move_bytes_per_s
    assert (moved.value, moved.status) == (None, "not_collected")
    assert "page size" in str(moved.reason)
    assert ledger.ping_pong.verdict == "not_known"
    assert "page size" in ledger.ping_pong.explanation


def test_alerts_on_bytes_change_at_the_same_minute_whatever_the_pages(database: Database) -> None:
    watched = Watched(database, 20)
    rule = Rule("busy", "tier_move_bytes > 200MB/s", for_seconds=60, summary="{{ value }}")
    Rules(database).create(rule, actor="test")
    watched.evaluate(2.5)
    per_minute = [0, *[30 * MIB * 60] * 4, *[160 * MIB * 60] * 6, *[30 * MIB * 60] * 6]
    for name, page in SIZES.items():
        totals = [sum(per_minute[: at + 1]) // page for at in range(len(per_minute))]
        counted: list[Cells] = [[total, total] for total in totals]
        keys = ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success")
        watched.send(watched.enrol(name), keys, counted, page_bytes=page)
    watched.evaluate(25)
    changes = {
        name: [(change.minute, change.after) for change in watched.changes() if change.host == name] for name in SIZES
    }
    assert [after for _, after in changes["small"]][-1] == "resolved"
    assert changes["medium"] == changes["large"] == changes["small"]


def test_swap_for_the_same_bytes_is_the_same_advice_whatever_the_pages(database: Database) -> None:
    at = batches.now_ns()
    found = []
    for page in SIZES.values():
        swapping.send(database, enrol(database), at, {4: 0.0001, 12: 0.0001}, {20: 0.5, 40: 0.5}, page)
        found.append(replace(swapping.read(database, at, 64.0), hosts=()))
        with database.write() as transaction:
            transaction.execute(text("DELETE FROM heat_live"))
            transaction.execute(text("DELETE FROM gaps"))
    assert found[0].verdict == "pays"
    assert found[1] == found[0]
    assert found[2] == found[0]
