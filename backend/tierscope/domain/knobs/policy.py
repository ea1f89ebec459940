"""Which placement policy to replay a host's pages under: what its settings say, else what was asked for, or a default.

Everything that replays for somebody asks here, so that two answers about the same pages assume the same.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tierscope.domain.knobs.facts import (
    DEMOTE_SCALE,
    DEMOTION,
    HOT_THRESHOLD,
    NUMA_BALANCING,
    RATE_LIMIT,
    TIERING_BIT,
    WATERMARK_SCALE,
    Host,
)
from tierscope.domain.simulate.policies import POLICIES, PolicyName
from tierscope.domain.simulate.sweep import WATERMARK, SweepRun

_LIMIT = "numa_balancing_promote_rate_limit_MBps"
_NORMAL_BIT = 1
PolicyFrom = Literal["configured", "asked", "assumed"]
"""What hosts' settings say, what the caller asked for, or the default."""
DEFAULT_POLICY: PolicyName = "hot_page_selection_auto"
"""Where neither settings nor the caller say: what a host gets that is set up for tiering as is advised [A]."""
_DEFAULT = "numa_balancing 2 and demotion, as is advised for a host with a slower tier"
_UNTIERED = "the hosts have no slower tier yet"
_UNKNOWN = "no host setting of NUMA balancing is known"
NEEDS_COUNTS: frozenset[PolicyName] = frozenset({"hot_page_selection", "hot_page_selection_auto"})
"""Policies that ask how soon a page is accessed again: pages known as active or idle alone do not tell."""


def askable_policies() -> tuple[PolicyName, ...]:
    """Policies that a kernel can run over DRAM and a slower tier."""
    return tuple(name for name, kind in POLICIES.items() if kind.has_slow_tier and kind.loop != "oracle")


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """A policy with the settings that differ from its defaults, and why it is this one."""

    policy: PolicyName
    settings: tuple[tuple[str, float], ...]
    why: str
    origin: PolicyFrom = "configured"

    @property
    def label(self) -> str:
        """What people call it."""
        return POLICIES[self.policy].label

    def at(self, dram_ratio: float) -> SweepRun:
        """Its replay at a DRAM share."""
        return SweepRun(0, self.policy, dram_ratio, dict(self.settings), searched=False)

    def stand_in(self) -> "HostPolicy | None":
        """What is replayed in its place where samples tell active pages from idle ones alone; None: itself."""
        if self.policy not in NEEDS_COUNTS or not self.promotes:
            return None
        kept = tuple(setting for setting in self.settings if setting[0] == WATERMARK)
        why = f"{self.why}; accessed bits do not tell how soon a page is accessed again, which {self.label} goes by"
        return HostPolicy("tpp", kept, why, self.origin)

    @property
    def promotes(self) -> bool:
        """Whether it moves any page from the slower tier to DRAM."""
        return self.policy != "first_touch" and dict(self.settings).get(_LIMIT) != 0.0

    @property
    def exchanges(self) -> bool:
        """Whether it brings hot pages to DRAM for cold ones, so that pages are placed no worse than by chance.

        Without it what was allocated first keeps DRAM: file cache of a start, say, and hot memory spills.
        """
        return self.promotes and self.policy not in ("numa_balancing", "interleave")


def policy_of_host(host: Host, asked: PolicyName | None = None) -> HostPolicy:
    """What the kernel does with these settings; `asked` or the default where they say nothing of a slower tier.

    A host without a slower tier has nothing to set for one yet, and a recording may not tell of its host at all.
    """
    mode, demotes = host.number(NUMA_BALANCING), host.is_on(DEMOTION)
    watermark = _set(host, WATERMARK, WATERMARK_SCALE)
    if host.has_slow_tier and (host.damon_promotes or host.damon_demotes):
        return _by_damon(host, watermark)
    if mode is None or not host.has_slow_tier:
        return _take(asked, watermark, _UNTIERED if host.knobs and not host.has_slow_tier else _UNKNOWN)
    if mode & TIERING_BIT and demotes:
        if host.is_tpp:
            settings = (*watermark, *_set(host, "demote_scale_factor", DEMOTE_SCALE))
            return HostPolicy("tpp", settings, f"numa_balancing is {mode}, demotion is on, and the kernel has TPP")
        settings = (
            *watermark,
            *_set(host, "hot_threshold_ms", HOT_THRESHOLD),
            *_set(host, _LIMIT, RATE_LIMIT),
            ("allocation_demotes", 1.0),
        )
        return HostPolicy("hot_page_selection_auto", settings, f"numa_balancing is {mode} and demotion is on")
    if mode & (TIERING_BIT | _NORMAL_BIT):
        state = "on" if demotes else "off" if demotes is False else "not there"
        why = f"numa_balancing is {mode} and demotion is {state}: pages are promoted while DRAM has room"
        return HostPolicy("numa_balancing", watermark, why)
    if demotes:
        settings = (*watermark, (_LIMIT, 0.0), ("allocation_demotes", 1.0))
        return HostPolicy("hot_page_selection", settings, "numa_balancing is 0 and demotion is on: pages only go down")
    return HostPolicy("first_touch", watermark, "numa_balancing is 0: pages stay where they were allocated")


def _by_damon(host: Host, watermark: tuple[tuple[str, float], ...]) -> HostPolicy:
    """What DAMON moves is picked by how often it is accessed, which selection by hotness comes nearest to [A]."""
    if host.promotes and host.demotes:
        why = "DAMON moves pages between the tiers, with or without NUMA balancing: taken as selection of hot pages [A]"
        return HostPolicy("hot_page_selection_auto", (*watermark, ("allocation_demotes", 1.0)), why)
    if host.promotes:
        why = "DAMON moves hot pages up and nothing moves cold ones down: pages are promoted while DRAM has room"
        return HostPolicy("numa_balancing", watermark, why)
    settings = (*watermark, (_LIMIT, 0.0), ("allocation_demotes", 1.0))
    return HostPolicy("hot_page_selection", settings, "DAMON moves cold pages down, and nothing brings hot ones up")


def _set(host: Host, name: str, path: str) -> tuple[tuple[str, float], ...]:
    """The value that a host has for a setting, where it has one that can be."""
    value = host.number(path)
    return () if value is None or value == 0 else ((name, float(value)),)


def policy_of_hosts(hosts: Sequence[Host], asked: PolicyName | None = None) -> tuple[HostPolicy, int]:
    """The policy that most of the hosts run whose settings tell, and how many do. Of equals that of the first host."""
    if not hosts:
        return policy_of_host(Host(knobs=_NOTHING, has_slow_tier=True), asked), 0
    policies = [policy_of_host(host, asked) for host in hosts]
    configured = [policy for policy in policies if policy.origin == "configured"]
    return Counter(configured or policies).most_common(1)[0]


_NOTHING: Mapping[str, str | None] = {}


def _take(asked: PolicyName | None, watermark: tuple[tuple[str, float], ...], lacking: str) -> HostPolicy:
    """The policy that was asked for, else the default."""
    policy = asked or DEFAULT_POLICY
    settings = watermark if policy not in NEEDS_COUNTS else (*watermark, ("allocation_demotes", 1.0))
    if asked is not None:
        return HostPolicy(policy, settings, f"it was asked for, and {lacking}", "asked")
    return HostPolicy(policy, settings, f"{lacking}: {_DEFAULT} [A]", "assumed")
