"""What is read of recorded kernels before their load is replayed."""

from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

from corpus.truth import hides_armed
from validation import corpus
from validation.kernel_lab import FILE, armed_pages, columns
from validation.recordings import DATA, HUGE, HUGE_UNITS, PAGES_PER_MIB, knobs_of, read, seconds

EVENTS = """1795223405 set /sys/kernel/mm/transparent_hugepage/enabled=always rc=0
1795223405 set /sys/kernel/mm/lru_gen/enabled=7
1795223406 refused /proc/sys/kernel/numa_balancing=2
"""


def test_knobs_of_one_name_are_kept_apart_and_refused_ones_are_not_set() -> None:
    assert knobs_of(EVENTS) == {HUGE: "always", "/sys/kernel/mm/lru_gen/enabled": "7"}


def test_a_rule_that_knows_names_alone_leaves_about_half_of_the_corpus_out() -> None:
    left_out = [name for name in corpus.names() if corpus.is_left_out(name)]
    assert 0.4 < len(left_out) / len(corpus.names()) < 0.6
    assert {name.split("-")[0] for name in left_out} == {"6.1", "6.12", "7.2"}


def test_pages_that_a_kernel_hides_while_they_are_armed_are_slow() -> None:
    row = {"ts": 1.0, "ops_s": 10.0, "slow_frac": 0.25, "absent_frac": 0.5, "phase": 0.0}
    row |= {f"{what}_{place}": 1.0 for what in ("pages", "hot") for place in ("n0", "n1", "absent")}
    slow = [[found.slow_ratio for found in seconds([row] * 2, [1] * 2, hides_armed=hides)] for hides in (False, True)]
    assert slow == [[0.25, 0.25], [0.25, 0.75]]
    assert [hides_armed(kernel) for kernel in ("6.1", "6.1.0-50-amd64", "6.12", "7.2")] == [True, True, False, False]


def test_acts_of_a_load_have_hot_sets_of_their_own() -> None:
    log = corpus.read("6.12-hmat-small-two-acts-default").log
    assert {row.hot_pages for row in log} == {115 * PAGES_PER_MIB, 134 * PAGES_PER_MIB}
    moved = [row.hot_begin for row in log if row.hot_begin]
    assert moved[0] == 134 * PAGES_PER_MIB
    assert moved[-1] == 4 * 134 * PAGES_PER_MIB


def test_a_kernel_that_took_both_nodes_for_one_tier_is_told_apart() -> None:
    assert corpus.read("6.1-hmat-small-moves-slower-default").one_tier
    assert not corpus.read("6.1-nvdimm-small-moves-slower-default").one_tier


def test_a_recording_of_either_form_is_read_from_wherever_it_is(tmp_path: Path) -> None:
    name = "6.12-hmat-small-two-acts-default"
    kept_elsewhere = tmp_path / f"{name}.tar.zst"
    copyfile(corpus.CORPUS / kept_elsewhere.name, kept_elsewhere)
    assert corpus.read_archive(kept_elsewhere) == corpus.read(name)
    assert corpus.read_archive(DATA / "kernel-lab" / "10-cxl-real.tar.zst") == read("10-cxl-real")


def test_huge_pages_are_hot_as_a_whole_and_files_that_are_read_beside_come_once() -> None:
    huge = columns(corpus.read("6.12-hmat-small-huge-pages-fast"), 1)
    assert set(huge.units.tolist()) == {HUGE_UNITS}
    fallen_back = corpus.read("6.12-nvdimm-small-huge-pages-fast")
    sizes = columns(fallen_back, 1).units
    missed = fallen_back.counters["thp_fault_fallback"]
    assert np.unique(sizes, return_counts=True)[1].tolist() == [
        missed * HUGE_UNITS,
        fallen_back.load.pages // HUGE_UNITS - missed,
    ]
    assert sizes.sum() == fallen_back.load.pages
    flooded = corpus.read("6.12-hmat-small-flood-beside-moves-default")
    found = columns(flooded, 4)
    files = np.flatnonzero(found.kinds == FILE)
    expected = sum(row.flood_mib for row in flooded.log) * PAGES_PER_MIB / 4
    assert len(files) == pytest.approx(expected, rel=0.01)
    assert np.isin(found.row_page, files).sum() == len(files)


def test_lists_zones_and_the_scanner_are_read_as_the_kernel_had_them() -> None:
    classic = corpus.read("6.1-nvdimm-small-moves-slower-default").reclaim
    generations = corpus.read("6.12-hmat-small-moves-slower-fast")
    assert classic is not None
    assert generations.reclaim is not None
    assert (classic.lru, classic.is_slow_movable) == ("classic", True)
    assert (generations.reclaim.lru, generations.reclaim.is_slow_movable) == ("mglru", False)
    low, high = generations.reclaim.slow_watermarks
    assert 0 < low < high
    armed = armed_pages(generations, 4)
    assert min(armed) >= 0
    assert sum(armed) == pytest.approx(generations.counters["numa_pte_updates"] / 4, rel=0.02)
