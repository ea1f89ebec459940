"""Workloads in the twin's laws against the synthetic traces of the same name: who gets how much of the accesses."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tierscope.domain.simulate.presets import NAMESPACE, TWIN_WORKLOADS
from tierscope.domain.simulate.request_workloads import REQUEST_PATTERNS, Pattern, make_requests

LAWS = Path(__file__).parents[2] / "collector-agent/crates/twin/laws/workloads.toml"
BUSIEST = (0.1, 0.2, 0.5)
STEADY = [name for name in REQUEST_PATTERNS if name in TWIN_WORKLOADS and name != "ycsb_d"]


def services() -> dict[str, Any]:
    found = tomllib.loads(LAWS.read_text("utf-8"))["service"]
    return {service["name"].replace("-", "_"): service for service in found}


def shares_of_busiest(rates: npt.NDArray[np.float64]) -> list[float]:
    """Share of the accesses that the busiest tenth, fifth and half of the pages get."""
    grown = np.cumsum(np.sort(rates)[::-1]) / rates.sum()
    return [float(grown[int(len(rates) * part) - 1]) for part in BUSIEST]


def test_the_twin_has_every_workload_by_name() -> None:
    found = services()
    assert set(found) == set(TWIN_WORKLOADS)
    assert {service["namespace"] for service in found.values()} == {NAMESPACE}


@pytest.mark.parametrize("name", STEADY)
def test_the_busiest_pages_get_the_same_share_of_accesses(name: Pattern) -> None:
    """Over all intervals together; a trace of YCSB D grows, so that its ages are compared by its exponent alone."""
    [memory] = services()[name]["population"]
    # Blocks are drawn anew in each interval: only over many of them all pages are alike.
    pages, intervals = (2000, 400) if name == "memo_random_block" else (8000, 30)
    ranks = (np.arange(pages) + 0.5) / pages
    law = shares_of_busiest((ranks + memory["flat_top"]) ** -memory["skew"])
    trace = make_requests(name, pages=pages, intervals=intervals, seed=1)
    counts = np.bincount(trace.row_page, trace.row_accesses.astype(np.float64), pages).astype(np.float64)
    assert law == pytest.approx(shares_of_busiest(counts), abs=0.06)


def test_writes_are_those_of_the_mixes() -> None:
    found = services()
    shares = {name: found[name]["write_share"] for name in ("ycsb_a", "ycsb_b", "ycsb_c", "ycsb_d", "pmbench")}
    assert shares == {"ycsb_a": 0.5, "ycsb_b": 0.05, "ycsb_c": 0.0, "ycsb_d": 0.05, "pmbench": 0.2}
