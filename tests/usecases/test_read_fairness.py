"""Fairness as read: a host on which one service grows and another is demoted for it, with heat and limits."""

from datetime import UTC, datetime, timedelta

import pytest

from factories import batches
from factories.derived import drain
from factories.tenants import CGROUPS, GIB, MIB, MINUTES, NAMES, PAGE, SERVICES, STEP, rows, send
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, NotFound
from tierscope.core.settings import Settings
from tierscope.domain.base.figures import Window
from tierscope.domain.fairness.vocabulary import Basis
from tierscope.storage.base.subjects import find_host, services_of_host
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import host_named
from tierscope.usecases.fairness.answers import FairShare, HostFairness, TenantKind, TenantShare
from tierscope.usecases.fairness.incidents import TakenReads
from tierscope.usecases.fairness.reads import FairnessReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def reads(database: Database) -> FairnessReads:
    now = datetime.fromtimestamp(batches.now_ns() / 1e9, tz=UTC)
    return FairnessReads(ReadContext(database, lambda: now, Settings(_env_file=None)))


def of_host(database: Database, host: str, *, cgroups: bool = False, basis: Basis | None = None) -> HostFairness:
    by: TenantKind = "cgroup" if cgroups else "service"
    return reads(database).host(host, by=by, basis=basis, from_="-90m", to=None, max_points=100)


def tenant(found: HostFairness, name: str) -> TenantShare:
    return next(one for one in found.tenants if one.name == name)


def fair(found: HostFairness, name: str, basis: Basis) -> FairShare:
    return next(share for share in tenant(found, name).fair if share.basis == basis)


def test_a_host_is_found_by_its_name_or_its_id(database: Database) -> None:
    host = send(database, rows(SERVICES, {}))
    with database.read() as session:
        found = find_host(session, host)
    assert found is not None
    assert found.name != host
    assert host_named(database, found.name) == host_named(database, host) == host
    with pytest.raises(NotFound, match="no host 'other'"):
        host_named(database, "other")


def test_shares_by_resident_memory_add_up_and_carry_how_they_varied(database: Database) -> None:
    host = send(database, rows(SERVICES, {}))
    found = of_host(database, host)
    assert (found.basis, found.top_bytes.value) == ("resident", 8.0 * GIB)
    assert "Heat is not measured" in found.basis_note
    assert found.held_bytes.value == pytest.approx(5 * GIB)
    batch, cache = fair(found, "demo/batch", "resident"), fair(found, "demo/cache", "resident")
    assert batch.over_bytes.value == pytest.approx(-(cache.over_bytes.value or 0))
    parts = [tenant(found, name).resident_bytes.value or 0 for name in NAMES]
    assert batch.fair_bytes.value == pytest.approx(5 * GIB * parts[0] / sum(parts))
    assert batch.over_bytes.interval is not None
    assert batch.over_bytes.interval.lo < (batch.over_bytes.value or 0) < batch.over_bytes.interval.hi
    assert batch.over_bytes.interval.kind == "range"
    assert tenant(found, "demo/cache").top_share.value == pytest.approx(
        (tenant(found, "demo/cache").top_bytes.value or 0) / (8 * GIB)
    )


def test_hot_memory_is_the_default_where_heat_of_all_is_known(database: Database) -> None:
    hot = {"demo/batch": 128 * MIB, "demo/cache": 3 * GIB}
    found = of_host(database, send(database, rows(SERVICES, {}), hot))
    assert found.basis == "hot"
    share = fair(found, "demo/batch", "hot")
    assert share.claim_bytes.value == pytest.approx(128 * MIB)
    assert share.claim_bytes.method == "abit"
    assert share.over_bytes.interval is not None
    assert share.over_bytes.interval.kind == "bounds"
    assert (share.over_bytes.value or 0) + (fair(found, "demo/cache", "hot").over_bytes.value or 0) == pytest.approx(
        0, abs=1
    )


def test_who_took_and_who_was_demoted_is_told_with_bounds_and_goes_along_over_time(database: Database) -> None:
    found = of_host(database, send(database, rows(SERVICES, {})))
    by_name = {one.id: one.name for one in found.tenants}
    push = found.pushes[0]
    assert (by_name[push.victim], by_name[push.taker or ""]) == ("demo/cache", "demo/batch")
    pages = 19 * STEP // PAGE
    assert tenant(found, "demo/cache").demoted_pages.value == pages
    assert push.pages.value == pytest.approx(pages)
    assert push.pages.interval is not None
    assert push.pages.interval.lo <= pages <= push.pages.interval.hi
    assert push.sureness == "counted"
    assert push.correlation is not None
    assert push.correlation.lo > 0.5
    assert not [one for one in found.pushes if by_name[one.victim] == "demo/batch"]


def test_an_incident_says_who_took_whose_fast_memory_as_the_host_does(database: Database) -> None:
    host = send(database, rows(SERVICES, {}))
    now = datetime.fromtimestamp(batches.now_ns() / 1e9, tz=UTC)
    window = Window(now - timedelta(minutes=90), now)
    taken = TakenReads(ReadContext(database, lambda: now, Settings(_env_file=None)))
    found = of_host(database, host)
    ids = {one.name: one.id for one in found.tenants}
    for asked in (None, ids["demo/cache"], ids["demo/batch"]):
        told = taken.taken([host], asked, window)
        assert told.reason is None
        line = told.taken[0]
        assert (line.victim, line.taker, line.sureness) == ("demo/cache", "demo/batch", "counted")
        assert line.pages.value == pytest.approx(found.pushes[0].pages.value)
        assert line.taker_over_bytes.value == pytest.approx(
            fair(found, "demo/batch", found.basis).over_bytes.value, rel=0.01
        )
        assert line.sentence.startswith("demo/batch took fast memory of demo/cache on ")
        assert "than its fair share" in line.sentence
    nobody = taken.taken([host], "another", window)
    assert (nobody.taken, "No service was pushed out" in (nobody.reason or "")) == ((), True)
    assert "no single host" in (taken.taken([], None, window).reason or "")


def test_kernels_that_count_for_the_host_alone_leave_wide_bounds_and_say_so(database: Database) -> None:
    found = of_host(database, send(database, rows(SERVICES, {}, counted=False)))
    assert tenant(found, "demo/cache").demoted_pages.status == "not_supported"
    push = next(one for one in found.pushes if one.taker is not None)
    assert push.pages.interval is not None
    assert (push.pages.interval.lo, push.pages.grade) == (0.0, "early")
    assert any("for the host alone" in note for note in found.notes)


@pytest.mark.parametrize("cgroups", [True, False])
def test_protections_and_limits_of_control_groups_and_services_are_scaled_to_the_top_tier(
    database: Database, *, cgroups: bool
) -> None:
    cache, batch = ("/cache", "/batch") if cgroups else ("demo/cache", "demo/batch")
    settings = {"low": 12 * GIB, "min": 0, "high": None, "max": 8 * GIB}
    found = of_host(database, send(database, rows(CGROUPS if cgroups else SERVICES, settings)), cgroups=cgroups)
    assert [one.name for one in found.tenants] == [cache, batch]
    # A quarter of the host's memory is DRAM.
    limit = fair(found, cache, "limit")
    assert limit.fair_bytes.value == 2 * GIB
    assert (limit.over_bytes.value or 0) > GIB
    assert fair(found, batch, "limit").fair_bytes.reason == "It has no limit."
    # memory.low of batch is `max`: all of it is protected, and so is what 12 GiB stand for of cache.
    assert fair(found, cache, "protection").claim_bytes.value == 3 * GIB
    assert fair(found, cache, "protection").fair_bytes.value is not None


def test_the_answer_of_a_service_sums_its_hosts_and_names_who_is_below(database: Database) -> None:
    hosts = [send(database, rows(SERVICES, {})) for _ in range(2)]
    with database.read() as session:
        ids = {service.name: service.public_id for service in services_of_host(session, 1)}
    found = reads(database).service(ids["cache"], basis=None, from_="-90m", to=None)
    assert {one.host_id for one in found.hosts} == set(hosts)
    assert found.over_bytes.value == pytest.approx(
        sum(fair(of_host(database, host), "demo/cache", "resident").over_bytes.value or 0 for host in hosts)
    )
    assert {one.worst_below for one in found.hosts} == {"demo/batch"}
    assert found.over_bytes.n_hosts == 2


def test_stored_rows_and_fresh_ones_answer_the_same(database: Database) -> None:
    host = send(database, rows(SERVICES, {}))
    before = of_host(database, host)
    drain(database)
    assert of_host(database, host) == before


def test_a_host_without_memory_by_node_says_what_is_missing(database: Database) -> None:
    found = of_host(database, send(database, {"host|vmstat|pgdemote_kswapd": [0] * MINUTES}))
    assert (found.tenants, found.held_bytes.status) == ((), "not_enough_data")
    assert any("is known by node or tier" in note for note in found.notes)


def test_unknown_hosts_and_long_windows_are_refused_with_the_next_step(database: Database) -> None:
    with pytest.raises(NotFound):
        of_host(database, "no-such-host")
    with pytest.raises(BadRequest, match="8 days") as caught:
        reads(database).host("x", by="service", basis=None, from_="-30d", to=None, max_points=10)
    assert caught.value.next_step == "Choose a shorter window, such as -7d."
