"""What `tierscope analyze` prints of a record of damo (docs/analyze-json.md)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tierscope.usecases.recordings.damo_records import PERCENTS, TargetAnalysis

DAMO_SCHEMA = "tierscope.analyze-damo-record/1"


def damo_document(path: Path, found: Sequence[TargetAnalysis], excluded: int) -> dict[str, Any]:
    """The answer as JSON."""
    return {
        "schema": DAMO_SCHEMA,
        "path": str(path),
        "kind": "damo-record",
        "excluded_snapshots": excluded,
        "targets": [_target(target) for target in found],
    }


def _target(target: TargetAnalysis) -> dict[str, Any]:
    working_set = target.working_set
    return {
        "kdamond": target.kdamond,
        "context": target.context,
        "target": target.target,
        "sample_us": target.sample_us,
        "aggregation_us": target.aggregation_us,
        "snapshots": target.snapshots,
        "regions": target.regions,
        "span_seconds": target.span_seconds,
        "monitored_bytes": target.monitored_bytes,
        "overlapping": {
            "snapshots": target.overlapping_snapshots,
            "regions": target.overlapping_regions,
            "bytes": target.overlapping_bytes,
        },
        "working_set": {
            "method": "damo_report_wss",
            "snapshots": 0 if working_set is None else working_set.snapshots,
            "average_bytes": None if working_set is None else working_set.average_bytes,
            "percentiles": []
            if working_set is None
            else [
                {"percent": percent, "by_size_bytes": by_size, "by_time_bytes": by_time}
                for percent, by_size, by_time in zip(
                    PERCENTS, working_set.by_size_bytes, working_set.by_time_bytes, strict=True
                )
            ],
            "reason": target.reason,
        },
    }


def describe_damo(found: Sequence[TargetAnalysis], excluded: int) -> str:
    """The answer for people."""
    lines: list[str] = []
    for target in found:
        lines.append(
            f"Target {target.target} of kdamond {target.kdamond}: {target.snapshots} snapshots over "
            f"{target.span_seconds:.1f} s, {target.monitored_bytes:,} bytes monitored at the end"
        )
        if target.overlapping_regions:
            lines.append(
                f"Warning: {target.overlapping_regions} regions overlap others of their snapshot "
                f"({target.overlapping_bytes:,} bytes were recorded twice) and were clipped; "
                "the working set is damo's, which calls all of a region accessed where any that overlaps it is"
            )
        if target.working_set is None:
            lines.append(f"No working set: {target.reason}")
            continue
        lines.append(
            f"Working set as `damo report wss` has it, without the first {excluded} snapshots: "
            f"{target.working_set.average_bytes:,} bytes on average"
        )
        lines += [
            f"{percent:>4} % {size:>20,}"
            for percent, size in zip(PERCENTS, target.working_set.by_size_bytes, strict=True)
        ]
    return "\n".join(lines)
