"""Rules on the rate of tier moves: limit, threshold, scanning."""

from tierscope.domain.knobs.facts import (
    HOT_THRESHOLD,
    RATE_LIMIT,
    SCAN_PERIOD_MAX,
    SCAN_PERIOD_MIN,
    SCAN_SIZE,
    Facts,
)
from tierscope.domain.knobs.shapes import Advice, Change, Evidence

LIMIT_MIN_MB = 20.0
UNBOUND_LIMIT_MB = 65536.0
"""The kernel's default: more than memory delivers, so that the kernel's own tuning always ends at its upper end."""
USEFUL_FACTOR = 4.0
SLOW_WRITE_SHARE = 10.0
MOVES_MAX = 0.05
THRESHOLD_MIN, THRESHOLD_MAX = 250, 2000
BAND = 0.10
STEADY_MINUTES = 30.0
HINT_CPU_MAX = 0.02
LAG_MAX_SECONDS = 300.0
PAGE_BYTES = 4096
MIB = 1 << 20
SAFE_PERIOD = (500, 5000)


def promotion_limit(slow_write_gb_per_s: float, useful_mb_per_s: float) -> int:
    """A tenth of what the slow tier can write, at most; four times the useful promotion, but 20 MB/s at least."""
    return int(min(slow_write_gb_per_s * 1000 / SLOW_WRITE_SHARE, max(LIMIT_MIN_MB, USEFUL_FACTOR * useful_mb_per_s)))


def rate_limit(facts: Facts) -> Advice | None:
    """F4: pages go to and fro, or tier moves take more than 5 % of the slow tier's bandwidth."""
    host, flows = facts.host, facts.flows
    current = host.number(RATE_LIMIT)
    if current is None:
        return None
    found = []
    if flows.ping_pong in {"warn", "crit"}:
        found.append(Evidence("promoted pages", flows.promoted_pages_per_s or 0.0, "pages/s"))
    used = flows.tier_move_slow_bandwidth_ratio
    if used is not None and used > MOVES_MAX:
        found.append(Evidence("slow tier's bandwidth taken by tier moves", used, "share"))
    if not found or host.slow_write_gb_per_s is None:
        return None
    proposed = promotion_limit(host.slow_write_gb_per_s, flows.useful_promotion_p95_mb_per_s or 0.0)
    if proposed >= current:
        return None
    return Advice(
        rule="F4",
        title="Limit the rate of promotion",
        changes=(Change(RATE_LIMIT, str(int(current)), str(proposed)),),
        evidence=tuple(found),
        effect="Traffic between tiers falls; a published benchmark lost 1.7 % of its score for 70 % less traffic.",
        risk="Placement follows a new hot set more slowly.",
        verify="Promotion stays below the limit, and the share served from DRAM falls by no more than 0.01.",
    )


def threshold(facts: Facts) -> Advice | None:
    """F5: candidates lie on one side of the limit for half an hour, so the kernel's own tuning is pinned."""
    host, flows = facts.host, facts.flows
    limit, current = host.number(RATE_LIMIT), host.number(HOT_THRESHOLD)
    if not limit or limit >= UNBOUND_LIMIT_MB or current is None or flows.candidate_pages_per_s is None:
        return None
    if (flows.candidates_steady_minutes or 0.0) < STEADY_MINUTES:
        return None
    share = flows.candidate_pages_per_s * PAGE_BYTES / (limit * MIB)
    if 1 - BAND <= share <= 1 + BAND:
        return None
    wanted = current / 2 if share > 1 else current * 2
    proposed = int(min(max(wanted, THRESHOLD_MIN), THRESHOLD_MAX))
    if proposed == int(current):
        return None
    return Advice(
        rule="F5",
        title="Move the threshold of hot pages",
        changes=(Change(HOT_THRESHOLD, str(int(current)), str(proposed)),),
        evidence=(Evidence("candidates against the promotion limit", share, "ratio"),),
        effect="Fewer pages count as hot." if share > 1 else "More pages count as hot.",
        risk="The file is in debugfs: root only, gone at reboot, closed under lockdown.",
        verify="Candidates stay within 10 % of the limit.",
    )


def scan(facts: Facts) -> Advice | None:
    """F6: scanning costs too much, or finds a new hot set too slowly."""
    host, flows = facts.host, facts.flows
    period, size, longest = (host.number(path) for path in (SCAN_PERIOD_MIN, SCAN_SIZE, SCAN_PERIOD_MAX))
    if period is None or size is None or longest is None:
        return None
    if flows.hint_fault_cpu_ratio is not None and flows.hint_fault_cpu_ratio > HINT_CPU_MAX:
        changes = (
            Change(SCAN_PERIOD_MIN, str(int(period)), str(min(int(period * 2), SAFE_PERIOD[1]))),
            Change(SCAN_SIZE, str(int(size)), str(max(int(size / 2), 1))),
        )
        found = Evidence("processor time of hint faults", flows.hint_fault_cpu_ratio, "share of a core")
        effect, risk = "Less processor time.", "A new hot set is found later."
    elif flows.promotion_lag_seconds is not None and flows.promotion_lag_seconds > LAG_MAX_SECONDS:
        changes = (
            Change(SCAN_SIZE, str(int(size)), str(int(size * 2))),
            Change(SCAN_PERIOD_MAX, str(int(longest)), str(int(longest / 2))),
        )
        found = Evidence("time until a new hot set is promoted", flows.promotion_lag_seconds, "s")
        effect, risk = "A new hot set is found sooner.", "Hint faults take more processor time."
    else:
        return None
    return Advice(
        rule="F6",
        title="Change the pace of scanning",
        changes=changes,
        evidence=(found,),
        effect=effect,
        risk=f"{risk} The files are in debugfs: root only, gone at reboot.",
        verify="The rate of numa_hint_faults.",
    )
