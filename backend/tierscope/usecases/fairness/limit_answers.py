"""The answer about what limits and protections of a host's services would do."""

from dataclasses import dataclass
from typing import Annotated

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.domain.fairness.vocabulary import Basis


@dataclass(frozen=True, slots=True)
class LimitOutcome:
    """What a replay makes of a service."""

    top_bytes: Annotated[Figure, Described("What it holds of the top tier, mean.")]
    local_ratio: Annotated[Figure, Described("Share of its accesses that the top tier serves.")]
    loss_ratio: Annotated[Figure, Described("Expected loss of throughput against all of its memory in the top tier.")]


@dataclass(frozen=True, slots=True)
class TenantLimit:
    """A service in the replay without settings and in the one with them."""

    id: str
    name: str
    low_bytes: Annotated[float | None, Described("`memory.low` in the replay with settings; null: none.")]
    top_max_bytes: Annotated[
        float | None, Described("Most of the top tier in the replay with settings; null: no limit.")
    ]
    fair_bytes: Figure
    before: LimitOutcome
    after: LimitOutcome
    local_change: Annotated[Figure, Described("Local share after less before; what both replays share cancels.")]


@dataclass(frozen=True, slots=True)
class ProposedProtection:
    """The smallest `memory.low` with which the service that lacks most would hold its fair share."""

    id: str
    name: str
    low_bytes: float


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What limits of the top tier and `memory.low` would do to the services of a host, by replay of all together.

    Always simulated: `origin` says where the page samples come from.
    """

    host_id: str
    host: str
    origin: Origin
    window: Window
    policy: Annotated[str, Described("What was replayed: what the host's kernel runs, or what stands in for it.")]
    policy_label: str
    policy_why: str
    basis: Annotated[Basis | None, Described("The definition of fair; null without an answer.")]
    asked: Annotated[bool, Described("Whether settings were asked for; else the proposal is replayed.")]
    tenants: tuple[TenantLimit, ...]
    proposal: ProposedProtection | None
    proposal_note: Annotated[str, Described("What is proposed, or why nothing is.")]
    reason: Annotated[str | None, Described("Why there is no answer, and what is missing.")]
    notes: tuple[str, ...]
