"""Rules as Prometheus has them, over the names of node_exporter and of the agent's own /metrics.

What Prometheus cannot express is listed with the reason, never exported as something else. docs/alerts.md has the
mapping of names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from tierscope.domain.alerts.condition import (
    Absent,
    Arithmetic,
    Comparison,
    Constant,
    Extreme,
    Logic,
    Minute,
    Node,
    Over,
    Window,
)
from tierscope.domain.alerts.rules import CheckedRule, Rule, require_rule
from tierscope.domain.alerts.templates import fill
from tierscope.domain.alerts.units import write_seconds

_MINUTE_RANGE = "2m"
"""Range of a rate that stands for one minute: two scrapes must lie in it."""
_VMSTAT = "node_vmstat_"
_SUBJECT = "{{ $labels.instance }}"


@dataclass(frozen=True, slots=True)
class _Metric:
    """Counters that are added up (`needed` must exist, `more` where they do), or a gauge.

    `page_bytes`: they count pages, and stand for bytes.
    """

    needed: tuple[str, ...]
    more: tuple[str, ...] = ()
    factor: float = 1.0
    page_bytes: bool = False


_PAGE_BYTES = "2 ^ round(log2(node_memory_MemFree_bytes / node_vmstat_nr_free_pages))"
"""Free memory in both units; the two files are read one after the other, and a page is a power of two of bytes."""


def _vmstat(*names: str, more: tuple[str, ...] = (), page_bytes: bool = False) -> _Metric:
    return _Metric(
        tuple(_VMSTAT + name for name in names), tuple(_VMSTAT + name for name in more), page_bytes=page_bytes
    )


_DEMOTED = ("pgdemote_kswapd", "pgdemote_direct")
_DEMOTED_MORE = ("pgdemote_khugepaged", "pgdemote_proactive")


FLOWS: dict[str, _Metric] = {
    "promoted_pages": _vmstat("pgpromote_success"),
    "promotion_candidates_pages": _vmstat("pgpromote_candidate"),
    "candidates_demoted": _vmstat("pgpromote_candidate_demoted"),
    "demoted_kswapd_pages": _vmstat("pgdemote_kswapd"),
    "demoted_direct_pages": _vmstat("pgdemote_direct"),
    "demoted_khugepaged_pages": _vmstat("pgdemote_khugepaged"),
    "demoted_proactive_pages": _vmstat("pgdemote_proactive"),
    "demoted_pages": _vmstat(*_DEMOTED, more=_DEMOTED_MORE),
    "promotion_candidates_bytes": _vmstat("pgpromote_candidate", page_bytes=True),
    "promoted_bytes": _vmstat("pgpromote_success", page_bytes=True),
    "demoted_bytes": _vmstat(*_DEMOTED, more=_DEMOTED_MORE, page_bytes=True),
    "numa_migrated_pages": _vmstat("numa_pages_migrated"),
    "migrate_success_pages": _vmstat("pgmigrate_success"),
    "migrate_fail_pages": _vmstat("pgmigrate_fail"),
    "hint_faults": _vmstat("numa_hint_faults"),
    "hint_faults_local": _vmstat("numa_hint_faults_local"),
    "pte_updates": _vmstat("numa_pte_updates"),
    "swap_in_pages": _vmstat("pswpin", more=("zswpin",)),
    "swap_out_pages": _vmstat("pswpout", more=("zswpout",)),
    "refault_anon_pages": _vmstat("workingset_refault_anon"),
    "refault_file_pages": _vmstat("workingset_refault_file"),
    "reclaimed_pages": _vmstat("pgsteal_anon", "pgsteal_file"),
    "allocation_spill": _vmstat("numa_foreign"),
    "reclaim_scanned_pages": _vmstat("pgscan_anon", "pgscan_file"),
    "direct_scan_pages": _vmstat("pgscan_direct"),
    "oom_kills": _vmstat("oom_kill"),
    "allocated_pages": _vmstat("pgalloc_normal", more=("pgalloc_dma", "pgalloc_dma32", "pgalloc_movable")),
    # node_exporter counts seconds, the ledger microseconds: the condition's own factor is undone.
    "psi_some_us": _Metric(("node_pressure_memory_waiting_seconds_total",), factor=1e6),
    "psi_full_us": _Metric(("node_pressure_memory_stalled_seconds_total",), factor=1e6),
}
GAUGES: dict[str, str] = {
    "memory_total_bytes": "node_memory_MemTotal_bytes",
    "memory_available_bytes": "node_memory_MemAvailable_bytes",
    "swap_total_bytes": "node_memory_SwapTotal_bytes",
    "swap_free_bytes": "node_memory_SwapFree_bytes",
    "agent_spool_batches": "tierscope_agent_spool_batches",
}
_WHY_NOT = {
    "ping_pong_state": "it is judged from many minutes of the ledger, which Prometheus does not have",
    "verdict": "it is judged from an hour of the ledger, which Prometheus does not have",
    "agent_budget": "its words are one series each in the agent's /metrics; compare tierscope_agent_budget_state",
    "slow_tier_samples": "samples of accesses are not in any exporter",
    "placed_samples": "samples of accesses are not in any exporter",
    "top_free_bytes": "node_exporter does not say which nodes are the top tier",
    "top_capacity_bytes": "node_exporter does not say which nodes are the top tier",
    "top_resident_bytes": "node_exporter does not say which nodes are the top tier",
    "slow_resident_bytes": "node_exporter does not say which nodes are the top tier",
    "days_to_exhaustion": "the forecast is made in this service",
    "days_to_exhaustion_early": "the forecast is made in this service",
}


class _NotExpressible(Exception):
    """Why a part has no form in Prometheus."""


def export_rules(rules: Sequence[Rule]) -> str:
    """A file of Prometheus rule groups; below it, as comments, the rules that are left out and why."""
    groups: dict[str, list[dict[str, Any]]] = {}
    left_out: list[tuple[str, str]] = []
    for rule in rules:
        try:
            groups.setdefault(f"tierscope-{rule.group}", []).append(_export(require_rule(rule)))
        except _NotExpressible as error:
            left_out.append((rule.name, str(error)))
    document = {"groups": [{"name": name, "rules": entries} for name, entries in sorted(groups.items()) if entries]}
    text = str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100))
    if left_out:
        text += "# Left out, because Prometheus cannot express them:\n"
        text += "".join(f"#   {name}: {reason}\n" for name, reason in left_out)
    return text


def why_not_exported(rule: Rule) -> str | None:
    """Why Prometheus cannot express a rule; None where it can."""
    try:
        _export(require_rule(rule))
    except _NotExpressible as error:
        return str(error)
    return None


def _export(checked: CheckedRule) -> dict[str, Any]:
    rule = checked.rule
    if rule.scope.kind != "host":
        raise _NotExpressible(f"it is about each {rule.scope.kind}; node_exporter knows hosts alone")
    if rule.scope.hosts or rule.scope.services or rule.scope.labels:
        raise _NotExpressible("its scope names hosts, services or labels of this service")
    if rule.n != 1 or rule.m != 1:
        raise _NotExpressible("n of m minutes has no counterpart")
    if rule.no_data == "alert":
        raise _NotExpressible("missing data is no state of a rule there")
    entry: dict[str, Any] = {"alert": _alert_name(rule.name), "expr": _expression(checked)}
    if rule.for_seconds > 0:
        # A condition that held for n minutes here has been seen at n evaluations; there `for` counts what lies between.
        entry["for"] = write_seconds(max(rule.for_seconds - 60, 0))
    if rule.keep_firing_for_seconds:
        entry["keep_firing_for"] = write_seconds(rule.keep_firing_for_seconds)
    entry["labels"] = {**rule.labels, "severity": rule.severity}
    entry["annotations"] = {
        name: _text(getattr(rule, name), rule) for name in ("summary", "description") if getattr(rule, name)
    }
    if rule.runbook_url:
        entry["annotations"]["runbook_url"] = rule.runbook_url
    return entry


def _expression(checked: CheckedRule) -> str:
    """The condition; with a recovery of its own also what has not recovered of the alerts that fire."""
    holds = _write(checked.condition.root)
    if checked.recovery is None:
        return holds
    firing = f'ALERTS{{alertname="{_alert_name(checked.rule.name)}",alertstate="firing"}}'
    value, recovered = _write(checked.condition.value), _write(checked.recovery.root)
    return f"{holds} or (({value} unless {recovered}) and on (instance) {firing})"


def _alert_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("_", "-").replace(".", "-").replace(" ", "-").split("-"))


def _text(text: str, rule: Rule) -> str:
    labels = {word: f"{{{{ $labels.{word} }}}}" for word in rule.labels}
    values = {
        "value": "{{ $value }}",
        "subject": _SUBJECT,
        "subject_kind": "host",
        "rule": rule.name,
        "severity": rule.severity,
    }
    return fill(text, values, labels)


def _write(node: Node) -> str:
    match node:
        case Constant():
            return f"{node.value:.12g}"
        case Minute():
            return _minute(node)
        case Window():
            return _flow(node.key, node.function, f"{node.minutes}m", node.factor)
        case Over():
            return _over(node)
        case Arithmetic():
            return f"({_write(node.left)} {node.operator} {_write(node.right)})"
        case Extreme():
            return _extreme(node)
        case Comparison():
            return f"({_write(node.left)} {node.operator} {_write(node.right)})"
        case Logic():
            return f"({_write(node.left)} {node.operator} {_write(node.right)})"
        case Absent():
            raise _NotExpressible("absent() loses there which host it is about")


def _minute(node: Minute) -> str:
    if node.kind == "age":
        return "(time() - tierscope_agent_last_delivery_timestamp_seconds)"
    if node.kind == "flow":
        return _flow(node.key, "rate", _MINUTE_RANGE, node.factor)
    if node.key in GAUGES:
        return GAUGES[node.key]
    if node.key.startswith("meminfo.") and "{" not in node.key:
        return f"node_memory_{node.key[8:].replace('(', '_').replace(')', '')}_bytes"
    raise _NotExpressible(f"`{node.key}`: {_WHY_NOT.get(node.key, 'no exporter has it under a known name')}")


def _flow(key: str, function: str, over: str, factor: float) -> str:
    metric = FLOWS.get(key)
    if metric is None and key.startswith("vmstat.") and "{" not in key:
        metric = _vmstat(key[7:])
    if metric is None:
        raise _NotExpressible(f"`{key}`: {_WHY_NOT.get(key, 'no exporter has it under a known name')}")
    parts = [f"{function}({name}[{over}])" for name in metric.needed]
    parts += [f"({function}({name}[{over}]) or 0 * {parts[0]})" for name in metric.more]
    total = parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"
    if metric.page_bytes:
        total = f"({total} * {_PAGE_BYTES})"
    scale = factor * metric.factor
    return total if abs(scale - 1.0) < 1e-9 else f"({total} * {scale:.12g})"  # noqa: PLR2004 - rounding of 1e6 * 1e-6


def _over(node: Over) -> str:
    inner = f"({_write(node.inner)})[{node.minutes}m:1m]"
    if node.function == "quantile_over":
        return f"quantile_over_time({node.quantile:g}, {inner})"
    return f"{node.function}_time({inner})"


def _first(node: Extreme) -> str:
    parts = []
    for inner in (node.left, node.right):
        try:
            parts.append(_write(inner))
        except _NotExpressible:
            if inner is node.right and not parts:
                raise
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def _extreme(node: Extreme) -> str:
    """The lesser of two vectors is the left one where it is less, else the right one; constants clamp.

    Of the first known one, what Prometheus never has is left out.
    """
    if node.function == "first":
        return _first(node)
    for value, limit in ((node.left, node.right), (node.right, node.left)):
        if isinstance(limit, Constant):
            return f"{'clamp_max' if node.function == 'min' else 'clamp_min'}({_write(value)}, {limit.value:.12g})"
    left, right = _write(node.left), _write(node.right)
    return f"(({left} {'<=' if node.function == 'min' else '>='} {right}) or {right})"
