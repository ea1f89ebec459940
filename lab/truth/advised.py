"""Advised settings as incidents of the twin: what would have been with them."""

from collections.abc import Callable, Mapping
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


def first_change(advice: list[dict[str, Any]]) -> dict[str, str] | None:
    """The settings of the first piece of advice, by their names in the laws; None without any that the twin follows."""
    for piece in advice:
        changes = piece["changes"]
        if changes and all(change["path"] in SETTINGS for change in changes):
            named = ((SETTINGS[change["path"]], change["proposed"]) for change in changes)
            return {name: value(text) for (name, value), text in named}
    return None


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
