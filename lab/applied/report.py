"""The results as tables of docs/method/applied.md."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.figures import record_between

_ROOT = Path(__file__).resolve().parents[2]
RESULTS = _ROOT / "tests" / "data" / "applied" / "results.json"
PAGE = _ROOT / "docs" / "method" / "applied.md"


def tables(results: Mapping[str, Any]) -> str:
    return "\n".join(line for part in (_kept, _helped, _pages) for line in [*part(results), ""])


def write_table(results: Mapping[str, Any]) -> None:
    """Put the tables where the page has those of the last run."""
    record_between(PAGE, "applied", tables(results))


def _kept(results: Mapping[str, Any]) -> Iterator[str]:
    yield from _head("Kernel", "Settings", "Not there", "Come with late memory", "Changed along", "Not as it had to be")
    for kernel, found in results.get("kept", {}).items():
        along = _watermarks(found["changed_along"])
        lists = [_list(found["absent"]), _list(found["late"]), along, _list(found["wrong"])]
        yield f"| {kernel} | {found['settings']} | {' | '.join(lists)} |"


def _helped(results: Mapping[str, Any]) -> Iterator[str]:
    names = ("Kernel", "Before", "Advice", "Slow accesses, %", "Hot pages in DRAM, %", "Accesses, ratio", "Promoted")
    yield from _head(*names, "Demoted", "Hint faults", "Not as it had to be")
    for rows in results.get("helped", {}).values():
        for row in rows:
            ratio = row["after"]["accesses_per_s"] / row["before"]["accesses_per_s"]
            cells = [
                *(row["kernel"], row["case"], f"{row['advised']}: {'; '.join(row['changes'])}"),
                *(_pair(row, "slow_ratio", 100), _pair(row, "hot_dram_ratio", 100), f"{ratio:.2f}"),
                *(_pair(row, name) for name in ("promoted_pages", "demoted_pages", "hint_faults")),
                _list(row["wrong"]),
            ]
            yield f"| {' | '.join(cells)} |"


def _pages(results: Mapping[str, Any]) -> Iterator[str]:
    names = ("Kernel", "Promotions, traced", "Round trips, %", "Followed promotions", "Unsure", "Answer, %")
    yield from _head(*names, "Interval, %", "Holds the truth", "Width, points")
    for kernel, found in results.get("pages", {}).items():
        truth, seen, answer = found["truth"], found["seen"], found["answer"]
        share = truth["round_trips"] / truth["promotions"] if truth["promotions"] else 0.0
        cells = [kernel, f"{truth['promotions']:,}", f"{100 * share:.1f}", str(seen["promotions"]), str(seen["unsure"])]
        if answer is None:
            cells += ["none", "-", "-", "-"]
        else:
            low, high = answer["lo"], answer["hi"]
            cells += [f"{100 * answer['value']:.1f}", f"{100 * low:.1f} to {100 * high:.1f}"]
            cells += ["yes" if low <= share <= high else "no", f"{100 * (high - low):.1f}"]
        yield f"| {' | '.join(cells)} |"


def _head(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"


def _pair(row: Mapping[str, Any], name: str, factor: float = 1.0) -> str:
    return f"{row['before'][name] * factor:,.0f} to {row['after'][name] * factor:,.0f}"


def _list(names: list[str]) -> str:
    return "; ".join(name.rpartition("/")[2] if name.startswith("/") else name for name in names) or "-"


def _watermarks(paths: list[str]) -> str:
    zones = [path for path in paths if path.startswith("zoneinfo/")]
    others = [path for path in paths if path not in zones]
    return _list([*(["watermarks of zones"] if zones else []), *others])
