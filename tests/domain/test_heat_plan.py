"""Which hosts measure heat: as many as wanted, the same all day, others tomorrow, unmoved by other hosts."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.heat.plan import HEAT_HOSTS, NO_PLAN, SAMPLE_HOSTS, choose_hosts, plan_host

DAY = date(2026, 11, 21)
HOSTS = range(1, 201)


@given(st.sets(st.integers(1, 10_000), min_size=HEAT_HOSTS + 1, max_size=80), st.integers(0, 400))
def test_as_many_hosts_as_wanted_measure_and_samples_come_from_among_them(hosts: set[int], days: int) -> None:
    chosen = choose_hosts(DAY + timedelta(days=days), "demo/cache", hosts)
    assert chosen.heat is not None
    assert chosen.samples is not None
    assert (len(chosen.heat), len(chosen.samples)) == (HEAT_HOSTS, SAMPLE_HOSTS)
    assert chosen.samples < chosen.heat <= hosts


def test_the_choice_of_a_day_does_not_depend_on_order_or_process() -> None:
    chosen = choose_hosts(DAY, "demo/cache", reversed(HOSTS))
    assert chosen == choose_hosts(DAY, "demo/cache", HOSTS)
    assert chosen.samples == frozenset({3, 125, 137})


def test_hosts_take_turns_and_services_choose_apart() -> None:
    today = choose_hosts(DAY, "demo/cache", HOSTS).heat
    others = [choose_hosts(DAY + timedelta(days=i), "demo/cache", HOSTS).heat for i in range(1, 61)]
    others.append(choose_hosts(DAY, "demo/web", HOSTS).heat)
    assert all(other != today for other in others)
    measured = frozenset[int]().union(*(other or () for other in others))
    assert len(measured) > 190


@given(st.integers(1, 200))
def test_a_host_that_leaves_moves_at_most_one_other(gone: int) -> None:
    before = choose_hosts(DAY, "demo/cache", HOSTS).heat or frozenset()
    after = choose_hosts(DAY, "demo/cache", [host for host in HOSTS if host != gone]).heat or frozenset()
    assert before - after <= {gone}
    assert len(after - before) <= 1


def test_a_small_service_is_measured_everywhere_and_needs_no_plan() -> None:
    few = choose_hosts(DAY, "demo/cache", range(SAMPLE_HOSTS))
    assert plan_host(1, {"demo/cache": few}) == NO_PLAN
    assert plan_host(1, {}) == NO_PLAN


def test_a_plan_names_what_is_measured_here_once_a_service_is_limited() -> None:
    large, small = choose_hosts(DAY, "demo/large", HOSTS), choose_hosts(DAY, "demo/small", range(1, 6))
    assert large.heat is not None
    outside = next(host for host in HOSTS if host not in large.heat)
    plan = plan_host(outside, {"demo/large": large, "demo/small": small})
    assert plan.services == ("demo/small",)
    assert plan.sample_services is not None
    assert "demo/large" not in plan.sample_services
    inside = plan_host(min(large.heat), {"demo/large": large})
    assert inside.services is None
