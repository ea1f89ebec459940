"""Knob advice on recorded hosts: the right first piece on each, and exactly one rule on hosts with one thing wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from factories.kernel_lab import RECORDINGS
from factories.snapshot_trees import Tree, unpack
from tierscope.cli.base.source_tree import find_agent
from tierscope.usecases.knobs.answers import KnobAdvice
from tierscope.usecases.recordings.snapshot_trees import MovesAnalysis, analyze_snapshots

AGENT = find_agent()
pytestmark = pytest.mark.skipif(AGENT is None, reason="the agent's program is not built: run `make agent`")

BALANCING = "proc/sys/kernel/numa_balancing"
LIMIT = "proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
DEMOTION = "sys/kernel/mm/numa/demotion_enabled"
SCALE = "proc/sys/vm/watermark_scale_factor"
ZONE = "proc/sys/vm/zone_reclaim_mode"
SWAPPINESS = "proc/sys/vm/swappiness"
SCHED = "sys/kernel/debug/sched/numa_balancing"
DEMOTED = ("pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged")
PROMOTED = ("pgpromote_success", "numa_pages_migrated")
LOOKED = ("pgpromote_candidate", "numa_hint_faults", "numa_pte_updates")
STOLEN = ("pgsteal_anon", "pgsteal_kswapd")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks each recording once, and keeps every third snapshot: that tells as much."""
    root, found = tmp_path_factory.mktemp("recordings"), dict[str, Path]()

    def original(name: str) -> Path:
        if name not in found:
            found[name] = unpack(name, root, step=3)
        return found[name]

    return original


def advise(path: Path) -> MovesAnalysis:
    assert AGENT is not None
    return analyze_snapshots(AGENT, path)


def rules(pieces: tuple[KnobAdvice, ...]) -> list[str]:
    return [piece.rule for piece in pieces]


def proposed(piece: KnobAdvice) -> dict[str, str]:
    return {change.path.lstrip("/"): change.proposed for change in piece.changes}


FIRST: dict[str, str | None] = {
    "01-baseline-fits": None,
    "02-default-spill": "F1",
    "03-tiering-steady": None,
    "04-pingpong": "F4",
    "05-ratelimited": None,
    "07b-phase-fastscan": None,
    "08-swap": "capacity",
    "10-cxl-real": None,
    "12-kernel-6.1": "F4",
    "15-mixed-reclaim": "limits",
}


@pytest.mark.parametrize("name", FIRST)
def test_each_recording_gets_the_right_first_advice(name: str) -> None:
    found = advise(RECORDINGS / f"{name}.tar.zst").settings
    assert rules(found.advice) == [rule for rule in (FIRST[name],) if rule is not None]
    assert (found.nothing_to_do is None) == bool(found.advice)
    for piece in found.advice:
        assert piece.evidence
        assert piece.risk
        assert piece.verify


@dataclass(frozen=True)
class Seed:
    """A recording with one thing changed, the only rule that fits it, and the settings that it proposes."""

    recording: str
    change: Callable[[Tree], Tree]
    rule: str
    settings: dict[str, str] = field(default_factory=dict)


def swapping_beside_free_memory(tree: Tree) -> Tree:
    """Demotion is off: reclaim swaps, though the slow node has room."""
    tree.knob(DEMOTION, "false").still(*DEMOTED).free_slow(400)
    return tree


def promotion_without_room(tree: Tree) -> Tree:
    """Demotion is off: hot pages are found and hardly one is promoted."""
    return tree.knob(DEMOTION, "false").still(*DEMOTED, *STOLEN).times(0.02, *PROMOTED)


def asleep(tree: Tree) -> Tree:
    """Tiering is on, and the scanner looked once, at the start."""
    return (
        tree.knob(BALANCING, "2")
        .knob(DEMOTION, "true")
        .count(("numa_pte_updates",), lambda value, seconds, _: value + (20_000 if seconds > 10 else 0))
    )


SEEDS = {
    "classic balancing does not promote by tier": Seed(
        "02-default-spill", lambda tree: tree.knob(BALANCING, "1"), "F1", {DEMOTION: "1", BALANCING: "3"}
    ),
    "demotion without promotion": Seed(
        "03-tiering-steady",
        lambda tree: tree.knob(BALANCING, "0").still(*PROMOTED, *LOOKED),
        "F1",
        {BALANCING: "2"},
    ),
    "swap beside a free slow tier": Seed("08-swap", swapping_beside_free_memory, "F2", {DEMOTION: "1"}),
    "promotion without demotion": Seed("03-tiering-steady", promotion_without_room, "F2", {DEMOTION: "1"}),
    "demotion switched off alone": Seed(
        "03-tiering-steady", lambda tree: tree.knob(DEMOTION, "false"), "F2", {DEMOTION: "1"}
    ),
    "promotion switched off after futile moves": Seed(
        "04-pingpong", lambda tree: tree.knob(BALANCING, "0"), "F1", {BALANCING: "2"}
    ),
    "bursts of allocation": Seed("03-tiering-steady", lambda tree: tree.bursts(20, 100_000), "F3", {SCALE: "200"}),
    "allocating tasks demote by themselves": Seed(
        "03-tiering-steady",
        lambda tree: tree.flow(40, "pgdemote_direct", "pgsteal_anon", "pgsteal_direct", "pgscan_direct").flow(
            3, "allocstall_movable"
        ),
        "F3",
        {SCALE: "50"},
    ),
    "futile moves with a limit that does not bind": Seed(
        "04-pingpong", lambda tree: tree.knob(LIMIT, "500"), "F4", {LIMIT: "2"}
    ),
    "a limit that holds hot pages back": Seed(
        "05-ratelimited", lambda tree: tree.times(6, "numa_hint_faults", "numa_pte_updates"), "F4", {LIMIT: "1073"}
    ),
    "a threshold that lets everything pass": Seed(
        "05-ratelimited", lambda tree: tree.stretch(16), "F5", {f"{SCHED}/hot_threshold_ms": "2000"}
    ),
    "hint faults that cost too much": Seed(
        "03-tiering-steady",
        lambda tree: tree.times(9, "numa_hint_faults", "numa_pte_updates"),
        "F6",
        {f"{SCHED}/scan_period_min_ms": "2000", f"{SCHED}/scan_size_mb": "128"},
    ),
    "a scanner that sleeps": Seed(
        "02-default-spill",
        asleep,
        "F6",
        {f"{SCHED}/scan_size_mb": "512", f"{SCHED}/scan_period_max_ms": "30000"},
    ),
    "promotion of spilled memory without room": Seed(
        "02-default-spill", lambda tree: tree.knob(BALANCING, "2"), "F2", {DEMOTION: "1"}
    ),
    "a limit of nothing": Seed("03-tiering-steady", lambda tree: tree.knob(LIMIT, "0"), "F4", {LIMIT: "1073"}),
    "anon memory that is never demoted": Seed(
        "03-tiering-steady", lambda tree: tree.knob(SWAPPINESS, "0"), "F8", {SWAPPINESS: "60"}
    ),
    "file cache that thrashes": Seed(
        "10-cxl-real",
        lambda tree: tree.flow(200, "workingset_refault_file", "pgsteal_file", "pgsteal_kswapd"),
        "F8",
        {SWAPPINESS: "100"},
    ),
    "anon memory that is hardly ever demoted": Seed(
        "03-tiering-steady", lambda tree: tree.knob(SWAPPINESS, "1"), "F8", {SWAPPINESS: "60"}
    ),
    "local reclaim in vain": Seed(
        "03-tiering-steady", lambda tree: tree.knob(ZONE, "3").flow(40, "zone_reclaim_failed"), "F10", {ZONE: "0"}
    ),
    "swap more than half full": Seed("08-swap", lambda tree: tree.swap_used(0.6, "/dev/vdb"), "F11"),
}


@pytest.mark.parametrize("name", SEEDS)
def test_a_host_with_one_thing_wrong_gets_exactly_the_rule_that_fits(
    name: str, originals: Callable[[str], Path], tmp_path: Path
) -> None:
    seed = SEEDS[name]
    found = advise(seed.change(Tree(originals(seed.recording), tmp_path / "host")).path)
    assert rules(found.settings.advice) == [seed.rule], found.verdict
    piece = found.settings.advice[0]
    assert proposed(piece) == {**seed.settings}
    assert [change.rollback for change in piece.changes] == [change.current for change in piece.changes]


SILENT: dict[str, tuple[str, Callable[[Tree], Tree]]] = {
    "local reclaim where all fits": ("01-baseline-fits", lambda tree: tree.knob(ZONE, "1")),
    "local reclaim on a healthy host that demotes": ("03-tiering-steady", lambda tree: tree.knob(ZONE, "7")),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_shows_no_harm_is_left_alone(name: str, originals: Callable[[str], Path], tmp_path: Path) -> None:
    recording, change = SILENT[name]
    found = advise(change(Tree(originals(recording), tmp_path / "host")).path).settings
    assert found.advice == ()
    assert found.nothing_to_do is not None


def test_both_halves_of_tiering_are_one_card_with_one_rollback() -> None:
    found = advise(RECORDINGS / "02-default-spill.tar.zst").settings
    (piece,) = found.advice
    assert found.waiting == ()
    assert list(proposed(piece)) == [DEMOTION, BALANCING]
    assert piece.files.rollback_commands.splitlines() == [f"echo 0 > /{BALANCING}", f"echo false > /{DEMOTION}"]


def test_a_step_that_was_taken_within_the_recording_is_not_taken_again_by_what_was_counted_before(
    originals: Callable[[str], Path], tmp_path: Path
) -> None:
    tree = Tree(originals("21-phases-slow-scan"), tmp_path / "host")
    (piece,) = advise(tree.path).settings.advice
    assert piece.rule == "F6"
    for change in piece.changes:
        for snapshot, value in ((tree.snapshots[0], change.current), (tree.snapshots[-1], change.proposed)):
            file = snapshot / change.path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            file.write_text(f"{value}\n", encoding="ascii")
    after = advise(tree.path).settings
    assert after.advice == ()
    (unknown,) = (one for one in after.unknown if one.rule == "F6")
    assert "a window under" in unknown.missing[0]


def schemes(tree: Tree) -> Tree:
    """Two schemes of DAMON: hot pages to node 0, cold ones to node 1."""
    admin = "sys/kernel/mm/damon/admin/kdamonds"
    tree.put(f"{admin}/nr_kdamonds", "2")
    for number, (action, node) in enumerate((("migrate_hot", 0), ("migrate_cold", 1))):
        kdamond = f"{admin}/{number}"
        tree.put(f"{kdamond}/state", "on").put(f"{kdamond}/pid", f"{700 + number}").put(f"{kdamond}/refresh_ms", "1000")
        tree.put(f"{kdamond}/contexts/nr_contexts", "1").put(f"{kdamond}/contexts/0/operations", "paddr")
        scheme = f"{kdamond}/contexts/0/schemes/0"
        tree.put(f"{kdamond}/contexts/0/schemes/nr_schemes", "1").put(f"{scheme}/action", action)
        tree.put(f"{scheme}/target_nid", f"{node}").put(f"{scheme}/stats/sz_applied", "4096")
    return tree


def test_a_host_that_damon_tiers_gets_no_second_mover(originals: Callable[[str], Path], tmp_path: Path) -> None:
    tree = schemes(Tree(originals("02-default-spill"), tmp_path / "host"))
    found = advise(tree.path).settings
    assert found.advice == ()
    assert {one.rule for one in found.withheld} == {"F1", "F2"}


ALIKE = {
    "every 6th snapshot": lambda tree: tree.every(2),
    "cut at the start": lambda tree: tree.without_first(4),
    "a minute for each two seconds": lambda tree: tree.stretch(30),
}


@pytest.mark.parametrize("way", ALIKE)
@pytest.mark.parametrize("name", ["01-baseline-fits", "03-tiering-steady", "10-cxl-real", "04-pingpong", "08-swap"])
def test_advice_does_not_hang_on_interval_or_start(
    name: str, way: str, originals: Callable[[str], Path], tmp_path: Path
) -> None:
    found = advise(ALIKE[way](Tree(originals(name), tmp_path / "host")).path)
    assert rules(found.settings.advice)[:1] == [rule for rule in (FIRST[name],) if rule is not None], found.verdict
