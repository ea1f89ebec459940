"""Advice on many drawn hosts: applied and asked again it goes round in no circle, and each form says the same of it."""

import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import yaml

from tierscope.domain.knobs import Advice, Facts, Flows, Heat, Host, advise, render_files, rollback_of
from tierscope.domain.knobs.bundle import HostValue, PlannedChange, render_bundle
from tierscope.domain.knobs.facts import (
    DEMOTE_SCALE,
    DEMOTION,
    HOT_THRESHOLD,
    INTERLEAVE,
    INTERLEAVE_AUTO,
    LRU_GEN,
    MIN_TTL,
    NUMA_BALANCING,
    RATE_LIMIT,
    SCAN_PERIOD_MAX,
    SCAN_PERIOD_MIN,
    SCAN_SIZE,
    SWAPPINESS,
    WATERMARK_SCALE,
    ZONE_RECLAIM,
    SwapDrive,
    is_same_value,
)
from tierscope.domain.knobs.files import is_kept, is_of_node
from tierscope.domain.ledger import Word
from tierscope.domain.ratio.memory_bound import MemoryBound

GIB = float(1 << 30)
BOUNDS = (
    MemoryBound("bandwidth", "good", "DRAM runs at 95%"),
    MemoryBound("latency", "good", "a tenth of the cycles wait for memory", stall_ratio=0.1),
)
SEEDS = range(2_000)
STEPS_MAX = 40
VALUES: dict[str, tuple[str | None, ...]] = {
    NUMA_BALANCING: ("0", "1", "2", "3", None),
    DEMOTION: ("true", "false", None),
    WATERMARK_SCALE: ("10", "50", "150", "1000"),
    RATE_LIMIT: ("0", "1", "20", "2000", "65536", None),
    HOT_THRESHOLD: ("100", "250", "1000", "4000"),
    SCAN_PERIOD_MIN: ("100", "1000", "9000"),
    SCAN_SIZE: ("1", "256", "8192"),
    SCAN_PERIOD_MAX: ("1000", "60000"),
    SWAPPINESS: ("0", "1", "40", "60", "200"),
    ZONE_RECLAIM: ("0", "7"),
    LRU_GEN: ("0x0007", "0x0000"),
    MIN_TTL: ("0", "1000"),
}
TOPS = {
    "candidate_pages_per_s": 2e5,
    "candidates_steady_minutes": 60.0,
    "swapped_out_pages_per_s": 5e3,
    "swapped_in_pages_per_s": 1e3,
    "allocation_p99_bytes_per_s": 5e9,
    "hint_fault_cpu_ratio": 0.05,
    "useful_promotion_p95_mb_per_s": 200.0,
    "promotion_lag_seconds": 900.0,
    "swap_write_amplification": 4.0,
    "allocation_stalls_per_s": 50.0,
    "local_reclaim_failed_per_s": 20.0,
}
"""Highest values that are drawn, of what is neither a share nor a rate of pages."""
OTHERS = frozenset({"ping_pong", "limit_events"})


def drawn(seed: int) -> Facts:
    """A host, its flows and its heat; each part may be unknown, and parts need not fit one another."""
    draw = random.Random(seed)  # noqa: S311 - drawn hosts, no secrets

    def some(highest: float) -> float | None:
        return draw.choice((None, 0.0, draw.random() * highest, draw.random() * highest))

    top, slow = draw.choice((1, 2, 8)), draw.choice((1, 2))
    knobs = {path: draw.choice(values) for path, values in VALUES.items() if draw.random() < 0.9}
    if draw.random() < 0.1:
        knobs[DEMOTE_SCALE] = draw.choice(("100", "200", "400"))
    if draw.random() < 0.7:
        knobs |= {f"{INTERLEAVE}/node{node}": draw.choice(("1", "3", "5")) for node in range(top + slow)}
        knobs |= draw.choice(({}, {INTERLEAVE_AUTO[0]: "true"}, {INTERLEAVE_AUTO[0]: "false"}))
    host = Host(
        knobs=knobs,
        has_slow_tier=True,
        sockets=top,
        is_tpp=DEMOTE_SCALE in knobs,
        top_nodes=tuple(range(top)),
        slow_nodes=tuple(range(top, top + slow)),
        dram_bytes=256 * GIB,
        dram_managed_bytes=draw.choice((None, 250 * GIB)),
        dram_free_bytes=draw.choice((None, GIB, GIB, 100 * GIB)),
        slow_bytes=256 * GIB,
        slow_free_bytes=draw.choice((None, GIB, 100 * GIB, 100 * GIB)),
        dram_gb_per_s=draw.choice((None, 200.0)),
        slow_gb_per_s=draw.choice((None, 50.0, 5.0)),
        slow_write_gb_per_s=draw.choice((None, 22.0, 0.05)),
        swap_drives=draw.choice(((), (SwapDrive("/dev/sda2", "partition", draw.random()),))),
        page_bytes=draw.choice((4096, 65536, None)),
        kernel_release=draw.choice(("6.8.0", "7.2.0", "5.15.0", "")),
        slow_classes=("cxl",) * slow,
        cpus=draw.choice((None, 64)),
        damon_promotes=draw.random() < 0.1,
        damon_demotes=draw.random() < 0.1,
        agent_told=draw.random() < 0.7,
    )
    flows = {name: some(TOPS.get(name, 3e4 if name.endswith("_pages_per_s") else 1.0)) for name in Flows.__slots__}
    flows = {name: value for name, value in flows.items() if name not in OTHERS}
    now = draw.random()
    heat = Heat(
        hot_outside_dram_bytes=draw.choice((None, 0.0, 100 * GIB)),
        cold_in_dram_bytes=draw.choice((None, 0.0, 20 * GIB)),
        served_now=now,
        served_best=min(1.0, now + draw.random() * 0.3),
        bound=draw.choice((None, *BOUNDS)),
        cold_anon_share=some(1.0),
        cold_file_share=some(1.0),
        hot_anon_share=some(1.0),
    )
    ping_pong = draw.choice((None, "ok", "warn", "crit"))
    moves = Flows(**flows, ping_pong=ping_pong)  # type: ignore[arg-type]  # fields by name
    word = draw.choice((None, *get_args(Word)))
    return Facts(host, moves, draw.choice((Heat(), heat)), word)


def pieces_of(facts: Facts) -> list[Advice]:
    return [piece for piece in advise(facts).advice if piece.changes]


def applied(facts: Facts, piece: Advice) -> Facts:
    """The host with the change as the kernel prints it. A weight that is written switches the kernel's own ones off."""
    knobs = dict(facts.host.knobs)
    for change in piece.changes:
        if is_of_node(change.path):
            knobs |= {path: "false" for path in INTERLEAVE_AUTO if path in knobs}
        knobs[change.path] = "true" if change.path == DEMOTION and change.proposed == "1" else change.proposed
    return replace(facts, host=replace(facts.host, knobs=knobs))


def settled(facts: Facts) -> dict[str, str]:
    return {path: value for path, value in facts.host.knobs.items() if value is not None}


def asked_again(facts: Facts, piece: Advice) -> None:
    """Follow the first piece of each answer to the end: no setting comes back to a value that it has had."""
    had = {path: [value] for path, value in settled(facts).items()}
    for _ in range(STEPS_MAX):
        facts = applied(facts, piece)
        for change in piece.changes:
            before = had.setdefault(change.path, [])
            assert not any(is_same_value(change.proposed, value) for value in before), (piece.rule, change)
            before.append(change.proposed)
        later = pieces_of(facts)
        if not later:
            return
        piece = later[0]
    raise AssertionError(f"no end: {piece.rule}")


def test_no_card_undoes_what_another_or_it_itself_did() -> None:
    for seed in SEEDS:
        facts = drawn(seed)
        for piece in pieces_of(facts):
            asked_again(facts, piece)


def test_no_card_steps_on_by_what_was_counted_before_it_was_applied() -> None:
    for seed in SEEDS:
        facts = drawn(seed)
        for piece in pieces_of(facts):
            paths = {change.path for change in piece.changes}
            after = replace(applied(facts, piece), unsettled=frozenset(paths))
            again = [later.rule for later in pieces_of(after) if paths & {change.path for change in later.changes}]
            assert again == [], (seed, piece.rule)


def test_a_rollback_gives_every_value_back() -> None:
    for seed in SEEDS:
        facts = drawn(seed)
        for piece in pieces_of(facts):
            back = settled(applied(applied(facts, piece), rollback_of(piece)))
            now = settled(facts)
            assert {path: value for path, value in back.items() if not is_same_value(value, now[path])} == {}


def written(tasks: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What tasks of Ansible set, in their order."""
    found = []
    for task in tasks:
        if "ansible.posix.sysctl" in task:
            sysctl = task["ansible.posix.sysctl"]
            found.append((f"/proc/sys/{sysctl['name'].replace('.', '/')}", sysctl["value"]))
        elif "ansible.builtin.shell" in task:
            value, path = task["ansible.builtin.shell"].removeprefix("echo ").split(" > ")
            found.append((path, value))
    return found


def test_each_form_sets_the_same_values_in_one_order() -> None:
    for seed in SEEDS[::10]:
        for piece in pieces_of(drawn(seed)):
            wanted = [(change.path, change.proposed) for change in piece.changes]
            files = render_files([piece])
            assert [line.removeprefix("echo ").split(" > ")[::-1] for line in files.commands.splitlines()] == [
                list(pair) for pair in wanted
            ]
            assert written(yaml.safe_load(files.ansible)) == wanted
            kept = [(f"/proc/sys/{name.replace('.', '/')}", value) for name, value in _pairs(files.sysctl, " = ")]
            kept += [(name.removeprefix("w "), value) for name, value in _pairs(files.tmpfiles, " - - - - ")]
            kept += [(path, value) for value, path in re.findall(r"echo (\S+) > (\S+)'", files.systemd or "")]
            assert sorted(kept) == sorted((one.path, one.proposed) for one in piece.changes if is_kept(one))
            plan = [
                PlannedChange("Do it", one.path, one.proposed, "r", "v", (HostValue("h", "db-1", one.current),))
                for one in piece.changes
            ]
            bundle = {file.name: file.text for file in render_bundle(plan, datetime(2026, 11, 20, tzinfo=UTC))}
            plays = {name: yaml.safe_load(bundle[name]) for name in ("apply.yml", "rollback.yml")}
            done, undone = ([pair for play in plays[name] for pair in written(play["tasks"])] for name in plays)
            assert done == wanted, piece.rule
            assert undone == [(change.path, change.current) for change in reversed(piece.changes)]


def _pairs(text: str | None, between: str) -> list[tuple[str, str]]:
    return [tuple(line.split(between)) for line in (text or "").splitlines()]  # type: ignore[misc]  # two of each
