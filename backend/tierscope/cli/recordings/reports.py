"""What `tierscope analyze` prints: documents in the shape of docs/analyze-json.md, and tables for people."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tierscope.cli.knobs.reports import advice_document, describe_advice
from tierscope.domain.base.figures import Interval
from tierscope.domain.ledger import Verdict
from tierscope.usecases.recordings.page_traces import (
    ALL,
    CLASSES,
    COLD_MEANS,
    FULL_HISTORY,
    HOT_MEANS,
    IDLE_INTERVALS,
    LAGS,
    WARM_MEANS,
    Heat,
    TraceAnalysis,
    Value,
)
from tierscope.usecases.recordings.snapshot_trees import MovesAnalysis, Total

TRACE_SCHEMA = "tierscope.analyze-page-trace/1"
MOVES_SCHEMA = "tierscope.analyze-vmstat-dir/1"
_MIB = 2**20


def trace_document(path: Path, found: TraceAnalysis) -> dict[str, Any]:
    """The answer on a page trace."""
    recorded, sample = found.recorded, found.sample
    return {
        "schema": TRACE_SCHEMA,
        "path": str(path),
        "kind": "page-trace",
        "trace": {
            "intervals": recorded.trace.intervals,
            "interval_seconds": recorded.interval_seconds,
            "page_size_bytes": recorded.trace.page_size_bytes,
            "pages": recorded.trace.pages,
            "loads": recorded.loads,
            "stores": recorded.stores,
            "resident_bytes": found.resident_bytes,
        },
        "sample": None
        if sample is None
        else {
            "one_in": sample.one_in,
            "seed": sample.seed,
            "pages": sample.pages.pages,
            "accesses": int(sample.row_accesses.sum()),
        },
        "heat": {
            "scheme": "recency",
            "hot": HOT_MEANS,
            "warm": WARM_MEANS,
            "cold": COLD_MEANS,
            "median_from_interval": FULL_HISTORY,
            "rows": [_heat_row(row) for row in found.heat],
        },
        "revisit": {
            "idle_intervals": IDLE_INTERVALS,
            "rows": [
                {
                    "since": row.since,
                    "page_kind": row.kind,
                    "lag_intervals": row.lag_intervals,
                    "reaccess_share": _value(row.share),
                    "at_risk_bytes": row.at_risk_bytes,
                }
                for row in found.revisit
            ],
        },
        "served_accesses": {
            "rows": [{"dram_share": row.dram_share, "served_share": _value(row.share)} for row in found.served]
        },
    }


def _heat_row(row: Heat) -> dict[str, Any]:
    return {
        "window_intervals": row.window_intervals,
        "page_kind": row.kind,
        "at": row.at,
        "resident_bytes": row.resident_bytes,
        "hot_bytes": _value(row.hot_bytes),
        "warm_bytes": _value(row.warm_bytes),
        "cold_bytes": _value(row.cold_bytes),
    }


def _value(value: Value) -> dict[str, Any]:
    return {
        "value": value.value,
        "interval": _interval(value.interval),
        "method": value.method,
        "reason": value.reason,
    }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else {"lo": interval.lo, "hi": interval.hi, "level": interval.level}


def moves_document(path: Path, found: MovesAnalysis) -> dict[str, Any]:
    """The answer on a snapshot tree."""
    facts = found.facts
    return {
        "schema": MOVES_SCHEMA,
        "path": str(path),
        "kind": "vmstat-dir",
        "recording": {
            "snapshots": found.snapshots,
            "start_s": found.start_s,
            "end_s": found.end_s,
            "interval_seconds": found.interval_seconds,
            "steady_intervals": found.steady_intervals,
            "problems": list(found.problems),
        },
        "host": {
            "kernel_release": found.kernel_release,
            "dialect": found.dialect,
            "dialect_detail": found.variant,
            "top_nodes": sorted(facts.machine.tiers.top_nodes) if facts.machine.tiers.known else None,
            "tier_classes": list(facts.tier_classes),
            "dram_bytes": facts.dram_bytes,
            "numa_balancing": facts.machine.balancing,
            "demotion": facts.machine.demotion,
            "promote_limit_mib_per_s": facts.machine.promote_limit_mib_per_s,
        },
        "verdict": {
            "verdict": found.verdict.word,
            "explanation": found.verdict.explanation,
            "confidence": found.verdict.confidence,
            "evidence": [
                {"key": total.key, "unit": total.unit, "reading": total.reading, "value": total.steady}
                for total in found.totals
                if total.steady is not None
            ],
            "limit_events": found.limit_events,
            "decided_by": [asdict(sign) for sign in found.verdict.evidence],
            "runner_up": found.verdict.runner_up,
            "against": [asdict(sign) for sign in found.verdict.against],
        },
        **advice_document(found.settings),
        "ledger": [_total(total) for total in found.totals],
        "churn": None if found.churn is None else asdict(found.churn),
        "resets": [
            {"at_s": reset.at_s, "cause": reset.cause, "columns": list(reset.columns)} for reset in found.resets
        ],
    }


def _total(total: Total) -> dict[str, Any]:
    return {
        "key": total.key,
        "label": total.label,
        "unit": total.unit,
        "reading": total.reading,
        "value": total.value,
        "interval": None,
        "method": ", ".join(total.counters) or None,
        "trust": total.trust,
        "observed_seconds": total.observed_seconds,
        "note": total.note,
    }


def describe_trace(found: TraceAnalysis) -> str:
    """The answer on a page trace for people."""
    trace, sample = found.recorded.trace, found.sample
    counted = "every page and access counted: exact"
    if sample is not None:
        accesses = f"{int(sample.row_accesses.sum()):,} accesses, one in {sample.one_in}"
        counted = f"judged by {accesses}, and {sample.pages.pages:,} pages (seed {sample.seed})"
    lines = [
        f"{trace.pages:,} pages of {trace.page_size_bytes:,} bytes over {trace.intervals} intervals; {counted}",
        "",
        f"Heat in MiB. Hot: {HOT_MEANS}; warm: {WARM_MEANS}; cold: {COLD_MEANS}.",
    ]
    lines += _table(
        ("window", "kind", "at", "resident", *CLASSES),
        (
            (str(row.window_intervals), row.kind, row.at, _mib(row.resident_bytes), *map(_in_mib, _classes(row)))
            for row in found.heat
            if row.resident_bytes != 0
        ),
    )
    lines += ["", "Share accessed again within so many intervals."]
    for since in ("last_access", "turning_cold"):
        chosen = [row for row in found.revisit if row.since == since]
        kinds = dict.fromkeys(row.kind for row in chosen if row.kind == ALL or row.at_risk_bytes)
        lines += ["", f"Since {since.replace('_', ' ')}:"]
        lines += _table(
            ("kind", *map(str, LAGS)),
            ((kind, *(_ratio(row.share) for row in chosen if row.kind == kind)) for kind in kinds),
        )
    lines += ["", "Accesses served by DRAM of a share of the resident bytes, best static placement:"]
    lines += _table(("DRAM", "served"), ((f"{row.dram_share:.2f}", _ratio(row.share)) for row in found.served))
    return "\n".join(lines)


def _snapshots(found: MovesAnalysis) -> str:
    if found.snapshots == 1:
        return "1 snapshot"
    return f"{found.snapshots} snapshots, one every {found.interval_seconds:g} s"


def describe_moves(found: MovesAnalysis) -> str:
    """The answer on a snapshot tree for people."""
    kernel = f"kernel {found.kernel_release or 'unknown'}, {found.variant}"
    lines = [
        f"{_snapshots(found)}; {kernel}",
        "",
        f"Verdict: {found.verdict.word} ({found.verdict.confidence})",
        f"  {found.verdict.explanation}",
        *(f"  {sign.name} = {sign.value:.3g} {sign.unit}" for sign in found.verdict.evidence),
        *_runner_up(found.verdict),
        "",
        *describe_advice(found.settings),
        "",
    ]
    if found.snapshots == 1:
        return "\n".join([*lines, "No ledger: it counts between two snapshots. `tierscope assess` judges one."])
    lines += [f"Ledger; the verdict is judged on the {found.steady_intervals} intervals with steady residency."]
    lines += _table(
        ("column", "unit", "whole", "steady", "trust"),
        (
            (total.label, total.unit, f"{total.value:,.0f}", _whole(total.steady), total.trust)
            for total in found.totals
            if total.value is not None
        ),
    )
    absent = [total.label for total in found.totals if total.value is None]
    if absent:
        lines += ["", f"Not counted here: {', '.join(absent)}."]
    lines += [f"{reset.at_s:.0f}: {reset.cause}" for reset in found.resets]
    return "\n".join(lines)


def _runner_up(verdict: Verdict) -> list[str]:
    if verdict.runner_up is None:
        return []
    signs = ", ".join(f"{sign.name} = {sign.value:.3g} {sign.unit}" for sign in verdict.against)
    return [f"  next: {verdict.runner_up}" + (f" ({signs})" if signs else "")]


def _classes(row: Heat) -> tuple[Value, Value, Value]:
    return row.hot_bytes, row.warm_bytes, row.cold_bytes


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _mib(value: float | None) -> str:
    return "-" if value is None else f"{value / _MIB:,.1f}"


def _in_mib(value: Value) -> str:
    around = value.interval
    return _mib(value.value) + ("" if around is None else f" [{_mib(around.lo)}, {_mib(around.hi)}]")


def _ratio(value: Value) -> str:
    if value.value is None:
        return "-"
    around = value.interval
    return f"{value.value:.4f}" + ("" if around is None else f" [{around.lo:.4f}, {around.hi:.4f}]")
