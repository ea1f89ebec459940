"""The share of promotions that end a round trip: as the agent's followed pages say, and as the kernel traced all pages.

The truth is the kernel's tracepoint `migrate:remove_migration_pte`: each page that was moved, with its new frame.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from applied.helped import LAB_SETTINGS, SLOW_NS
from applied.served import MEMORY, booted, lend_program, tiered_layout, write_settings
from corpus.guest import Lab
from faults.spools import waiting
from tierscope.domain.knobs import facts as settings
from tierscope.domain.ledger.followed import FollowedMoves, RoundTrips, share_of_round_trips
from tierscope.wire.decode import DecodeLimits, decode_body

FOLLOWED = 2_000
RETURN_S = 600
"""A promotion is a round trip where the page was demoted at most so long before. Pages count from then on."""
SECONDS = 1_380
MOVE_S = 300
HOT_RATIO, MEMORY_RATIO = 0.3, 1.2
BUSY_PERCENT = 40
"""Of a processor: what the load may take, so that minutes cost little."""
LOOK_S = 30
"""How often the load looks where its pages are, which would take all that it may."""
_MOVED = re.compile(r"\s(\d+\.\d+): remove_migration_pte: addr=([0-9a-f]+), pte=([0-9a-f]+) order=0")
_FRAME = (1 << 52) - (1 << 12)
_AGENT = """
server = "http://127.0.0.1:9"
state_dir = "/tmp/agent"
interval_seconds = 60
send_minutes = 1
upload_spread_seconds = 0
hardware_counters = false
[limits]
followed_pages = {followed}
[heat]
processes = "none"
[budget]
cpu_max_ratio = 1.0
kernel_cpu_max_ratio = 1.0
[guard]
cpu_max_ratio = 1.0
memory_max_ratio = 1.0
"""


@dataclass(frozen=True, slots=True)
class Move:
    """A page that came to another tier, in seconds since boot."""

    at_s: float
    address: int
    is_promotion: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """Promotions of all pages in a span, and how many of those pages had been demoted at most ten minutes before."""

    promotions: int
    round_trips: int


@dataclass(frozen=True, slots=True)
class Judged:
    kernel: str
    truth: Truth
    seen: FollowedMoves
    answer: RoundTrips | None


def moves(trace: Iterable[str], slow_frame: int) -> Iterator[Move]:
    """The moves between tiers in a trace. Frames from `slow_frame` on are of the slow node."""
    was_slow: dict[int, bool] = {}
    for line in trace:
        match = _MOVED.search(line)
        if match is None:
            continue
        address, is_slow = int(match[2], 16), (int(match[3], 16) & _FRAME) >> 12 >= slow_frame
        # A page that was never seen before came from the other node: within one it is moved by compaction alone.
        if was_slow.get(address, not is_slow) != is_slow:
            yield Move(float(match[1]), address, not is_slow)
        was_slow[address] = is_slow


def truth_of(moved: Iterable[Move], from_s: float, to_s: float) -> Truth:
    demoted_s: dict[int, float] = {}
    promotions = round_trips = 0
    for move in moved:
        if not move.is_promotion:
            demoted_s[move.address] = move.at_s
            continue
        before_s = demoted_s.pop(move.address, None)
        if from_s <= move.at_s <= to_s:
            promotions += 1
            round_trips += before_s is not None and move.at_s - before_s <= RETURN_S
    return Truth(promotions, round_trips)


def _newest_counters(state: Path) -> dict[str, int]:
    keys: dict[bytes, tuple[str, ...]] = {}
    newest: dict[str, int] = {}
    for kept in waiting(state):
        batch = decode_body(kept.payload, DecodeLimits()).batch
        keys |= {layout.hash: layout.keys for layout in batch.layouts}
        for block in batch.counters:
            pairs = zip(keys[block.layout_hash], block.values[-1].tolist(), strict=True)
            newest |= {key: value for key, value in pairs if "|page_moves|" in key}
    return newest


def seen_by_agent(state: Path, promoted_pages: int) -> FollowedMoves:
    """The counters of followed pages in the last batch of an agent, whose queue on disk was copied here."""
    newest = _newest_counters(state)

    def counted(name: str) -> int:
        return sum(newest.get(f"host|page_moves|{name}[{kind}]", 0) for kind in ("anon", "file"))

    return FollowedMoves(
        promotions=counted("promotions"),
        promotions_squared=counted("promotions_squared"),
        round_trips=counted("round_trips"),
        unsure=counted("unsure_moves"),
        promoted_pages=promoted_pages,
        returned_pages=0,
        churn_pages=promoted_pages,
    )


def judge(lab: Lab, kernel: str, agent: Path, shared: Path) -> Judged:
    """Let the agent follow pages of a load whose hot set moves, while the kernel traces all moves."""
    lend_program(agent, shared)
    (shared / "agent.toml").write_text(_AGENT.format(followed=FOLLOWED), encoding="ascii")
    credential = {"host_id": "lab", "credential": "secret", "obtained_wall_ns": 0}
    (shared / "credential.json").write_text(json.dumps(credential), encoding="ascii")
    values = {
        settings.DEMOTION: "1",
        settings.NUMA_BALANCING: "2",
        **LAB_SETTINGS,
        settings.HOT_THRESHOLD: "4000",
        settings.SCAN_SIZE: "16",
    }
    load = f"{MEMORY.dram_mib * MEMORY_RATIO:.0f} 0 {SLOW_NS} 0 {MEMORY.dram_mib * HOT_RATIO:.0f}:{MOVE_S}:{SECONDS}"
    with booted(lab, kernel, tiered_layout(kernel), shared) as guest:
        guest.run("late\n" + write_settings(values))
        guest.run(f"export LOOK_S={LOOK_S} CPU_MAX='{BUSY_PERCENT * 1000} 100000'\nfollow {load}\n")
    lines = guest.read("zoneinfo").splitlines()
    first_slow = next(number for number, line in enumerate(lines) if line.startswith("Node 1"))
    starts = [int(line.split()[1]) for line in lines[first_slow:] if line.strip().startswith("start_pfn:")]
    with (shared / "moves").open(encoding="ascii", errors="replace") as trace:
        moved = list(moves(trace, min(start for start in starts if start > 0)))
    from_s, to_s = (float(guest.read(name).split()[0]) for name in ("followed-from", "followed-to"))
    truth = truth_of(moved, from_s + RETURN_S, to_s)
    seen = seen_by_agent(shared / "agent", truth.promotions)
    return Judged(kernel, truth, seen, share_of_round_trips([seen]))
