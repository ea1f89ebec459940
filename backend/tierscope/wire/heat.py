"""Heat and gap blocks."""

from tierscope.core.errors import Unreadable
from tierscope.domain.ingest.batch import GAP_BINS, HEAT_WIDTHS, SIGNED_COLUMNS, GapBlock, HeatBlock, Int64
from tierscope.wire import checks
from tierscope.wire._generated import heat_pb2

MAX_PAGE_SIZE_BYTES = 1 << 30
MAX_GAP_INTERVALS = 1024
HISTORY_BITS = 64
_OPTIONAL = ("distinct_pages", "f1_pages", "f2_pages", "hot_intersection_bytes", "hot_union_bytes", "written_bytes")
_OPTIONAL_NARROW = ("sampled_pages", "subpage_active_bytes")
_REQUIRED = ("age_bytes", "never_bytes", "active_count_bytes", "active_lo_bytes", "active_hi_bytes")


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
    found = {
        "validity": checks.bits64(message.validity, "heat.validity", n).reshape(n, 1),
        "resident_bytes": checks.column(message.resident_bytes, "heat.resident_bytes", n).reshape(n, 1),
    }
    for name in _REQUIRED:
        found[name] = checks.matrix(getattr(message, name), f"heat.{name}", n, HEAT_WIDTHS[name])
    if message.samples_known:
        for name in ("load_samples", "store_samples"):
            found[name] = checks.column(getattr(message, name), f"heat.{name}", n).reshape(n, 1)
    for name in _OPTIONAL:
        data = getattr(message, name)
        if data:
            found[name] = checks.matrix(data, f"heat.{name}", n, HEAT_WIDTHS[name])
    for name in _OPTIONAL_NARROW:
        if len(getattr(message, name)):
            found[name] = checks.column(getattr(message, name), f"heat.{name}", n).reshape(n, 1)
    for name, values in found.items():
        if name in SIGNED_COLUMNS:
            checks.in_range(values, f"heat.{name}", -1, checks.MAX_INT64)
        elif name != "validity":
            checks.not_negative(values, f"heat.{name}")
    return found
