"""What the guest wrote, as the program reads it; no guest is started."""

import lzma

import pytest

from applied.helped import course_of
from applied.kept import PROPOSED, changes_for, differing, installed
from applied.pages import Move, moves, truth_of
from applied.served import parse_settings, unpacked_kernel
from tierscope.domain.knobs.files import PATH, VALUE


def test_settings_are_values_by_path_and_lists_of_several_lines_are_one() -> None:
    text = "/proc/sys/vm/swappiness:60\n/proc/sys/kernel/osrelease:6.12\nzoneinfo/0,DMA32/high:12\n/a:1\n/a:2\n"
    values = parse_settings(text)
    assert values["/proc/sys/vm/swappiness"] == "60"
    assert values["zoneinfo/0,DMA32/high"] == "12"
    assert values["/a"] == "1 2"


def test_what_changes_by_itself_is_no_difference() -> None:
    before = {"/proc/sys/kernel/ns_last_pid": "10", "/proc/sys/vm/swappiness": "60", "gone": "1"}
    after = {"/proc/sys/kernel/ns_last_pid": "11", "/proc/sys/vm/swappiness": "30"}
    assert differing({"zoneinfo/0,DMA32/high": "734"}, {"zoneinfo/0,DMA32/high": "728"}) == {}
    assert differing({"zoneinfo/0,DMA32/high": "734"}, {"zoneinfo/0,DMA32/high": "2900"})
    assert differing(before, after) == {"/proc/sys/vm/swappiness": ("60", "30"), "gone": ("1", None)}


def test_each_proposed_value_is_one_that_rules_may_propose() -> None:
    assert all(PATH.fullmatch(path) and VALUE.fullmatch(value) for path, value in PROPOSED.items())


def test_a_setting_of_the_host_that_the_agent_did_not_read_is_an_error() -> None:
    path = "/sys/kernel/debug/sched/numa_balancing/scan_size_mb"
    inventory = {"knobs": [{"path": "/proc/sys/vm/swappiness", "value": "60"}, {"path": path, "value": None}]}
    with pytest.raises(ValueError, match="scan_size_mb"):
        changes_for(inventory, {"/proc/sys/vm/swappiness": "60", path: "256"})
    assert [change.current for change in changes_for(inventory, {"/proc/sys/vm/swappiness": "60"})] == ["60"]


def test_files_are_put_as_they_are() -> None:
    assert installed([("/etc/a.d/b", "w $x - 1\n")]) == "mkdir -p /etc/a.d\ncat >/etc/a.d/b <<'END'\nw $x - 1\nEND\n"


def test_a_kernel_is_found_in_its_image() -> None:
    kernel = b"\x7fELF" + bytes(100)
    assert unpacked_kernel(b"stub" + lzma.compress(kernel) + b"rest") == kernel
    with pytest.raises(ValueError, match="no kernel"):
        unpacked_kernel(b"stub")


def _traced(at_s: float, address: int, frame: int, order: int = 0) -> str:
    head = f" kswapd0-35 [000] ..... {at_s:.6f}:"
    return f"{head} remove_migration_pte: addr={address:x}, pte={frame << 12 | 0x67:x} order={order}\n"


def test_moves_are_told_from_pages_that_are_moved_within_a_node() -> None:
    trace = [
        "CPU:0 [LOST 3 EVENTS]\n",
        _traced(1.0, 0x7000, 5000),
        _traced(2.0, 0x7000, 5001),
        _traced(3.0, 0x7000, 10),
        _traced(3.5, 0x7000, 11),
        _traced(4.0, 0x8000, 12),
        _traced(5.0, 0x9000, 13, order=9),
    ]
    assert list(moves(trace, slow_frame=1000)) == [
        Move(1.0, 0x7000, is_promotion=False),
        Move(3.0, 0x7000, is_promotion=True),
        Move(4.0, 0x8000, is_promotion=True),
    ]


def test_a_round_trip_ends_within_ten_minutes_of_its_demotion() -> None:
    down = [Move(0.0, address, is_promotion=False) for address in (1, 2)]
    up = [Move(at_s, address, is_promotion=True) for at_s, address in ((599.0, 1), (601.0, 2), (700.0, 3))]
    moved = [*down, *up]
    truth = truth_of(moved, 500.0, 650.0)
    assert (truth.promotions, truth.round_trips) == (2, 1)
    assert truth_of(moved, 500.0, 700.0).promotions == 3


def test_the_end_of_a_load_is_weighted_by_its_accesses() -> None:
    line = "ts={0} t={0} ops_s={1} slow_frac={2} hot_n0=30 hot_n1=10 hot_absent=0\n"
    log = "# pages\n" + "".join(line.format(second, 100, 0.9) for second in range(10))
    log += "".join(
        line.format(second, ops, slow)
        for second in range(10, 40)
        for ops, slow in [(300, 0.1) if second % 2 else (100, 0.5)]
    )
    snapshots = {
        1: {"proc/vmstat": b"pgpromote_success 5\nnuma_hint_faults 1\n"},
        9: {"proc/vmstat": b"pgpromote_success 9\npgdemote_kswapd 2\npgdemote_direct 1\nnuma_hint_faults 8\n"},
    }
    course = course_of(log, snapshots)
    assert course.slow_ratio == pytest.approx(0.2)
    assert course.hot_dram_ratio == pytest.approx(0.75)
    assert (course.promoted_pages, course.demoted_pages, course.hint_faults) == (4, 3, 7)
