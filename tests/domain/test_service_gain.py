"""What all services save together is the sum of what is proven of each."""

from dataclasses import replace

from tierscope.domain.fleet.gain import ServiceGain, sum_gains


def test_a_total_is_the_sum_of_proven_gains() -> None:
    proven = ServiceGain("1:1", 0.5, "cxl", 4.0, 30.0, 10.0, 50.0, "USD", "established", None)
    costly = replace(proven, net_per_year=-5.0, net_per_year_p10=-9.0)
    judged = replace(proven, net_per_year=None, net_per_year_p10=None, ratio=None)
    total = sum_gains([proven, proven, costly, judged])
    assert total is not None
    assert (total.net_per_year, total.net_per_year_p10, total.dram_freed_bytes) == (60.0, 20.0, 8.0)
    assert (total.n_services, total.n_judged) == (2, 4)
    assert sum_gains([judged]) is None
