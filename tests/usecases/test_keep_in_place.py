"""How a service is kept in DRAM says what the charters say of it."""

from tierscope.domain._generated.advice import HAZARDS
from tierscope.usecases.ledger.ping_pong_cost import keep_in_place


def test_which_kernels_demote_across_a_cpuset_is_what_the_charter_says() -> None:
    bound = keep_in_place(fits=True)
    assert "cpuset.mems" in bound
    assert HAZARDS["strict-cpuset"].says in bound
    assert "memory.low" in keep_in_place(fits=False)
