"""Rules on the rate of tier moves: limit, threshold, scanning."""

from tierscope.domain._generated.advice import CHARTERS
from tierscope.domain.base.page_size import bytes_of
from tierscope.domain.base.words import number_text
from tierscope.domain.knobs.facts import (
    DEMOTION,
    HOT_THRESHOLD,
    RATE_LIMIT,
    SCAN_PERIOD_MAX,
    SCAN_PERIOD_MIN,
    SCAN_SIZE,
    Facts,
)
from tierscope.domain.knobs.rules_placement import GAIN_MIN, LIMIT_MIN_MB, PLACEMENT, UNHEEDED, gap, is_tiering
from tierscope.domain.knobs.rules_rest import HOT_SET_TOO_LARGE
from tierscope.domain.knobs.shapes import Advice, Change, Effect, Evidence, Unknown
from tierscope.domain.ledger import CHANCE, limited_bytes_per_s

LIMIT_MAX_MB = 4000.0
LIMIT_START_MB = 200
"""The lower end of what CXL devices of eight lanes take, where theirs was not measured."""
UNBOUND_LIMIT_MB = 65536.0
"""The kernel's default: more than memory delivers, so that the kernel's own tuning always ends at its upper end."""
USEFUL_FACTOR = 4.0
HALF = 0.5
SLOW_WRITE_SHARE = 10.0
MOVES_MAX = 0.05
THRESHOLD_MIN, THRESHOLD_MAX = 250, 2000
BAND = 0.10
STEADY_MINUTES = 30.0
HINT_CPU_MAX = 0.02
LAG_MAX_SECONDS = 300.0
MIB = 1 << 20
SAFE_PERIOD = (500, 5000)
SIZE_MAX_MB = 4096
_LIMITED = "L kernel text: a limit per node and second, while less than a sixteenth of it (1 GiB at least) is free"
SHARED_MIN = 0.5
"""Share of shared memory on slower tiers from which the scanner's filters, not its pace, decide what is looked at."""


def promotion_limit(slow_write_gb_per_s: float | None, useful_mb_per_s: float) -> int:
    """A tenth of what the slow tier can write, where known; four times the useful promotion, but 20 MB/s at least."""
    wanted = max(LIMIT_MIN_MB, USEFUL_FACTOR * useful_mb_per_s)
    return int(wanted if slow_write_gb_per_s is None else min(slow_write_gb_per_s * 1000 / SLOW_WRITE_SHARE, wanted))


def rate_limit(facts: Facts) -> Advice | Unknown | None:
    """F4: pages go to and fro, or moves take more than 5 % of the slow tier's bandwidth; or the limit is too low."""
    current = facts.host.number(RATE_LIMIT)
    if current is None:
        missing = facts.host.unreadable(RATE_LIMIT)
        return Unknown("F4", missing) if missing else None
    if is_tiering(facts) is False:
        # The kernel asks the limit in tiering mode alone: without it a limit changes nothing.
        return None
    found = _too_many_moves(facts)
    return _lower_limit(facts, current, tuple(found)) if found else _raise_limit(facts, current)


def _too_many_moves(facts: Facts) -> list[Evidence]:
    flows, found = facts.flows, []
    if flows.ping_pong in {"warn", "crit"}:
        found.append(Evidence("promoted pages", flows.promoted_pages_per_s or 0.0, "pages/s"))
        found += _evidence("demoted pages", flows.demoted_pages_per_s, "pages/s")
        found += _evidence("pages touched on the slow tier that are hot", flows.hot_share_of_slow, "share")
    used = flows.tier_move_slow_bandwidth_ratio
    if used is not None and used > MOVES_MAX:
        found.append(Evidence("slow tier's bandwidth taken by tier moves", used, "share"))
    return found


def promotion_pays(facts: Facts) -> bool | None:
    """Whether pages lie so much better than by chance that fewer promotions would cost more than they save.

    Asked where moves are too many alone; None where nothing tells what slow memory serves.
    """
    if not _too_many_moves(facts):
        return False
    slow, of_memory = facts.flows.slow_access_ratio, facts.flows.slow_ratio
    return None if slow is None or not of_memory else slow / of_memory < CHANCE


def _evidence(metric: str, value: float | None, unit: str) -> list[Evidence]:
    return [] if value is None else [Evidence(metric, value, unit)]


def _lower_limit(facts: Facts, current: int, found: tuple[Evidence, ...]) -> Advice | None:
    """A limit that would not bind changes nothing, so it is at most half of what a node promotes in vain now."""
    host, flows, nodes = facts.host, facts.flows, facts.host.limited_nodes
    proposed = _of_node(promotion_limit(host.slow_write_gb_per_s, flows.useful_promotion_p95_mb_per_s or 0.0), nodes)
    promoted = bytes_of(flows.promoted_pages_per_s, host.page_bytes)
    if promoted is not None and flows.useful_promotion_p95_mb_per_s is None:
        each = promoted / MIB / nodes
        candidates = (bytes_of(flows.candidate_pages_per_s, host.page_bytes) or 0.0) / MIB / nodes
        if each <= 1.0 and candidates * HALF < 1.0:
            return _no_limit_binds(nodes, each, found)
        proposed = max(min(proposed, int(each * HALF)), 1)
    if proposed >= current:
        return None
    return Advice(
        rule="F4",
        title="Limit the rate of promotion",
        changes=(Change(RATE_LIMIT, str(current), str(proposed)),),
        evidence=found,
        effect="Promotion stays below the limit, and demotion falls with it; a published benchmark lost 1.7 % of its "
        "score for 70 % less traffic.",
        risk="Placement follows a new hot set more slowly.",
        verify="Promotion stays below the limit, and the share served from DRAM falls by no more than 0.01.",
        effect_size=_ceiling(proposed, nodes),
    )


def _no_limit_binds(nodes: int, mib_per_s: float, found: tuple[Evidence, ...]) -> Advice:
    """Moves in vain that are too slow for the smallest limit."""
    return Advice(
        rule="F4",
        title="Leave the limit of promotion: none binds",
        changes=(),
        evidence=(*found, Evidence("promotion to each DRAM node", mib_per_s, "MiB/s")),
        effect="None: the smallest limit has no effect here.",
        risk="None.",
        verify="Nothing to verify.",
        note=f"The limit holds for each DRAM node by itself, in whole MiB/s of candidates. {nodes} take promotions, "
        f"{number_text(mib_per_s, 2)} MiB/s each: a limit of 1 lets {'them' if nodes > 1 else 'it'} pass. The hot "
        "set is larger than DRAM, which more DRAM or less load mends.",
    )


def _of_node(limit_of_host: int, nodes: int) -> int:
    """A limit for each of the nodes that together have the one of the host, at least 1 MiB/s."""
    return max(limit_of_host // nodes, 1)


def _raise_limit(facts: Facts, current: int) -> Advice | Unknown | None:
    """The limit binds while only some of the touched slow pages are hot: it keeps hot pages on the slow tier."""
    host, flows = facts.host, facts.flows
    if current == 0 and is_tiering(facts) and facts.verdict not in {None, "fits", "not_known"}:
        return _unlock(facts)
    if facts.verdict != "limiter_bound":
        return None
    gain = gap(facts)
    if gain is not None and gain < GAIN_MIN:
        return None
    hot = flows.hot_share_of_slow
    if gain is None and hot is None:
        return Unknown("F4", (PLACEMENT,))
    if hot is not None and hot >= HOT_SET_TOO_LARGE:
        return None
    if host.slow_write_gb_per_s is None:
        return Unknown("F4", ("write bandwidth of the slow tier: run `tierscope-agent bench`",))
    proposed = _of_node(_share_of_writes(host.slow_write_gb_per_s), host.limited_nodes)
    if proposed <= current * (1 + BAND):
        return None
    found = [*_evidence("promotion candidates", flows.candidate_pages_per_s, "pages/s")]
    found += _evidence("promoted pages", flows.promoted_pages_per_s, "pages/s")
    found += _evidence("pages touched on the slow tier that are hot", hot, "share")
    return Advice(
        rule="F4",
        title="Raise the limit of promotion",
        changes=(Change(RATE_LIMIT, str(current), str(proposed)),),
        evidence=tuple(found),
        effect="Hot pages that the limit holds back reach DRAM sooner.",
        risk="Traffic between the tiers grows, up to a tenth of what the slow tier can write.",
        verify="Candidates come down to the promoted pages, the share served from DRAM rises.",
        note=host.bandwidth_note,
        effect_size=_ceiling(proposed, host.limited_nodes),
    )


def _unlock(facts: Facts) -> Advice:
    """Promotion is switched on, and a limit of 0 forbids it."""
    write, nodes = facts.host.slow_write_gb_per_s, facts.host.limited_nodes
    proposed = _of_node(LIMIT_START_MB if write is None else _share_of_writes(write), nodes)
    return Advice(
        rule="F4",
        title="Allow promotion",
        changes=(Change(RATE_LIMIT, "0", str(proposed)),),
        evidence=(Evidence("kernel.numa_balancing_promote_rate_limit_MBps", 0.0, "MiB/s"),),
        effect="Hot pages reach DRAM even where it is nearly full.",
        risk="Traffic between the tiers grows.",
        verify="pgpromote_success rises, the share served from DRAM rises.",
        note=None if write is None else facts.host.bandwidth_note,
        effect_size=_ceiling(proposed, nodes),
    )


def _share_of_writes(slow_write_gb_per_s: float) -> int:
    return int(min(slow_write_gb_per_s * 1000 / SLOW_WRITE_SHARE, LIMIT_MAX_MB))


def _ceiling(limit_mib_per_s: int, nodes: int) -> Effect:
    most = limited_bytes_per_s(limit_mib_per_s, nodes)
    return Effect("promotion", most, 0.0, most, None, "bytes_per_s", _LIMITED)


def threshold(facts: Facts) -> Advice | Unknown | None:
    """F5: candidates lie on one side of the limit for half an hour, so the kernel's own tuning is pinned.

    Too few candidates are a fault only where nothing comes up, and hot memory stays outside DRAM: where the hot set
    moves on and promotion follows, a higher threshold brings up no page sooner.
    """
    host, flows = facts.host, facts.flows
    limit, current = host.number(RATE_LIMIT), host.number(HOT_THRESHOLD)
    if not limit or limit >= UNBOUND_LIMIT_MB or current is None or flows.candidate_pages_per_s is None:
        return None
    candidates = bytes_of(flows.candidate_pages_per_s, host.page_bytes)
    if candidates is None:
        return Unknown("F5", ("page size of the host",))
    share = candidates / limited_bytes_per_s(limit, host.limited_nodes)
    if 1 - BAND <= share <= 1 + BAND:
        return None
    if flows.candidates_steady_minutes is None or flows.candidates_steady_minutes < STEADY_MINUTES:
        seen = flows.candidates_steady_minutes or 0.0
        missing = f"{STEADY_MINUTES:.0f} minutes of candidates on one side of the limit; there are {seen:.0f}"
        return Unknown("F5", (missing,)) if share > 1 else None
    gain = gap(facts)
    if share < 1 and facts.verdict not in {*UNHEEDED, None}:
        return None
    if share < 1 and (gain is None or gain < GAIN_MIN):
        return Unknown("F5", (PLACEMENT,)) if gain is None and facts.verdict != "fits" else None
    wanted = current / 2 if share > 1 else current * 2
    proposed = int(min(max(wanted, THRESHOLD_MIN), THRESHOLD_MAX))
    # A limit of what is proposed may lie on the other side of what is set.
    if (proposed >= current) if share > 1 else (proposed <= current):
        return None
    return Advice(
        rule="F5",
        title="Move the threshold of hot pages",
        changes=(Change(HOT_THRESHOLD, str(current), str(proposed)),),
        evidence=(Evidence("candidates against the promotion limit", share, "ratio"),),
        effect=("Fewer pages count as hot." if share > 1 else "More pages count as hot.")
        + " How many, the kernel does not tell in advance.",
        risk="The file is in debugfs: root only, gone at reboot, closed under lockdown.",
        verify="Candidates stay within 10 % of the limit.",
    )


def scan(facts: Facts) -> Advice | Unknown | None:
    """F6: scanning costs too much, or finds a new hot set too slowly or not at all."""
    host, flows = facts.host, facts.flows
    paths = (SCAN_PERIOD_MIN, SCAN_SIZE, SCAN_PERIOD_MAX)
    period, size, longest = (host.number(path) for path in paths)
    late = _lateness(facts)
    dear = is_dear(facts)
    if period is None or size is None or longest is None:
        missing = host.unreadable(*paths)
        return Unknown("F6", missing) if missing and (late or dear) else None
    if dear:
        wanted = {
            SCAN_PERIOD_MIN: min(max(period * 2, SAFE_PERIOD[0]), max(SAFE_PERIOD[1], period)),
            SCAN_SIZE: max(size // 2, 1),
        }
        found = Evidence("processor time of hint faults", flows.hint_fault_cpu_ratio or 0.0, "share of a core")
        effect, risk = "Less processor time, by up to three quarters.", "A new hot set is found later."
    elif late is not None:
        wanted = {SCAN_SIZE: max(min(size * 2, SIZE_MAX_MB), size), SCAN_PERIOD_MAX: max(longest // 2, period)}
        found = late
        effect, risk = "A new hot set is found sooner.", "Hint faults take more processor time."
    else:
        return None
    now = dict(zip(paths, (period, size, longest), strict=True))
    changes = tuple(Change(path, str(now[path]), str(value)) for path, value in wanted.items() if value != now[path])
    if not changes:
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


def is_dear(facts: Facts) -> bool:
    """Whether the scanner's hint faults take more processor time than they may."""
    share = facts.flows.hint_fault_cpu_ratio
    return share is not None and share > HINT_CPU_MAX


def _lateness(facts: Facts) -> Evidence | None:
    lag = facts.flows.promotion_lag_seconds
    if is_mostly_shared(facts):
        return None
    if lag is not None and lag > LAG_MAX_SECONDS:
        return Evidence("time until a new hot set is promoted", lag, "s")
    return _unheeded(facts)


def _unheeded(facts: Facts) -> Evidence | None:
    if facts.verdict in UNHEEDED and is_tiering(facts) and facts.host.is_on(DEMOTION) is not False:
        ratio = facts.flows.slow_ratio or 0.0
        return Evidence("memory on slower tiers that the scanner does not look at", ratio, "share")
    return None


def is_mostly_shared(facts: Facts) -> bool:
    """Whether what lies on slower tiers is shared memory, which tasks that do not touch it never scan (6.4)."""
    return (facts.flows.slow_shared_ratio or 0.0) >= SHARED_MIN


def shared(facts: Facts) -> Advice | None:
    """`shared`: nothing comes up, and what lies below is of the kind that the scanner passes over."""
    unheeded = _unheeded(facts)
    if unheeded is None or not is_mostly_shared(facts):
        return None
    charter = CHARTERS["shared"]
    ratio = facts.flows.slow_shared_ratio or 0.0
    return Advice(
        rule="shared",
        title=charter.title,
        changes=(),
        evidence=(unheeded, Evidence("shared memory in what lies on slower tiers", ratio, "share")),
        effect="What the segment serves from the slower tier falls. How much is not counted.",
        risk=" ".join(charter.harm),
        verify=charter.measure,
        note="The scanner looks at a mapping only from tasks that touch it (tracepoint sched:sched_skip_vma_numa says "
        "what it skips): a faster pace does not reach shared heaps. Place the segment in DRAM (mpol= of tmpfs or "
        "hugetlbfs, numactl), or let DAMON promote it (migrate_hot).",
    )
