"""What was true in a recording, interval by interval, from where pages were and which accesses were slow, alone.

No counter of the kernel is read here: what judges must not share a mistake with what is judged.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

State = Literal[
    "swapping", "good", "spilled", "following", "chasing", "improving", "full", "limited", "worsening", "standing"
]

INTERVAL_S = 20
"""Ten looks at where pages are."""
_GOOD_SLOW_RATIO = 0.1
_FOLLOWED_RATIO = 0.2
"""Of the hot pages, that came to DRAM and that left it or cooled within an interval: pages change place, or heat."""
_ABOVE_CHANCE_RATIO = 0.1
"""By so much more of the hot pages than of all pages is in DRAM where the kernel follows. The share of a set that moves
rises and falls by chance, too, with where its next pages happen to lie."""
_CHANGE_RATIO = 0.1
FULL_RATIO = 0.85
"""Of the slow node, that pages of the load and of what fills it take: the kernel keeps a tenth of so small a node."""
_WENT_DOWN_RATIO = 0.01
"""Of the load's pages: where fewer went down in an interval the slow node takes none. Looks are seconds late."""
_SWAPPED_RATIO = 0.005
"""Of the load's pages, that went to swap within an interval, and that came back."""
_LIMIT_USED_RATIO = 0.5
"""Of what the limit of promotions lets through, that came up: looks are seconds apart, and see no page that came and
went between two."""
_TIERING_BIT = 2
_MIB_PER_PAGE = 4096 / 2**20
_HEAD = re.compile(r"^# pages=.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class IntervalTruth:
    """One interval of a recording. Times are Unix seconds of the guest; a ratio is null where nothing was counted.

    `slow_access_ratio`: accesses to pages on the slow node. `hot_dram_ratio`: hot pages in DRAM at the end.
    `gained_ratio`, `lost_ratio`: sums of its rises and falls. `above_chance_ratio`: by how much more of the hot pages
    than of all pages was in DRAM, on average. `slow_used_ratio`: pages of the load and of what fills the slow node, of
    its size, at the end. `went_down_ratio`: pages that were seen in DRAM and then on the slow node, of all.
    `swapped_out_ratio`, `swapped_in_ratio`: pages that went to swap and came back, of all. `limit_used_ratio`: pages
    that came up, of those that the limit of promotions lets through. `state`: null without accesses or hot pages.
    """

    begin_s: float
    end_s: float
    slow_access_ratio: float | None
    hot_dram_ratio: float | None
    dram_ratio: float | None
    above_chance_ratio: float | None
    gained_ratio: float
    lost_ratio: float
    slow_used_ratio: float | None
    went_down_ratio: float | None
    swapped_out_ratio: float | None
    swapped_in_ratio: float | None
    limit_used_ratio: float | None
    state: State | None


@dataclass(frozen=True, slots=True)
class _Machine:
    """What the load read of its machine before it began; None where its log does not say.

    `balancing`: `numa_balancing`. `hides`: the kernel hides armed pages.
    """

    slow_node_pages: int | None
    balancing: int | None
    promote_limit_mib_per_s: int | None
    hides: bool


def _read_machine(log: str, *, hides: bool) -> _Machine:
    head = _HEAD.search(log)
    said = dict(pair.split("=") for pair in head[0].split()[1:]) if head else {}

    def number(name: str) -> int | None:
        return int(said[name]) if int(said.get(name, -1)) >= 0 else None

    return _Machine(number("slow_node_pages"), number("balancing"), number("promote_limit_mib_per_s"), hides)


def read_log(text: str) -> list[dict[str, float]]:
    """Return the rows of a `workload.log`, one a second, in order of time; a torn last line is left out."""
    rows = []
    for line in text.splitlines():
        pairs = [pair.partition("=") for pair in line.split()]
        if line.startswith("ts=") and line.endswith(tuple("0123456789")):
            rows.append({name: float(value) for name, _, value in pairs})
    return rows


def hides_armed(kernel: str) -> bool:
    """Whether `move_pages` says of a page that is armed for a hint fault that it is absent.

    In 6.1 `follow_page` refuses what is PROT_NONE (`gup_can_follow_protnone`); kernels from 6.5 on do not. Such a page
    is on the slow node: in mode 2 the scanner arms pages there alone.
    """
    return kernel.startswith("6.1.") or kernel == "6.1"


def slow_ratios(rows: Sequence[Mapping[str, float]], *, hides_armed: bool) -> list[float | None]:
    """Share of each second's accesses that went to pages on the slow node; None where there was none.

    What a kernel hides is added after the second of the first look: before it, all pages are absent.
    """
    looked = [False, *(row["pages_n0"] + row["pages_n1"] > 0 for row in rows)]
    return [
        row["slow_frac"] + (row.get("absent_frac", 0.0) if hides_armed and was_looked_at else 0.0)
        if "slow_frac" in row
        else None
        for row, was_looked_at in zip(rows, looked, strict=False)
    ]


def _placed_ratio(row: Mapping[str, float], what: str) -> float | None:
    """Share of the pages that are in DRAM, of `hot` ones or of all (`pages`)."""
    total = _placed(row, what)
    return row[f"{what}_n0"] / total if total else None


def _placed(row: Mapping[str, float], what: str) -> float:
    return sum(row.get(f"{what}_{place}", 0.0) for place in ("n0", "n1", "absent", "swap"))


def _slow_access_ratio(rows: Sequence[Mapping[str, float]], slow: Sequence[float | None]) -> float | None:
    counted = [(row["ops_s"], ratio) for row, ratio in zip(rows, slow, strict=True) if ratio is not None]
    accesses = sum(ops for ops, _ in counted)
    return sum(ops * ratio for ops, ratio in counted) / accesses if accesses else None


def _slow_used_ratio(row: Mapping[str, float], machine: _Machine) -> float | None:
    """Share of the slow node that pages of the load and of what fills it take; None where the log does not say."""
    if machine.slow_node_pages is None or "filler_n1" not in row:
        return None
    hidden = row["pages_absent"] if machine.hides else 0.0
    return (row["pages_n1"] + hidden + row["filler_n1"]) / machine.slow_node_pages


def _moved_ratio(rows: Sequence[Mapping[str, float]], what: str) -> float | None:
    """Share of the load's pages that a count of moves says of; None where the log does not say."""
    first, last = rows[0], rows[-1]
    pages = _placed(last, "pages")
    if not pages or what not in first or what not in last:
        return None
    return (last[what] - first[what]) / pages


def _limit_used_ratio(rows: Sequence[Mapping[str, float]], machine: _Machine) -> float | None:
    """Pages that came up, of those that the limit of promotions lets through; None where it or they are not known."""
    first, last = rows[0], rows[-1]
    seconds = last["ts"] - first["ts"]
    if not machine.promote_limit_mib_per_s or "came_up" not in first or "came_up" not in last or not seconds:
        return None
    return (last["came_up"] - first["came_up"]) * _MIB_PER_PAGE / (machine.promote_limit_mib_per_s * seconds)


def _is_full(slow_used: float | None, went_down: float | None) -> bool:
    """Whether the slow node is full, and took no page."""
    if slow_used is None or went_down is None:
        return False
    return slow_used >= FULL_RATIO and went_down < _WENT_DOWN_RATIO


def _is_swapping(out: float | None, back: float | None) -> bool:
    """Whether pages went to swap and came back."""
    return min(out or 0.0, back or 0.0) >= _SWAPPED_RATIO


def _state(
    slow: float | None,
    above: float | None,
    placed: Sequence[float],
    gained: float,
    lost: float,
    *,
    is_swapping: bool,
    is_spilled: bool,
    is_full: bool,
    is_limited: bool,
) -> State | None:
    if slow is None or above is None:
        return None
    if is_swapping:
        return "swapping"
    if slow < _GOOD_SLOW_RATIO:
        return "good"
    if is_spilled:
        return "spilled"
    if min(gained, lost) >= _FOLLOWED_RATIO:
        return "following" if above >= _ABOVE_CHANCE_RATIO else "chasing"
    change = placed[-1] - placed[0]
    if change >= _CHANGE_RATIO:
        return "improving"
    if is_full:
        return "full"
    if is_limited:
        return "limited"
    return "standing" if change > -_CHANGE_RATIO else "worsening"


def _judge(
    rows: Sequence[Mapping[str, float]],
    slow_by_row: Sequence[float | None],
    machine: _Machine,
) -> IntervalTruth:
    placed = [ratio for row in rows if (ratio := _placed_ratio(row, "hot")) is not None]
    steps = [later - earlier for earlier, later in pairwise(placed)]
    gained = sum(step for step in steps if step > 0)
    lost = -sum(step for step in steps if step < 0)
    slow = _slow_access_ratio(rows, slow_by_row)
    chance = [ratio for row in rows if (ratio := _placed_ratio(row, "pages")) is not None]
    slow_used, went_down = _slow_used_ratio(rows[-1], machine), _moved_ratio(rows, "went_down")
    swapped_out, swapped_in = _moved_ratio(rows, "swapped_out"), _moved_ratio(rows, "swapped_in")
    limit_used = _limit_used_ratio(rows, machine)
    above = sum(placed) / len(placed) - sum(chance) / len(chance) if placed and chance else None
    return IntervalTruth(
        begin_s=rows[0]["ts"],
        end_s=rows[-1]["ts"],
        slow_access_ratio=slow,
        hot_dram_ratio=placed[-1] if placed else None,
        dram_ratio=chance[-1] if chance else None,
        above_chance_ratio=above,
        gained_ratio=gained,
        lost_ratio=lost,
        slow_used_ratio=slow_used,
        went_down_ratio=went_down,
        swapped_out_ratio=swapped_out,
        swapped_in_ratio=swapped_in,
        limit_used_ratio=limit_used,
        state=_state(
            slow,
            above,
            placed,
            gained,
            lost,
            is_swapping=_is_swapping(swapped_out, swapped_in),
            is_spilled=machine.balancing is not None and not machine.balancing & _TIERING_BIT,
            is_full=_is_full(slow_used, went_down),
            is_limited=limit_used is not None and limit_used >= _LIMIT_USED_RATIO,
        ),
    )


def intervals(
    log: str, *, interval_s: int = INTERVAL_S, skipped_s: int = 0, hides_armed: bool = False
) -> list[IntervalTruth]:
    """Return the truth of each whole interval of `interval_s` seconds of the load's log, after the first `skipped_s`.

    `hides_armed`: the recorded kernel does, as the function of this name says.
    """
    rows, machine = read_log(log), _read_machine(log, hides=hides_armed)
    slow = slow_ratios(rows, hides_armed=hides_armed)
    begins = range(skipped_s, len(rows) - interval_s + 1, interval_s)
    parts = (slice(begin, begin + interval_s) for begin in begins)
    return [_judge(rows[part], slow[part], machine) for part in parts]


def document(logs: Mapping[str, str]) -> dict[str, Any]:
    """Return the truth of recordings by name, which begins with the kernel, for JSON: ratios to four places.

    Schema: `tierscope.corpus-truth/1`.
    """

    def printed(truth: IntervalTruth) -> dict[str, Any]:
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(truth).items()}

    return {
        "schema": "tierscope.corpus-truth/1",
        "interval_s": INTERVAL_S,
        "recordings": {
            name: [printed(truth) for truth in intervals(log, hides_armed=hides_armed(name.partition("-")[0]))]
            for name, log in sorted(logs.items())
        },
    }
