"""What an inventory says of files that had a problem, and which sources that bears on."""

import pytest

from tierscope.domain.ledger.doubt import bears_on, read_doubts


def problem(path: str, reason: str) -> dict[str, object]:
    return {"path": path, "reason": reason, "has_value": True}


def test_a_count_below_zero_is_left_out_and_its_file_stands() -> None:
    reason = "line 8, `HugePages_Rsvd`: counts below zero: more was taken away than added, by a fault of the kernel"
    cut = "ends within a line: it may be cut off, so that line was left out"
    body = {"problems": [problem("/proc/meminfo", reason), problem("/proc/vmstat", cut)]}
    assert read_doubts(body) == (f"/proc/vmstat: {cut}",)


@pytest.mark.parametrize("finding", ["container-view", "count-above-memory"])
def test_sizes_that_cannot_be_right_bear_on_the_file_that_has_them(finding: str) -> None:
    body = {"findings": [{"id": finding, "cause": "its lists of reclaim hold 22.2 GiB, and MemTotal is 1.5 GiB"}]}
    (doubt,) = read_doubts(body)
    assert [source for source in ("meminfo", "vmstat", "zoneinfo") if bears_on(doubt, source)] == ["meminfo"]
