"""The corpus of recordings: what is planned, what is kept of a recording, and what was true in it."""

import io
import json
import tarfile
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import zstandard

from corpus import __main__ as command
from corpus.guest import Lab, settings
from corpus.guest import command as guest_command
from corpus.packing import pack, read_stream, unpack
from corpus.plan import (
    KERNELS,
    LAYOUTS,
    LOADS,
    MEMORIES,
    MOST_BYTES,
    Load,
    Scenario,
    by_guest,
    choose,
    matrix,
)
from corpus.truth import State, document, hides_armed, intervals, read_log, slow_ratios

LAB = Lab(Path("/lab"))


def scenario(name: str) -> Scenario:
    return next(found for found in matrix() if found.name == name)


def log(rows: Sequence[tuple[float, float]], *, ops: int = 100, filled: tuple[int, int] | None = None) -> str:
    """The log of a load: by second, the share of slow accesses and that of 100 hot pages in DRAM.

    `filled`: pages of other memory on the slow node, of 400, and pages that go down a second.
    """
    lines = ["# pages=200" + ("" if filled is None else " slow_node_pages=400")]
    for second, (slow, hot) in enumerate(rows):
        fast = round(100 * hot)
        full = "" if filled is None else f" filler_n1={filled[0]} went_down={filled[1] * second}"
        lines.append(
            f"ts={1000 + second}.000 t={second + 1} ops_s={ops} slow_frac={slow:.4f} pages_n0=120 pages_n1=80"
            f" pages_absent=0 hot_n0={fast} hot_n1={100 - fast} hot_absent=0{full}"
        )
    return "\n".join(lines) + "\n"


def test_the_plan_has_every_combination_once() -> None:
    names = [found.name for found in matrix()]
    assert len(set(names)) == len(names) == 3 * 3 * 3 * 2 * 12 - 3 * 3 * 2
    assert not any(name.startswith("6.1-") and "balancing-only" in name for name in names)


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_every_load_fits_into_the_guest_and_needs_the_slow_node(load: Load) -> None:
    for memory in MEMORIES:
        all_mib = memory.dram_mib * load.memory_ratio
        assert memory.dram_mib < all_mib
        if load.swap_ratio:
            assert memory.dram_mib + memory.slow_mib < all_mib < memory.dram_mib * (2 + load.swap_ratio)
        else:
            assert all_mib < memory.dram_mib + memory.slow_mib / 2
    assert all(0 < act.hot_ratio < load.memory_ratio for act in load.acts)


def test_the_plan_has_the_loads_that_recordings_lacked() -> None:
    by_name = {load.name: load for load in LOADS}
    assert by_name["flood-beside-moves"].acts[0].is_flooded
    assert by_name["flood-beside-moves"].acts[0].move_s > 0
    assert len(by_name["two-acts"].acts) == 2
    assert by_name["huge-pages"].is_huge
    assert by_name["slow-node-full"].acts[0].is_filled
    assert by_name["promotion-limited"].promote_limit_mib_per_s == by_name["moves-limited"].promote_limit_mib_per_s == 1
    assert (by_name["balancing-only"].balancing, by_name["balancing-only"].is_demoting) == (1, False)
    assert (by_name["tiering-off"].balancing, by_name["tiering-off"].is_demoting) == (0, False)
    still = by_name["still-too-large"].acts[0]
    assert (still.hot_ratio > 1, still.move_s) == (True, 0)
    assert by_name["moves-faster"].acts[0].move_s < by_name["moves-slower"].acts[0].move_s


def test_a_run_goes_on_with_what_is_missing() -> None:
    scenarios = list(matrix())
    first = choose(scenarios, frozenset(), limit=2)
    then = choose(scenarios, frozenset(found.name for found in first), limit=2)
    assert [*first, *then] == scenarios[:4]
    assert choose(scenarios, frozenset(found.name for found in scenarios)) == []


def test_only_some_names_are_recorded() -> None:
    chosen = choose(list(matrix()), frozenset(), only=("6.12-hmat-small", "7.2-cxl-large-two-acts"))
    assert {found.name[:15] for found in chosen} == {"6.12-hmat-small", "7.2-cxl-large-t"}
    assert len(chosen) == 24 + 2


def test_the_plan_is_printed_and_nothing_is_built(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = tmp_path / "6.12-hmat-small-two-acts-fast.tar.zst"
    there.touch()
    monkeypatch.setattr(command, "KEPT", tmp_path)
    assert command.main(["--plan", "--only", "6.12-hmat-small-two-acts"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "there    6.12-hmat-small-two-acts-fast",
        "missing  6.12-hmat-small-two-acts-default",
        "1 of 630 recordings are there",
    ]


def test_settings_are_in_the_units_of_the_guest() -> None:
    words = dict(line.split("=", 1) for line in settings(scenario("7.2-nvdimm-small-two-acts-fast")).splitlines())
    assert words["LOAD"] == "'576 0 3000 40 115:0:50 134:10:50'"
    assert (words["LAYOUT"], words["SCAN_PERIOD_MAX_MS"], words["HOT_THRESHOLD_MS"]) == ("nvdimm", "1000", "5000")
    flooded = settings(scenario("6.12-hmat-small-flood-beside-moves-default"))
    assert "134:20:80:flood" in flooded
    assert "134:20:60:fill" in settings(scenario("6.12-hmat-small-slow-node-full-default"))
    assert "SCAN_PERIOD_MAX_MS=''" in flooded
    assert "LOAD='499 1 3000" in settings(scenario("6.12-hmat-small-huge-pages-default"))
    assert (words["BALANCING"], words["DEMOTION"], words["PROMOTE_LIMIT_MIB_PER_S"]) == ("2", "1", "''")
    assert "PROMOTE_LIMIT_MIB_PER_S=1\n" in settings(scenario("6.12-hmat-small-promotion-limited-fast"))
    assert words["SWAP_MIB"] == "0"
    assert "SWAP_MIB=512\n" in settings(scenario("6.12-hmat-slower-swapping-fast"))
    assert "BALANCING=0\nDEMOTION=0\n" in settings(scenario("6.12-hmat-small-tiering-off-default"))


@pytest.mark.parametrize(
    ("layout", "machine"),
    [("hmat", "q35,hmat=on"), ("nvdimm", "q35,hmat=on,nvdimm=on"), ("cxl", "q35,cxl=on")],
)
def test_each_layout_has_a_machine_of_its_own(layout: str, machine: str) -> None:
    words = guest_command(LAB, scenario(f"6.12-{layout}-small-two-acts-fast"), Path("/shared"))
    assert words[words.index("-machine") + 1] == machine
    assert ("-icount" in words) is (layout != "cxl")
    # One core, whatever the machine has.
    assert words[words.index("-accel") + 1] == "tcg,thread=single"


@pytest.mark.parametrize(("size", "shift"), [("small", 3), ("slower", 4)])
def test_an_instruction_of_a_slower_guest_takes_longer(size: str, shift: int) -> None:
    words = guest_command(LAB, scenario(f"6.12-hmat-{size}-two-acts-fast"), Path("/shared"))
    assert words[words.index("-icount") + 1] == f"shift={shift},sleep=off"


def test_scenarios_of_one_kernel_and_memory_share_a_guest_and_leave_its_scanner_at_first() -> None:
    chosen = choose(list(matrix()), frozenset(), only=("6.12-hmat-slower-swapping", "6.12-hmat-slower-tiering-off"))
    assert [[one.name[17:] for one in guest] for guest in by_guest(chosen)] == [
        [f"{load}-{scanner}" for scanner in ("default", "fast") for load in ("swapping", "tiering-off")]
    ]
    assert len(by_guest(list(matrix()))) == len(MEMORIES) * len(LAYOUTS) * len(KERNELS)


def stream(snapshots: dict[int, dict[str, bytes]]) -> bytes:
    """What the guest's recorder writes."""
    return b"".join(
        b"F %d %d /%s\n%s" % (second, len(body), path.encode(), body)
        for second, files in snapshots.items()
        for path, body in files.items()
    )


def test_a_stream_of_snapshots_is_read_back_and_one_cut_short_is_left_out() -> None:
    snapshots = {10: {"proc/vmstat": b"a 1\n"}, 12: {"proc/vmstat": b"a 2\n", "proc/stat": b"F 1 2 /x\n"}}
    written = stream(snapshots)
    assert read_stream(written) == snapshots
    assert read_stream(written[:-3]) == {10: snapshots[10]}
    with pytest.raises(ValueError, match="at byte 0"):
        read_stream(b"no stream")


def noise(seed: int, size: int) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def test_a_recording_keeps_as_many_snapshots_as_fit(tmp_path: Path) -> None:
    snapshots = {second: {"proc/vmstat": noise(second, 1000)} for second in range(0, 40, 2)}
    packed = pack("few", snapshots, {"workload.log": log([(0.5, 0.5)])}, {"slow_ns": 3000}, most_bytes=8_000)
    path = tmp_path / "few.tar.zst"
    path.write_bytes(packed)
    files = unpack(path)
    meta = json.loads(files["meta.json"])
    kept = sorted(int(name.split("/")[0]) for name in files if name.endswith("vmstat"))
    assert len(packed) <= 8_000
    assert (meta["every"], meta["slow_ns"]) == (3, 3000)
    assert kept == list(range(0, 40, 6))
    # Truth needs every second of the load, however few snapshots are kept.
    assert files["workload.log"] == log([(0.5, 0.5)])


def test_what_fits_is_kept_whole_and_what_cannot_fit_is_refused() -> None:
    snapshots = {second: {"proc/vmstat": noise(second, 1000)} for second in range(3)}
    whole = pack("whole", snapshots, {}, {}, most_bytes=MOST_BYTES)
    assert pack("whole", snapshots, {}, {}, most_bytes=len(whole)) == whole
    with pytest.raises(ValueError, match="3 snapshots do not fit into 500 bytes"):
        pack("whole", snapshots, {}, {}, most_bytes=500)


def test_a_torn_line_of_the_load_is_left_out() -> None:
    text = log([(0.5, 0.5), (0.25, 1.0)])
    assert [row["slow_frac"] for row in read_log(text)] == [0.5, 0.25]
    assert len(read_log(text[: text.rindex("hot_n1=") + 7])) == 1


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([(0.05, 0.95)] * 20, "good"),
        ([(0.5, 0.5)] * 20, "standing"),
        ([(0.4, 0.3 + place * 0.02) for place in range(20)], "improving"),
        ([(0.4, 0.8 - place * 0.02) for place in range(20)], "worsening"),
        ([(0.4, (0.6, 0.7, 0.8, 0.9)[place % 4]) for place in range(20)], "following"),
        ([(0.4, (0.5, 0.6, 0.5, 0.7)[place % 4]) for place in range(20)], "chasing"),
    ],
)
def test_the_state_of_an_interval_follows_from_placement_and_slow_accesses(
    rows: list[tuple[float, float]], state: str
) -> None:
    (told,) = intervals(log(rows))
    assert told.state == state
    assert told.hot_dram_ratio == pytest.approx(round(100 * rows[-1][1]) / 100)
    assert told.dram_ratio == pytest.approx(0.6)
    assert told.above_chance_ratio == pytest.approx(sum(round(100 * hot) for _, hot in rows) / 100 / len(rows) - 0.6)


@pytest.mark.parametrize(
    ("hot", "filled", "state"),
    [
        ([0.5] * 20, (290, 0), "full"),
        ([0.8 - place * 0.02 for place in range(20)], (290, 0), "full"),
        # It has room, or pages still go down, or the hot set comes to DRAM.
        ([0.5] * 20, (250, 0), "standing"),
        ([0.5] * 20, (290, 1), "standing"),
        ([0.3 + place * 0.02 for place in range(20)], (290, 0), "improving"),
    ],
)
def test_a_slow_node_is_full_where_pages_fill_it_and_none_goes_down(
    hot: list[float], filled: tuple[int, int], state: str
) -> None:
    (told,) = intervals(log([(0.5, share) for share in hot], filled=filled))
    assert told.state == state
    assert told.slow_used_ratio == pytest.approx((80 + filled[0]) / 400)
    assert told.went_down_ratio == pytest.approx(19 * filled[1] / 200)


def test_how_full_the_slow_node_is_is_not_known_of_a_log_that_does_not_say() -> None:
    (told,) = intervals(log([(0.5, 0.5)] * 20))
    assert (told.state, told.slow_used_ratio, told.went_down_ratio) == ("standing", None, None)


def counted(text: str, **pages_each_s: int) -> str:
    """A log with counts that grow by so many of the load's 200 pages each second."""
    lines = text.splitlines()
    for second, line in enumerate(lines[1:]):
        lines[second + 1] = line + "".join(f" {name}={pages * second}" for name, pages in pages_each_s.items())
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("slow", "pages_each_s", "state"),
    [
        (0.05, {"swapped_out": 1, "swapped_in": 1}, "swapping"),
        (0.5, {"swapped_out": 1, "swapped_in": 1}, "swapping"),
        # What went to swap and is not wanted back is no shortage.
        (0.5, {"swapped_out": 9, "swapped_in": 0}, "standing"),
        (0.05, {"swapped_out": 9, "swapped_in": 0}, "good"),
    ],
)
def test_a_load_swaps_where_pages_go_to_swap_and_come_back(
    slow: float, pages_each_s: dict[str, int], state: str
) -> None:
    (told,) = intervals(counted(log([(slow, 0.5)] * 20), **pages_each_s))
    assert told.state == state
    assert told.swapped_out_ratio == pytest.approx(19 * pages_each_s["swapped_out"] / 200)
    assert told.swapped_in_ratio == pytest.approx(19 * pages_each_s["swapped_in"] / 200)


@pytest.mark.parametrize(
    ("slow", "balancing", "state"),
    [
        (0.5, "0", "spilled"),
        (0.5, "1", "spilled"),
        (0.05, "0", "good"),
        (0.5, "2", "standing"),
        (0.5, "-1", "standing"),
    ],
)
def test_memory_spills_where_slow_accesses_meet_a_kernel_that_promotes_nothing(
    slow: float, balancing: str, state: str
) -> None:
    (told,) = intervals(log([(slow, 0.5)] * 20).replace("# pages=200", f"# pages=200 balancing={balancing}"))
    assert told.state == state


@pytest.mark.parametrize(
    ("limit", "hot", "pages_each_s", "used", "state"),
    [
        ("1", [0.5] * 20, 128, 0.5, "limited"),
        ("1", [0.5] * 20, 64, 0.25, "standing"),
        ("2", [0.5] * 20, 128, 0.25, "standing"),
        ("65536", [0.5] * 20, 128, 0.5 / 65536, "standing"),
        ("-1", [0.5] * 20, 128, None, "standing"),
        # What it lets through is enough.
        ("1", [0.3 + place * 0.02 for place in range(20)], 128, 0.5, "improving"),
    ],
)
def test_promotion_is_limited_where_half_of_what_the_limit_lets_through_came_up_and_buys_little(
    limit: str, hot: list[float], pages_each_s: int, used: float | None, state: str
) -> None:
    text = counted(log([(0.5, share) for share in hot]), came_up=pages_each_s)
    (told,) = intervals(text.replace("# pages=200", f"# pages=200 promote_limit_mib_per_s={limit}"))
    assert told.state == state
    assert told.limit_used_ratio == pytest.approx(used)


def test_pages_in_swap_are_pages_of_the_load() -> None:
    text = log([(0.5, 0.5)] * 20).replace("hot_absent=0", "hot_absent=0 hot_swap=100 pages_swap=50")
    (told,) = intervals(text)
    assert told.hot_dram_ratio == pytest.approx(0.25)
    assert told.dram_ratio == pytest.approx(120 / 250)


def test_rises_and_falls_make_the_change_and_nothing_is_judged_without_accesses() -> None:
    placed = [0.2, 0.6, 0.4, 0.9]
    (told,) = intervals(log([(0.5, hot) for hot in placed]), interval_s=4)
    steps = [later - earlier for earlier, later in pairwise(placed)]
    assert told.gained_ratio == pytest.approx(sum(step for step in steps if step > 0))
    assert told.gained_ratio - told.lost_ratio == pytest.approx(placed[-1] - placed[0])
    (idle,) = intervals(log([(0.0, 0.5)] * 4, ops=0), interval_s=4)
    assert (idle.slow_access_ratio, idle.state) == (None, None)


@pytest.mark.parametrize(("kernel", "slow_access_ratio", "used"), [("6.1", 0.75, 0.95), ("6.12", 0.5, 0.7)])
def test_pages_that_a_kernel_hides_while_they_are_armed_are_on_the_slow_node(
    kernel: str, slow_access_ratio: float, used: float
) -> None:
    text = log([(0.5, 0.5)] * 3, filled=(200, 0)).replace("slow_frac", "absent_frac=0.2500 slow_frac")
    text = text.replace("pages_absent=0", "pages_absent=100")
    (told,) = intervals(text, interval_s=2, skipped_s=1, hides_armed=hides_armed(kernel))
    assert told.slow_access_ratio == pytest.approx(slow_access_ratio)
    assert told.slow_used_ratio == pytest.approx(used)


def test_pages_are_not_hidden_before_they_were_looked_at() -> None:
    before = {"slow_frac": 0.25, "absent_frac": 0.5, "pages_n0": 0.0, "pages_n1": 0.0}
    looked, idle = {**before, "pages_n1": 1.0}, {"pages_n0": 1.0, "pages_n1": 0.0}
    assert slow_ratios([before, looked, looked, idle], hides_armed=True) == [0.25, 0.25, 0.75, None]
    assert slow_ratios([looked, looked], hides_armed=False) == [0.25, 0.25]


def test_intervals_begin_after_the_seconds_that_are_skipped() -> None:
    text = log([(0.5, 0.5)] * 5 + [(0.25, 0.5)] * 22)
    (told,) = intervals(text, skipped_s=5)
    assert told.begin_s == 1005.0
    assert told.slow_access_ratio == pytest.approx(0.25)


def test_slow_accesses_of_an_interval_are_weighted_by_its_accesses() -> None:
    busy, calm = log([(0.8, 0.5)], ops=300), log([(0.0, 0.5)], ops=100)
    (told,) = intervals(busy + calm, interval_s=2)
    assert told.slow_access_ratio == pytest.approx(0.6)


def test_only_whole_intervals_are_judged() -> None:
    assert len(intervals(log([(0.5, 0.5)] * 50))) == 2
    assert document({"one": log([(0.5, 0.5)] * 10)})["recordings"] == {"one": []}


def test_the_truth_that_is_kept_is_that_of_the_recordings_that_are_kept() -> None:
    names = sorted(command.done_in(command.KEPT))
    logs = {}
    for name in names:
        path = command.KEPT / f"{name}.tar.zst"
        files = unpack(path)
        logs[name] = files["workload.log"]
        assert scenario(name).name == name
        assert path.stat().st_size <= MOST_BYTES
        assert json.loads(files["meta.json"])["scenario"] == name
        assert sum(file.endswith("/proc/vmstat") for file in files) >= 2
    assert json.loads(command.TRUTH.read_text(encoding="utf-8")) == document(logs)


def test_the_corpus_has_five_recordings_of_each_state_and_every_kernel_and_layout() -> None:
    recordings = json.loads(command.TRUTH.read_text(encoding="utf-8"))["recordings"]
    assert len(recordings) >= 100
    with_state = Counter(state for truths in recordings.values() for state in {truth["state"] for truth in truths})
    assert {state for state in get_args(State) if with_state[state] < 5} == set()
    found = {tuple(name.split("-")[:2]) for name in recordings}
    assert found >= set(product(KERNELS, LAYOUTS)) - {("6.1", "cxl")}


def written(member: tarfile.TarInfo, body: bytes, *, form: int = tarfile.USTAR_FORMAT, cut: int | None = None) -> bytes:
    """An archive with one member, packed; cut off after some bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=form) as tree:
        member.size = len(body)
        tree.addfile(member, io.BytesIO(body))
    return zstandard.ZstdCompressor().compress(plain.getvalue()[:cut])


@pytest.mark.parametrize("size_bytes", [0, 1, 511, 512, 513])
@pytest.mark.parametrize(
    ("form", "path"),
    [
        (tarfile.USTAR_FORMAT, "proc/vmstat"),
        (tarfile.USTAR_FORMAT, f"{'sys/' * 30}memory.stat"),
        (tarfile.GNU_FORMAT, "proc/vmstat"),
        (tarfile.PAX_FORMAT, f"{'sys/' * 90}memory.stat"),
    ],
)
def test_files_of_any_size_and_depth_are_read(tmp_path: Path, form: int, path: str, size_bytes: int) -> None:
    packed = tmp_path / "one.tar.zst"
    packed.write_bytes(written(tarfile.TarInfo(f"one/{path}"), b"7" * size_bytes, form=form))
    assert unpack(packed) == {path: "7" * size_bytes}


def test_what_is_no_regular_file_and_what_is_cut_off_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "one.tar.zst"
    link = tarfile.TarInfo("one/proc/vmstat")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    packed.write_bytes(written(link, b""))
    with pytest.raises(ValueError, match="no regular file"):
        unpack(packed)
    packed.write_bytes(written(tarfile.TarInfo("one/proc/vmstat"), b"7" * 600, cut=1000))
    with pytest.raises(ValueError, match="ends within"):
        unpack(packed)
