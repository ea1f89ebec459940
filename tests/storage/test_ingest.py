"""Storing batches: once each, with all their data, on native partitions and on TimescaleDB."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import ClonedHost, UnknownCredential, UnknownLayout, Unreadable
from tierscope.domain.curve.sample_blocks import unpack_sample
from tierscope.domain.ingest.arrival import Clocks
from tierscope.storage.ingest import Stored, StoreLimits

SECOND_NS = batches.SECOND_NS
DATA_TABLES = ("counters_live", "heat_live", "gaps", "tile_epochs", "tile_columns", "traces", "self_reports", "marks")


@pytest.fixture
def host(database: Database) -> Enrolled:
    return enrol(database)


def rows(database: Database, query: str, **values: object) -> list[tuple[object, ...]]:
    with database.read() as session:
        return [tuple(row) for row in session.execute(text(query), values)]


def counts(database: Database) -> dict[str, int]:
    """Rows per data table."""
    return {name: int(str(rows(database, f"SELECT count(*) FROM {name}")[0][0])) for name in DATA_TABLES}


def test_every_part_of_a_batch_is_stored_and_marked(database: Database, host: Enrolled) -> None:
    (outcome,) = store(database, host, [batches.full_batch(host_id=host.id)])
    assert isinstance(outcome, Stored)
    assert outcome.rows == {
        "counters": 2,
        "heat": 1,
        "gaps": 1,
        "tile_epochs": 1,
        "tile_columns": 1,
        "traces": 1,
        "self_reports": 1,
    }
    found = rows(database, "SELECT vals, boottime_ns, flags FROM counters_live ORDER BY ts")
    assert found == [([1, 2, 3], None, 0), ([4, None, 5], None, 0)]
    assert {row[0] for row in rows(database, "SELECT kind FROM marks")} == {"counters", "heat", "tiles", "gap_days"}
    (heat,) = rows(database, "SELECT groups, tiers, age_bytes, load_samples, period_events FROM heat_live")
    assert heat == (["server"], [""], [4096 * i for i in range(9)], None, None)
    (knob,) = rows(database, "SELECT body -> 'knobs' -> 0 -> 'value' FROM inventory")
    assert knob == (None,)
    assert rows(database, "SELECT labels FROM hosts") == [({"rack": "r1"},)]


def test_a_host_that_sends_twice_in_a_group_stands_as_its_later_batch_says(database: Database, host: Enrolled) -> None:
    group = []
    for seq, (version, age_days) in enumerate((("0.1.0", 9), ("0.2.0", 9), ("0.2.0", 0))):
        batch = batches.make_batch(host_id=host.id, seq=seq)
        batch.agent_version = version
        end_ns = batches.now_ns() - age_days * 86_400 * SECOND_NS
        batches.add_counters(batch, [[1, 2, 3]], ends_ns=[end_ns])
        group.append(batch)
    store(database, host, group)
    (found,) = rows(
        database,
        "SELECT agent_version, agent_version_since = last_seen_at, too_late_points, set_aside_points, boot_id,"
        " layout_id IS NOT NULL, last_end_at IS NOT NULL FROM hosts",
    )
    assert found == ("0.2.0", True, 2, 0, batches.BOOT, True, True)


def test_a_batch_sent_again_changes_nothing(database: Database, host: Enrolled) -> None:
    batch = batches.full_batch(host_id=host.id)
    store(database, host, [batch])
    before = counts(database)
    for group in ([batch], [batch, batch]):
        outcomes = store(database, host, group)
        assert all(isinstance(outcome, Stored) and outcome.duplicate for outcome in outcomes)
    assert counts(database) == before


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=5), min_size=1, max_size=6))
def test_groups_in_any_order_store_each_number_once(database: Database, groups: list[list[int]]) -> None:
    host = enrol(database)
    seen = set[int]()
    for group in groups:
        made = []
        for seq in group:
            batch = batches.make_batch(host_id=host.id, seq=seq)
            batches.add_counters(batch, [[seq, 0, 0]])
            made.append(batch)
        for seq, outcome in zip(group, store(database, host, made), strict=True):
            assert isinstance(outcome, Stored)
            assert outcome.duplicate == (seq in seen)
            seen.add(seq)
    host_id = host.identity.id
    stored = rows(database, "SELECT vals[1] FROM counters_live WHERE host_id = :host ORDER BY 1", host=host_id)
    assert stored == [(seq,) for seq in sorted(seen)]
    query = "SELECT next_seq, batches FROM streams WHERE host_id = :host"
    ((next_seq, stored_batches),) = rows(database, query, host=host_id)
    assert (next_seq, stored_batches) == (max(seen) + 1, len(seen))


def test_two_streams_of_a_host_do_not_know_each_other(database: Database, host: Enrolled) -> None:
    one = batches.full_batch(host_id=host.id)
    other = batches.full_batch(host_id=host.id, stream_id=b"x" * 16)
    outcomes = store(database, host, [one, other])
    assert [isinstance(outcome, Stored) and outcome.duplicate for outcome in outcomes] == [False, False]


def test_an_unknown_layout_is_refused_and_its_number_stays_free(database: Database, host: Enrolled) -> None:
    batch = batches.make_batch(host_id=host.id, seq=0)
    batches.add_counters(batch, [[1, 2, 3]], with_layout=False)
    (refused,) = store(database, host, [batch])
    assert isinstance(refused, UnknownLayout)
    layout = batches.make_batch(host_id=host.id, seq=1)
    batches.add_layout(layout)
    retried = store(database, host, [layout, batch])
    assert [isinstance(outcome, Stored) and outcome.duplicate for outcome in retried] == [False, False]


def test_counters_that_do_not_fit_their_layout_are_refused_alone(database: Database, host: Enrolled) -> None:
    bad = batches.make_batch(host_id=host.id, seq=0)
    batches.add_counters(bad, [[1, 2, 3]])
    bad.counters[0].values = b"12345678"
    good = batches.full_batch(host_id=host.id, seq=1)
    refused, stored = store(database, host, [bad, good])
    assert isinstance(refused, Unreadable)
    assert isinstance(stored, Stored)
    assert counts(database)["counters_live"] == 2


def test_late_and_future_points_are_counted_and_left_out(database: Database, host: Enrolled) -> None:
    now = batches.now_ns()
    week = 7 * 86400 * SECOND_NS
    batch = batches.make_batch(host_id=host.id)
    batches.add_counters(
        batch, [[1, 1, 1], [2, 2, 2], [3, 3, 3]], ends_ns=[now - week - SECOND_NS, now, now + 900 * SECOND_NS]
    )
    (outcome,) = store(database, host, [batch])
    assert isinstance(outcome, Stored)
    assert (outcome.rows, outcome.too_late, outcome.set_aside) == ({"counters": 1}, 1, 1)
    assert rows(database, "SELECT vals FROM counters_live") == [([2, 2, 2],)]
    assert rows(database, "SELECT too_late_points, set_aside_points FROM hosts") == [(1, 1)]


def test_a_skewed_clock_is_corrected_flagged_and_named(database: Database, host: Enrolled) -> None:
    arrival = batches.now_ns()
    skewed = arrival + 3600 * SECOND_NS
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=skewed, sealed_boottime_ns=5000 * SECOND_NS)
    batches.add_counters(batch, [[1, 2, 3]], ends_ns=[skewed - 60 * SECOND_NS], boottimes_ns=[4940 * SECOND_NS])
    clocks = Clocks(arrival, skewed, 5000 * SECOND_NS)
    (outcome,) = store(database, host, [batch], clocks=clocks)
    assert isinstance(outcome, Stored)
    expected = datetime.fromtimestamp((arrival - 60 * SECOND_NS) / 1e9, tz=UTC)
    assert rows(database, "SELECT ts, flags FROM counters_live") == [(expected, 1)]
    assert rows(database, "SELECT finding_id, until FROM findings") == [("clock-skew", None)]
    right = Clocks(arrival, arrival + SECOND_NS, 5000 * SECOND_NS)
    store(database, host, [batches.make_batch(host_id=host.id, seq=1)], clocks=right)
    ((until,),) = rows(database, "SELECT until FROM findings")
    assert until is not None


def test_alternating_boots_are_a_clone_and_the_newer_is_refused(database: Database, host: Enrolled) -> None:
    def send(seq: int, boot: str) -> object:
        sealed = batches.now_ns() + seq * SECOND_NS
        batch = batches.make_batch(host_id=host.id, seq=seq, boot_id=boot, sealed_wall_ns=sealed)
        return store(database, host, [batch])[0]

    assert isinstance(send(0, "old"), Stored)
    assert isinstance(send(1, "new"), Stored)
    assert isinstance(send(2, "old"), Stored)
    refused = send(3, "new")
    assert isinstance(refused, ClonedHost)
    assert isinstance(send(3, "old"), Stored)
    ((cause, severity),) = rows(database, "SELECT cause, severity FROM findings WHERE finding_id = 'cloned-host'")
    assert "boot old" in str(cause)
    assert "boot new" in str(cause)
    assert severity == "critical"


def test_a_reboot_is_not_a_clone(database: Database, host: Enrolled) -> None:
    for seq, boot in enumerate(["a", "a", "b", "b", "c"]):
        sealed = batches.now_ns() + seq * SECOND_NS
        batch = batches.make_batch(host_id=host.id, seq=seq, boot_id=boot, sealed_wall_ns=sealed)
        assert isinstance(store(database, host, [batch])[0], Stored)
    assert rows(database, "SELECT boot_id FROM hosts") == [("c",)]
    assert rows(database, "SELECT count(*) FROM findings") == [(0,)]


def test_a_revoked_host_is_refused_even_with_a_remembered_credential(database: Database, host: Enrolled) -> None:
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET revoked_at = now()"))
    (outcome,) = store(database, host, [batches.full_batch(host_id=host.id)])
    assert isinstance(outcome, UnknownCredential)
    assert counts(database) == dict.fromkeys(DATA_TABLES, 0)


def test_services_beyond_the_limit_are_counted_and_named(database: Database, host: Enrolled) -> None:
    batch = batches.make_batch(host_id=host.id)
    batches.add_heat(batch, services=("demo/a", "demo/b", "demo/c"))
    (outcome,) = store(database, host, [batch], limits=StoreLimits(services_per_host=2))
    assert isinstance(outcome, Stored)
    assert (outcome.rows["heat"], outcome.set_aside) == (2, 1)
    assert "limit of 2" in outcome.warnings[0]
    assert rows(database, "SELECT finding_id FROM findings") == [("service-limit",)]
    assert rows(database, "SELECT count(*) FROM host_services") == [(2,)]


def test_layouts_beyond_the_limit_of_a_day_are_counted_and_named(database: Database, host: Enrolled) -> None:
    made = []
    for seq in range(3):
        batch = batches.make_batch(host_id=host.id, seq=seq)
        batches.add_counters(batch, [[seq]], keys=(f"host|vmstat|name_{seq}",))
        made.append(batch)
    outcomes = store(database, host, made, limits=StoreLimits(layouts_per_host_day=2))
    stored = [outcome.rows.get("counters", 0) for outcome in outcomes if isinstance(outcome, Stored)]
    assert sum(stored) == 2
    assert rows(database, "SELECT finding_id FROM findings") == [("layout-limit",)]


def test_an_inventory_is_stored_when_it_changes_and_findings_end(database: Database, host: Enrolled) -> None:
    for seq, name in enumerate(("a", "a", "b")):
        sealed = batches.now_ns() - (3 - seq) * SECOND_NS
        batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=sealed)
        batches.add_inventory(batch, hostname=name)
        if name == "b":
            del batch.inventory.findings[:]
        store(database, host, [batch])
    assert rows(database, "SELECT body ->> 'hostname' FROM inventory ORDER BY at") == [("a",), ("b",)]
    ((until,),) = rows(database, "SELECT until FROM findings")
    assert until is not None


def test_pods_are_those_of_the_newest_inventory_and_unchanged_rows_are_not_written(
    database: Database, host: Enrolled
) -> None:
    def send(seq: int, *pods: str) -> list[tuple[object, ...]]:
        batch = batches.make_batch(host_id=host.id, seq=seq)
        batches.add_inventory(batch)
        if pods:
            batches.add_pods(batch, *pods)
            # Nobody lists this service, so that nothing can be shown of it.
            batch.inventory.pods.pods[0].service = "elsewhere"
        (outcome,) = store(database, host, [batch])
        assert isinstance(outcome, Stored)
        return rows(
            database,
            "SELECT p.name, p.owner, p.labels ->> 'team', s.name, p.node, p.xmin FROM host_pods p"
            " LEFT JOIN services s ON s.id = p.service_id ORDER BY p.name",
        )

    first = send(0, "cart-1-a", "cart-1-b")
    assert [row[:5] for row in first] == [
        ("cart-1-a", "cart", "shop", None, "node-1"),
        ("cart-1-b", "cart", "shop", "cache", "node-1"),
    ]
    assert send(1, "cart-1-a", "cart-1-b") == first
    assert [row[0] for row in send(2, "cart-1-b", "cart-1-c")] == ["cart-1-b", "cart-1-c"]
    assert rows(database, "SELECT pods_at IS NULL, pods_left_out FROM hosts") == [(False, 0)]
    assert rows(database, "SELECT count(*) FROM inventory") == [(1,)]
    assert send(3) == []
    assert rows(database, "SELECT pods_at IS NULL, pods_left_out FROM hosts") == [(True, None)]


def test_labels_of_a_cluster_that_did_not_answer_yet_stay(database: Database, host: Enrolled) -> None:
    def send(seq: int, *, partial: bool, **labels: str) -> object:
        batch = batches.make_batch(host_id=host.id, seq=seq)
        batches.add_inventory(batch)
        batch.inventory.kubernetes_labels_partial = partial
        for key, value in labels.items():
            batch.inventory.labels.add(key=key, value=value, source="kubernetes")
        store(database, host, [batch])
        return rows(database, "SELECT labels FROM hosts")[0][0]

    assert send(0, partial=False, zone="a") == {"rack": "r1", "zone": "a"}
    assert send(1, partial=True, pool="x") == {"rack": "r1", "zone": "a", "pool": "x"}
    assert send(2, partial=False, zone="b") == {"rack": "r1", "zone": "b"}


def test_tile_columns_find_their_epoch_in_an_earlier_batch(database: Database, host: Enrolled) -> None:
    first = batches.make_batch(host_id=host.id, seq=0)
    batches.add_tiles(first)
    later = batches.make_batch(host_id=host.id, seq=1)
    batches.add_tiles(later, with_epoch=False)
    strange = batches.make_batch(host_id=host.id, seq=2)
    batches.add_tiles(strange, epoch_id=5, with_epoch=False)
    store(database, host, [first])
    outcomes = store(database, host, [later, strange])
    assert [outcome.rows.get("tile_columns") for outcome in outcomes if isinstance(outcome, Stored)] == [1, None]
    assert [outcome.set_aside for outcome in outcomes if isinstance(outcome, Stored)] == [0, 1]


def test_a_page_sample_is_kept_exactly_with_its_times_relative_to_its_end(database: Database, host: Enrolled) -> None:
    batch = batches.make_batch(host_id=host.id)
    batches.add_page_sample(batch, pages=3, intervals=4)
    store(database, host, [batch])
    query = "SELECT group_name, backend, sampled_ratio, counts, n_intervals, n_pages, n_rows, body FROM traces"
    ((group, backend, sampled_ratio, counted, intervals, pages, n_rows, body),) = rows(database, query)
    assert (group, backend, sampled_ratio, counted, intervals, pages, n_rows) == ("server", 4, 0.25, False, 4, 3, 12)
    sample = unpack_sample(bytes(body))  # type: ignore[call-overload]
    assert (sample.before_end_ns // batches.MINUTE_NS).tolist() == [3, 2, 1, 0]
    assert sample.page_ids.tolist() == [7, 8, 9]
    assert sample.row_page.tolist() == [0, 1, 2] * 4


def test_an_agents_budget_and_losses_are_kept_and_null_where_it_does_not_say(
    database: Database, host: Enrolled
) -> None:
    silent = batches.make_batch(host_id=host.id, seq=0)
    batches.add_self(silent)
    said = batches.make_batch(host_id=host.id, seq=1, sealed_wall_ns=batches.now_ns() + 1)
    batches.add_self(said)
    said.self.budget_state = "backed_off"
    said.self.heat_rung = "referenced"
    said.self.budget_reason = "CPU"
    said.self.samples_lost = 3
    store(database, host, [silent, said])
    query = "SELECT budget_state, heat_rung, budget_reason, samples_lost FROM self_reports ORDER BY ts"
    assert rows(database, query) == [(None, None, None, 0), ("backed_off", "referenced", "CPU", 3)]
