"""What was true in a recording, interval by interval, from where pages were and which accesses were slow, alone.

No counter of the kernel is read here: what judges must not share a mistake with what is judged.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

State = Literal["good", "following", "chasing", "improving", "worsening", "full", "standing"]

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
_SLOW_NODE = re.compile(r"^#.* slow_node_pages=(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class IntervalTruth:
    """One interval of a recording. Times are Unix seconds of the guest; a ratio is null where nothing was counted.

    `slow_access_ratio`: accesses to pages on the slow node. `hot_dram_ratio`: hot pages in DRAM at the end.
    `gained_ratio`, `lost_ratio`: sums of its rises and falls. `above_chance_ratio`: by how much more of the hot pages
    than of all pages was in DRAM, on average. `slow_used_ratio`: pages of the load and of what fills the slow node, of
    its size, at the end. `went_down_ratio`: pages that were seen in DRAM and then on the slow node, of all. `state`:
    null without accesses or hot pages.
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
    state: State | None


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
    by_place = [row[f"{what}_{place}"] for place in ("n0", "n1", "absent")]
    total = sum(by_place)
    return by_place[0] / total if total else None


def _slow_access_ratio(rows: Sequence[Mapping[str, float]], slow: Sequence[float | None]) -> float | None:
    counted = [(row["ops_s"], ratio) for row, ratio in zip(rows, slow, strict=True) if ratio is not None]
    accesses = sum(ops for ops, _ in counted)
    return sum(ops * ratio for ops, ratio in counted) / accesses if accesses else None


def _slow_used_ratio(row: Mapping[str, float], slow_node_pages: int | None, *, hides: bool) -> float | None:
    """Share of the slow node that pages of the load and of what fills it take; None where the log does not say."""
    if slow_node_pages is None or "filler_n1" not in row:
        return None
    hidden = row["pages_absent"] if hides else 0.0
    return (row["pages_n1"] + hidden + row["filler_n1"]) / slow_node_pages


def _went_down_ratio(rows: Sequence[Mapping[str, float]]) -> float | None:
    """Share of the load's pages that came from DRAM to the slow node; None where the log does not say."""
    first, last = rows[0], rows[-1]
    pages = sum(last[f"pages_{place}"] for place in ("n0", "n1", "absent"))
    if not pages or "went_down" not in first or "went_down" not in last:
        return None
    return (last["went_down"] - first["went_down"]) / pages


def _is_full(slow_used: float | None, went_down: float | None) -> bool:
    """Whether the slow node is full, and took no page."""
    if slow_used is None or went_down is None:
        return False
    return slow_used >= FULL_RATIO and went_down < _WENT_DOWN_RATIO


def _state(
    slow: float | None, above: float | None, placed: Sequence[float], gained: float, lost: float, *, is_full: bool
) -> State | None:
    if slow is None or above is None:
        return None
    if slow < _GOOD_SLOW_RATIO:
        return "good"
    if min(gained, lost) >= _FOLLOWED_RATIO:
        return "following" if above >= _ABOVE_CHANCE_RATIO else "chasing"
    change = placed[-1] - placed[0]
    if change >= _CHANGE_RATIO:
        return "improving"
    if is_full:
        return "full"
    return "standing" if change > -_CHANGE_RATIO else "worsening"


def _judge(
    rows: Sequence[Mapping[str, float]],
    slow_by_row: Sequence[float | None],
    slow_node_pages: int | None,
    *,
    hides: bool,
) -> IntervalTruth:
    placed = [ratio for row in rows if (ratio := _placed_ratio(row, "hot")) is not None]
    steps = [later - earlier for earlier, later in pairwise(placed)]
    gained = sum(step for step in steps if step > 0)
    lost = -sum(step for step in steps if step < 0)
    slow = _slow_access_ratio(rows, slow_by_row)
    chance = [ratio for row in rows if (ratio := _placed_ratio(row, "pages")) is not None]
    slow_used, went_down = _slow_used_ratio(rows[-1], slow_node_pages, hides=hides), _went_down_ratio(rows)
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
        state=_state(slow, above, placed, gained, lost, is_full=_is_full(slow_used, went_down)),
    )


def intervals(
    log: str, *, interval_s: int = INTERVAL_S, skipped_s: int = 0, hides_armed: bool = False
) -> list[IntervalTruth]:
    """Return the truth of each whole interval of `interval_s` seconds of the load's log, after the first `skipped_s`.

    `hides_armed`: the recorded kernel does, as the function of this name says.
    """
    rows, size = read_log(log), _SLOW_NODE.search(log)
    slow = slow_ratios(rows, hides_armed=hides_armed)
    slow_node_pages = int(size[1]) if size else None
    begins = range(skipped_s, len(rows) - interval_s + 1, interval_s)
    parts = (slice(begin, begin + interval_s) for begin in begins)
    return [_judge(rows[part], slow[part], slow_node_pages, hides=hides_armed) for part in parts]


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
