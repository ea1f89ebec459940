"""Advised settings as incidents of the twin: what would have been with them."""

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Any

BEGIN_H = 1.0
"""When the setting is made."""
_SWITCHES = {"true": "true", "1": "true", "false": "false", "0": "false"}
SETTINGS: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "/proc/sys/kernel/numa_balancing": ("numa_balancing", str),
    "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps": ("promote_rate_limit_mib_per_s", str),
    "/proc/sys/vm/swappiness": ("swappiness", lambda text: f"{float(text)}"),
    "/proc/sys/vm/watermark_scale_factor": ("watermark_scale_factor", str),
    "/sys/kernel/debug/sched/numa_balancing/hot_threshold_ms": ("hot_threshold_ms", lambda text: f"{float(text)}"),
    "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms": ("scan_period_max_ms", lambda text: f"{float(text)}"),
    "/sys/kernel/mm/numa/demotion_enabled": ("demotion_enabled", _SWITCHES.__getitem__),
}
"""Settings that the twin follows: their names in its laws, and their values as TOML."""


FIRST, TOGETHER = "first card", "together"
"""Plans: the first card alone, and each pair of cards and all of them."""


def followed(advice: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cards whose settings the twin follows, each of them."""
    return [
        piece for piece in advice if piece["changes"] and all(change["path"] in SETTINGS for change in piece["changes"])
    ]


def plans_of(advice: list[dict[str, Any]]) -> list[tuple[str, dict[str, str]]]:
    """What may be done with advice, by the names of settings in the laws: none where the twin follows no card."""
    cards = []
    for piece in followed(advice):
        named = ((SETTINGS[change["path"]], change["proposed"]) for change in piece["changes"])
        cards.append({name: value(text) for (name, value), text in named})
    together = [*combinations(cards, 2), *([tuple(cards)] if len(cards) > 2 else [])]
    return [*((FIRST, card) for card in cards[:1]), *((TOGETHER, reduce(or_, several)) for several in together)]


def with_advice(laws: str, changes: Mapping[str, Mapping[str, str]], hours: int, prefix: str) -> str:
    """Laws with an experiment for each host that is advised something; its name is `prefix` and the host's."""
    added = [
        f"""
[[incident]]
name = "{prefix}{host}"
begin_h = {BEGIN_H}
end_h = {float(hours)}
hosts = ["{host}"]
change = {{ kind = "experiment", set = {{ {", ".join(f"{name} = {value}" for name, value in sets.items())} }} }}
"""
        for host, sets in changes.items()
    ]
    return laws + "".join(added)
