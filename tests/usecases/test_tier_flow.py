"""What moves between DRAM, slower tiers and swap over all hosts, in bytes per second."""

import pytest

from factories import batches
from factories.derived import drain
from factories.installations import enrol, store
from tierscope.domain.ledger.figures import TierFlow
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.overview import FleetReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MOVES = {"pgpromote_success": 600, "pgdemote_kswapd": 1200}
SWAP = {"pswpin": 60, "pswpout": 120, "zswpout": 60}


def feed(context: ReadContext, name: str, per_minute: dict[str, int], *, page_bytes: int = 4096) -> None:
    """Enrol a host and store ten minutes of these counters of /proc/vmstat."""
    host = enrol(context.database, name=name)
    batch = batches.make_batch(host_id=host.id)
    keys = sorted(per_minute)
    rows = [[per_minute[key] * minute for key in keys] for minute in range(10)]
    batches.add_counters(batch, rows, keys=[key if "|" in key else f"host|vmstat|{key}" for key in keys])
    batches.add_inventory(batch, hostname=name)
    batch.inventory.page_size_bytes = page_bytes
    assert not isinstance(store(context.database, host, [batch])[0], Exception)


def flow(context: ReadContext) -> TierFlow:
    return FleetReads(context).overview(from_="-2h", to=None, max_points=10).tier_flow


def test_bytes_add_up_over_hosts_by_their_page_sizes_before_and_after_workers_have_summed(context: ReadContext) -> None:
    feed(context, "small-pages", MOVES | SWAP)
    feed(context, "large-pages", MOVES | SWAP, page_bytes=65536)
    feed(context, "no-swap-counters", MOVES)
    before = flow(context)
    drain(context.database)
    after = flow(context)
    for found in (before, after):
        assert found.promotion_bytes_per_s.value == pytest.approx(10 * (4096 + 65536 + 4096))
        assert found.demotion_bytes_per_s.value == pytest.approx(20 * (4096 + 65536 + 4096))
        assert found.swap_in_bytes_per_s.value == pytest.approx(1 * (4096 + 65536))
        # Device swap and zswap together.
        assert found.swap_out_bytes_per_s.value == pytest.approx(3 * (4096 + 65536))
        assert (found.promotion_bytes_per_s.n_hosts, found.swap_out_bytes_per_s.n_hosts) == (3, 2)
        assert found.swap_in_bytes_per_s.unit == "bytes_per_s"


def test_what_damon_moved_stands_apart_in_bytes(context: ReadContext) -> None:
    feed(context, "moves", MOVES | {"host|damos|sz_applied[k0.c0.s0.migrate_cold.N1]": 60 << 20}, page_bytes=65536)
    feed(context, "has-no-schemes", MOVES)
    before = flow(context)
    drain(context.database)
    for found in (before, flow(context)):
        demotion, promotion = found.damon_demotion_bytes_per_s, found.damon_promotion_bytes_per_s
        assert (demotion.value, demotion.n_hosts) == (pytest.approx(1 << 20), 1)
        assert found.demotion_bytes_per_s.value == pytest.approx(20 * (65536 + 4096))
        assert (promotion.value, promotion.status) == (None, "not_supported")
        assert "No scheme of DAMON" in str(promotion.reason)


def test_swap_that_no_kernel_counts_is_not_zero(context: ReadContext) -> None:
    feed(context, "no-swap-counters", MOVES)
    drain(context.database)
    found = flow(context)
    assert (found.swap_in_bytes_per_s.value, found.swap_in_bytes_per_s.status) == (None, "not_supported")
    assert found.swap_in_bytes_per_s.reason
    assert found.promotion_bytes_per_s.value is not None


def test_no_swap_is_zero_where_it_is_counted(context: ReadContext) -> None:
    feed(context, "idle", MOVES | dict.fromkeys(SWAP, 0))
    drain(context.database)
    assert flow(context).swap_out_bytes_per_s.value == 0
