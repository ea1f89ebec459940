"""What limits and protections would do to two services of one host, of which a busy one pushes the other out."""

from datetime import UTC, datetime

import numpy as np
import pytest

from factories import batches
from factories.page_samples import add_samples, make_memory
from factories.tenants import GIB, MINUTES, SERVICES, rows, send
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, NotFound
from tierscope.core.settings import Settings
from tierscope.domain.knobs.facts import DEMOTE_SCALE, DEMOTION, NUMA_BALANCING
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fairness.limit_answers import HostLimits, TenantLimit
from tierscope.usecases.fairness.limits import LimitReads, WantedLimits
from tierscope.wire._generated import batch_pb2, heat_pb2

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
RATIO = 0.001
TPP = {NUMA_BALANCING: "2", DEMOTION: "true", DEMOTE_SCALE: "200"}
TRACE = heat_pb2.HEAT_BACKEND_TRACE
BYTES = {"demo/batch": 2 * GIB, "demo/cache": 5 * GIB}


def places(_minute: int) -> dict[str, tuple[int, int]]:
    """Of 7 GiB, 5 are in DRAM; by resident memory cache would have 3.6 of them."""
    return {"demo/batch": (2 * GIB, 0), "demo/cache": (3 * GIB, 2 * GIB)}


def pages_of(name: str, share: float, seed: int) -> np.ndarray:
    """Accesses [pages, minutes]: each page with this chance in each minute."""
    pages = int(BYTES[name] * RATIO / 4096)
    return (np.random.default_rng(seed).random((pages, MINUTES)) < share).astype(int) * 20


def send_sampled(
    database: Database, *, services: tuple[str, ...] = tuple(BYTES), backend: heat_pb2.HeatBackend = TRACE
) -> str:
    """A host whose batch accesses all its pages in every minute, and whose cache accesses a twentieth of its own."""

    def add(batch: batch_pb2.Batch) -> None:
        for name in services:
            seen = pages_of(name, 1.0 if name == "demo/batch" else 0.05, len(name))
            add_samples(batch, make_memory(seen, seed=len(name)), end_ns=batch.sealed_wall_ns, backend=backend)
            batch.page_samples[-1].sampled_ratio = RATIO
            batch.page_samples[-1].service_ref = batches.intern(batch, name)
        del batch.inventory.knobs[:]
        for path, value in TPP.items():
            batch.inventory.knobs.add(path=path, value=value)

    return send(database, rows(SERVICES, {}, places=places), add=add)


def ask(database: Database, host: str, protect: tuple[str, ...] = (), limit: tuple[str, ...] = ()) -> HostLimits:
    now = datetime.fromtimestamp(batches.now_ns() / 1e9, tz=UTC)
    reads = LimitReads(ReadContext(database, lambda: now, Settings(_env_file=None)))
    return reads.host(host, WantedLimits.parse(protect, limit), basis=None, from_="-90m", to=None)


def of(found: HostLimits, name: str) -> TenantLimit:
    return next(tenant for tenant in found.tenants if tenant.name == name)


def change(tenant: TenantLimit) -> float:
    """Bytes of DRAM that it holds more."""
    return (tenant.after.top_bytes.value or 0.0) - (tenant.before.top_bytes.value or 0.0)


def test_the_proposal_is_the_smallest_protection_that_gives_the_victim_its_fair_share(database: Database) -> None:
    host = send_sampled(database)
    found = ask(database, host)
    assert (found.reason, found.policy, found.asked) == (None, "tpp", False)
    cache, batch = of(found, "demo/cache"), of(found, "demo/batch")
    fair = cache.fair_bytes.value or 0.0
    assert fair == pytest.approx(5 * GIB * 5 / 7)
    assert found.proposal is not None
    assert found.proposal.name == "demo/cache"
    assert cache.low_bytes == pytest.approx(found.proposal.low_bytes, rel=0.01)
    assert cache.before.top_bytes.value == pytest.approx(3 * GIB, rel=0.1), "the replay finds what the host has"
    assert (cache.after.top_bytes.value or 0.0) >= 0.99 * fair
    assert change(batch) == pytest.approx(-change(cache), rel=0.05), "what one gains the other loses"
    for figure in (cache.after.local_ratio, batch.after.local_ratio, cache.after.loss_ratio, cache.local_change):
        assert figure.interval is not None
        assert figure.interval.lo <= (figure.value or 0.0) <= figure.interval.hi
    assert (batch.after.loss_ratio.value or 0.0) > (batch.before.loss_ratio.value or 0.0)
    less = f"demo/cache={int(found.proposal.low_bytes * 0.8)}"
    assert (of(ask(database, host, protect=(less,)), "demo/cache").after.top_bytes.value or 0.0) < fair
    assert any(note.startswith("Simulated:") for note in found.notes)


def test_a_limit_frees_the_top_tier_for_the_others(database: Database) -> None:
    found = ask(database, send_sampled(database), limit=(f"demo/batch={GIB}",))
    batch, cache = of(found, "demo/batch"), of(found, "demo/cache")
    assert (batch.after.top_bytes.value or 0.0) <= 1.01 * GIB
    assert (batch.top_max_bytes, batch.low_bytes, found.asked) == (pytest.approx(GIB, rel=0.01), None, True)
    assert change(cache) > 0.5 * GIB
    assert (batch.local_change.value or 0.0) < -0.3 < 0 < (cache.local_change.value or 0.0)


def test_accessed_bits_are_replayed_with_wider_bounds_and_services_without_samples_are_named(
    database: Database,
) -> None:
    abit = ask(database, send_sampled(database, backend=heat_pb2.HEAT_BACKEND_ABIT_WALK))
    assert abit.reason is None
    assert any("Accessed bits" in note for note in abit.notes)
    alone = ask(database, send_sampled(database, services=("demo/cache",)))
    assert alone.tenants == ()
    assert "1 of 2 services" in (alone.reason or "")
    assert alone.notes == ("Not replayed: demo/batch: no page samples in this window.",)


def test_what_cannot_be_is_refused_with_the_next_step(database: Database) -> None:
    host = send_sampled(database)
    with pytest.raises(BadRequest, match="none of the services") as caught:
        ask(database, host, protect=("demo/other=1",))
    assert caught.value.next_step is not None
    assert "demo/batch" in caught.value.next_step
    for wrong in ("demo/cache", "demo/cache=-1", "=5", "demo/cache=1GiB"):
        with pytest.raises(BadRequest, match="SERVICE=BYTES"):
            ask(database, host, limit=(wrong,))
    with pytest.raises(BadRequest, match="twice"):
        ask(database, host, protect=("demo/cache=1", "demo/cache=2"))
    with pytest.raises(NotFound):
        ask(database, "no-such-host")
