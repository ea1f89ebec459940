"""Hazards of the charters on one host: whether each is there, and what it does to a piece of advice.

True: it is there; False: it is not; None: nothing collected tells, and advice that it qualifies names it as possible.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from tierscope.domain._generated.advice import CHARTERS, HAZARDS, Hazard
from tierscope.domain.knobs.facts import (
    CLASSIC_BIT,
    DEMOTION,
    INTERLEAVE_AUTO,
    KEPT_CPUS,
    KSM_RUN,
    LRU_GEN,
    MIN_TTL,
    NOT_FASTER,
    NUMA_BALANCING,
    RATE_LIMIT,
    SWAP_FULL,
    THP,
    TIERING_BIT,
    ZSWAP,
    Facts,
    Host,
)
from tierscope.domain.knobs.rules_moves import SHARED_MIN, is_dear, promotion_pays
from tierscope.domain.knobs.rules_placement import churns, harm_of_local_reclaim
from tierscope.domain.knobs.rules_rest import HOT_SET_TOO_LARGE
from tierscope.domain.knobs.shapes import Advice, Withheld

_UNTOLD = ("unknown", "")
"""Classes of nodes of which nothing tells what they are."""
_RELEASE = re.compile(r"([0-9]+)\.([0-9]+)")
_BACKPORTS = re.compile(r"\.el[0-9]|uek|amzn")
"""Releases of vendors that bring features of later kernels back under the old number."""


def exists_on(hazard: Hazard, release: str) -> bool | None:
    """Whether kernels of this release have the hazard; None where that is not known, or the release cannot be read.

    A vendor's kernel may have a feature before its mainline release; that it has the fix too is not assumed.
    """
    begin, end, unsure = map(_version, (hazard.from_kernel, hazard.before_kernel, hazard.unsure_kernel))
    if begin is None and end is None:
        return True
    version = _version(release)
    if version is None or (unsure is not None and version >= unsure):
        return None
    early = begin is None or version >= begin or _BACKPORTS.search(release) is not None
    return early and (end is None or version < end)


def _version(release: str) -> tuple[int, int] | None:
    match = _RELEASE.match(release)
    return None if match is None else (int(match[1]), int(match[2]))


def is_there(name: str, facts: Facts) -> bool | None:
    """Whether a hazard is there on this host, by what is known of it and by its kernel."""
    state = _SEEN[name](facts)
    if state is False:
        return False
    return {True: state, False: False, None: None}[exists_on(HAZARDS[name], facts.host.kernel_release)]


def weigh(advice: Advice, facts: Facts) -> Advice | Withheld:
    """The advice with the hazards that qualify it named as risks, or why it is not given."""
    named: list[str] = []
    for rule in advice.charters:
        for name, then in CHARTERS[rule].must_not.items():
            state = is_there(name, facts)
            if then == "silent" and state:
                return Withheld(advice.rule, HAZARDS[name].says)
            may_be = then == "name" or name in _DECIDES
            if may_be and state is not False and name not in named:
                named.append(name)
    if not named or not advice.changes:
        return advice
    return replace(advice, risk=" ".join([advice.risk, *(_named(name, facts) for name in named)]))


def _named(name: str, facts: Facts) -> str:
    says = HAZARDS[name].says
    if name in _DECIDES:
        return f"Whether it is so here is not known, and decides: {says}"
    told = {
        "strict-cpuset": facts.host.barring,
        "user-space-mover": facts.host.mover,
        "membind": facts.host.bound,
        "gpu-driver": facts.host.gpus,
    }
    here = told.get(name)
    if here is not None:
        return f"{says} Here {here}."
    if name == "membind" and facts.host.policies_seen:
        return f"{says} {_UNBOUND}"
    if is_there(name, facts):
        return f"{says} This host is one of them." if name in _OF_HOSTS else says
    return says


_UNBOUND = (
    "Of the services' processes that were looked at none is bound so; policies of single mappings (mbind) are not read."
)
_DECIDES = frozenset({"faster-memory-below", "no-tiering-mode"})
"""Hazards that silence advice, and turn it into harm or nothing where they are there and nobody knows."""
_OF_HOSTS = frozenset({"mglru-no-swap"})
"""Hazards whose text speaks of hosts in general."""


def _strict_cpuset(facts: Facts) -> bool | None:
    """Seen by the agent; on kernels that heed cpusets of cgroup v2 only what other groups brought in still moves."""
    host = facts.host
    if host.barring is not None:
        return True
    return False if host.processes_seen else None


def _hang(facts: Facts) -> bool | None:
    """MGLRU, nothing that protects its youngest generations, and no room in swap."""
    host = facts.host
    lru = (host.knobs.get(LRU_GEN) or "").strip()
    if LRU_GEN not in host.knobs:
        return False if host.agent_told else None
    if lru and _bits(lru) & 1 == 0:
        return False
    if host.number(MIN_TTL):
        return False
    room = _swap_has_room(facts)
    if room:
        return False
    return None if not lru or room is None else True


def _bits(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 1 if text in ("y", "Y") else 0


def _swap_has_room(facts: Facts) -> bool | None:
    used, drives = facts.flows.swap_used_ratio, facts.host.swap_drives
    if used is not None:
        return used < SWAP_FULL
    if drives:
        shares = [drive.used_ratio for drive in drives]
        return None if any(share is None for share in shares) else min(share or 0.0 for share in shares) < SWAP_FULL
    return False if facts.host.agent_told else None


def _compresses(facts: Facts) -> bool | None:
    """Whether zswap is on, or a swap area is zram: both take their memory of one allocator (zsmalloc)."""
    if any(drive.is_zram for drive in facts.host.swap_drives):
        return True
    if ZSWAP not in facts.host.knobs:
        return False if facts.host.agent_told else None
    return facts.host.is_on(ZSWAP)


def _mode_lacks(bit: int) -> Callable[[Facts], bool | None]:
    def state(facts: Facts) -> bool | None:
        mode = facts.host.number(NUMA_BALANCING)
        return None if mode is None else not mode & bit

    return state


def _faster_below(facts: Facts) -> bool | None:
    """By the classes of the nodes below, of which some may not be told."""
    classes = facts.host.slow_classes
    if any(name not in NOT_FASTER for name in classes):
        return True
    return None if any(name in _UNTOLD for name in classes) else False


def _no_tiering_mode(facts: Facts) -> bool | None:
    """By what came with the mode or after it. RHEL 9 has it under an older number, not from its first release on."""
    host = facts.host
    if RATE_LIMIT in host.knobs or _mode_lacks(TIERING_BIT)(facts) is False:
        return False
    return None if ".el9" in host.kernel_release else True


def _one_source_each(facts: Facts) -> bool | None:
    """By how many nodes there are. A vendor's kernel may have the tiers of 6.1, which mend it."""
    host = facts.host
    if len(host.top_nodes) <= max(len(host.slow_nodes), 1):
        return False
    return None if _BACKPORTS.search(host.kernel_release) else True


def _no_promotion_limit(facts: Facts) -> bool | None:
    """A kernel whose vendor brought the limit back has its file."""
    return False if RATE_LIMIT in facts.host.knobs else True if facts.host.agent_told else None


_SIZE = re.compile(rf"{THP}/hugepages-([0-9]+)kB/enabled")


def _large_folios(facts: Facts) -> bool | None:
    """Huge pages of a size below the largest, which is mapped whole, are handed out."""
    knobs = facts.host.knobs
    sizes = {int(match[1]): value for path, value in knobs.items() if (match := _SIZE.fullmatch(path))}
    if not sizes:
        return False if facts.host.agent_told else None
    of_all = (knobs.get(f"{THP}/enabled") or "").strip()
    smaller = [(value or "").strip() for size, value in sizes.items() if size != max(sizes)]
    return any((of_all if value == "inherit" else value) in ("always", "madvise") for value in smaller)


def _slow_tier_full(facts: Facts) -> bool | None:
    room = facts.host.slow_has_room
    return None if room is None else not room


def _at_least(value: float | None, least: float) -> bool | None:
    return None if value is None else value >= least


def _zram_alone(host: Host) -> bool:
    return bool(host.swap_drives) and all(drive.is_zram for drive in host.swap_drives)


_SEEN: dict[str, Callable[[Facts], bool | None]] = {
    "one-tier": lambda facts: not facts.host.has_slow_tier,
    "faster-memory-below": _faster_below,
    "not-judged": lambda facts: facts.verdict is None and facts.heat.served_now is None,
    "slow-tier-full": _slow_tier_full,
    "one-source-each": _one_source_each,
    "strict-cpuset": _strict_cpuset,
    "membind": lambda facts: True if facts.host.bound is not None else None,
    "mglru-no-swap": _hang,
    "kswapd-gave-up": lambda facts: facts.host.gave_up or (False if facts.host.agent_told else None),
    "damon-promotes": lambda facts: facts.host.damon_promotes,
    "damon-demotes": lambda facts: facts.host.damon_demotes,
    "damon-spreads": lambda facts: facts.host.damon_spreads,
    "damon-pages-out": lambda facts: facts.host.pages_out,
    "no-tiering-mode": _no_tiering_mode,
    "no-balancing": lambda facts: facts.host.cannot_promote and not facts.host.damon_promotes,
    "no-promotion-limit": _no_promotion_limit,
    "large-folios": _large_folios,
    "isolated-cpus": lambda facts: any(facts.host.knobs.get(path) not in (None, "", "(null)") for path in KEPT_CPUS),
    "ksm": lambda facts: facts.host.number(KSM_RUN) == 1,
    "gpu-driver": lambda facts: facts.host.gpus is not None or (False if facts.host.agent_told else None),
    "unmapped-cache": lambda facts: not is_dear(facts) and _at_least(facts.flows.slow_cache_ratio, SHARED_MIN),
    "group-swappiness": lambda facts: (
        facts.host.cgroup_version in ("v1", "hybrid") if facts.host.cgroup_version else None
    ),
    "user-space-mover": lambda facts: facts.host.mover is not None or (False if facts.host.processes_seen else None),
    "classic-balancing": lambda facts: facts.host.limited_nodes > 1 and _mode_lacks(CLASSIC_BIT)(facts),
    "several-dram-nodes": lambda facts: facts.host.limited_nodes > 1,
    "vma-filters": lambda facts: _at_least(facts.flows.slow_shared_ratio, SHARED_MIN),
    "zswap-placement": _compresses,
    "zram": lambda facts: _zram_alone(facts.host),
    "demotion-off": lambda facts: facts.host.is_on(DEMOTION) is False,
    "untiered": lambda facts: _mode_lacks(TIERING_BIT)(facts) is True,
    "limits-bite": lambda facts: facts.verdict == "limit_reclaim",
    "late-memory": lambda _: None,
    "interleave-auto": lambda facts: any(facts.host.is_on(path) for path in INTERLEAVE_AUTO),
    "no-sign-of-harm": lambda facts: not harm_of_local_reclaim(facts),
    "churn": churns,
    "promotion-pays": promotion_pays,
    "futile-moves": lambda facts: (
        facts.verdict == "futile_ping_pong" or (facts.flows.hot_share_of_slow or 0.0) >= HOT_SET_TOO_LARGE
    ),
}
"""By name, whatever the kernel."""
