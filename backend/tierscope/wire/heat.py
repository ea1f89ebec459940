"""Heat and gap blocks."""

from typing import Any

from tierscope.core.errors import Unreadable
from tierscope.domain._generated.heat_columns import HEAT_COLUMNS, HeatColumn
from tierscope.domain.ingest.batch import GAP_BINS, GapBlock, HeatBlock, Int64
from tierscope.wire import checks
from tierscope.wire._generated import heat_pb2

MAX_PAGE_SIZE_BYTES = 1 << 30
MAX_GAP_INTERVALS = 1024
HISTORY_BITS = 64


def decode_heat(message: heat_pb2.HeatBlock, strings: checks.Strings) -> HeatBlock:
    """Checks a block of n rows."""
    n = len(message.end_wall_ns)
    if n == 0:
        raise Unreadable("a heat block without rows")
    for name in ("service_ref", "group_ref", "tier_ref"):
        checks.check_length(len(getattr(message, name)), n, f"heat.{name}")
    sizes = checks.column(message.page_size_bytes, "heat.page_size_bytes", n)
    wall = checks.column(message.end_wall_ns, "heat.end_wall_ns", n)
    return HeatBlock(
        method=checks.method(message.backend, message.granularity, message.interval_ns, "heat"),
        end_wall_ns=checks.wall_times(wall, "heat.end_wall_ns"),
        end_boottime_ns=checks.boottimes(message.end_boottime_ns, "heat.end_boottime_ns", n),
        services=strings.services(message.service_ref, "heat.service_ref"),
        groups=strings.texts(message.group_ref, "heat.group_ref"),
        kinds=checks.kinds(message.kind, "heat.kind", n),
        page_sizes=checks.in_range(sizes, "heat.page_size_bytes", 1, MAX_PAGE_SIZE_BYTES),
        tiers=strings.texts(message.tier_ref, "heat.tier_ref"),
        columns=_columns(message, n),
        period_events=checks.real(message.period_events, "heat.period_events", 0, 1e18) or None,
        duty_ratio=checks.real(message.duty_ratio, "heat.duty_ratio", 0, 1) or None,
        bits_per_interval=checks.scalar(message.bits_per_interval, "heat.bits_per_interval", 0, HISTORY_BITS) or 1,
    )


def decode_gaps(message: heat_pb2.GapBlock, strings: checks.Strings) -> GapBlock:
    """Checks the gaps of n (service, group, kind)."""
    n = len(message.service_ref)
    if n == 0:
        raise Unreadable("a gap block without rows")
    checks.check_length(len(message.group_ref), n, "gaps.group_ref")
    bins = {
        name: checks.not_negative(checks.matrix(getattr(message, name), f"gaps.{name}", n, GAP_BINS), f"gaps.{name}")
        for name in ("closed_bytes", "freed_bytes", "open_bytes")
    }
    censored = message.censored_bytes
    return GapBlock(
        method=checks.method(message.backend, message.granularity, message.interval_ns, "gaps"),
        end_wall_ns=checks.wall_time(message.end_wall_ns, "gaps.end_wall_ns"),
        intervals=checks.scalar(message.intervals, "gaps.intervals", 1, MAX_GAP_INTERVALS),
        services=strings.services(message.service_ref, "gaps.service_ref"),
        groups=strings.texts(message.group_ref, "gaps.group_ref"),
        kinds=checks.kinds(message.kind, "gaps.kind", n),
        closed_bytes=bins["closed_bytes"],
        freed_bytes=bins["freed_bytes"],
        open_bytes=bins["open_bytes"],
        censored_bytes=checks.not_negative(
            checks.matrix(censored, "gaps.censored_bytes", n, GAP_BINS), "gaps.censored_bytes"
        )
        if censored
        else None,
    )


def _columns(message: heat_pb2.HeatBlock, n: int) -> dict[str, Int64]:
    """By name [n, width], those that the block has."""
    found = {}
    for column in HEAT_COLUMNS:
        data = getattr(message, column.name)
        there = {"required": True, "samples": message.samples_known, "optional": len(data) > 0}[column.presence]
        if there:
            found[column.name] = _values(column, data, n)
    return found


def _values(column: HeatColumn, data: Any, n: int) -> Int64:  # noqa: ANN401 - bytes, or a repeated field of any type
    """Checks a column [n, width]."""
    field = f"heat.{column.name}"
    if column.field == "bits":
        return checks.bits64(data, field, n).reshape(n, 1)
    if column.field == "matrix":
        values = checks.matrix(data, field, n, column.width)
    else:
        values = checks.column(data, field, n).reshape(n, 1)
    absent = column.absent or 0
    return checks.in_range(values, field, absent, checks.MAX_INT64) if absent else checks.not_negative(values, field)
