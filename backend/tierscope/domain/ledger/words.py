"""The words of a verdict, what else is known of the host, and how words are put together over hosts and time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES, huge_pages_of
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.counters.monotonic import Floats

Word = Literal[
    "fits",
    "spill",
    "healthy",
    "harmless_demotion",
    "futile_ping_pong",
    "limiter_bound",
    "promotion_failing",
    "following_phases",
    "swap_pressure",
    "limit_reclaim",
    "stalled",
    "one_tier",
    "slow_tier_full",
    "not_known",
]
Confidence = Literal["certain", "likely", "possible"]


@dataclass(frozen=True, slots=True)
class Sign:
    """A number that spoke for or against: its name, value and unit."""

    name: str
    value: float
    unit: str


def known_signs(*signs: tuple[str, float | None, str]) -> tuple[Sign, ...]:
    """Those of the signs whose value is known."""
    return tuple(Sign(name, value, unit) for name, value, unit in signs if value is not None)


def pages_text(count: float) -> str:
    """A number of pages in words."""
    return f"{int(count):,}"


Source = Literal["memory_traffic", "sampled_loads"]

GOOD_SLOW_SHARE = 0.10
"""Slow accesses below this share are a good outcome [A]."""
_SOURCE_TEXT = {"memory_traffic": "of the bytes at memory", "sampled_loads": "of the sampled loads from memory"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The share of accesses that slow memory serves, 0 to 1, and what measured it."""

    slow_share: float
    source: Source

    @property
    def is_good(self) -> bool:
        """Whether few accesses are slow."""
        return self.slow_share < GOOD_SLOW_SHARE

    @property
    def text(self) -> str:
        """In words, with what it is a share of."""
        return f"slow memory serves {self.slow_share:.1%} {_SOURCE_TEXT[self.source]}"

    @property
    def sign(self) -> Sign:
        """As evidence."""
        return Sign(f"slow_share_of_{self.source}", self.slow_share, "ratio")


@dataclass(frozen=True, slots=True)
class Context:
    """What else is known of the host. None where it is not.

    `balancing` is kernel.numa_balancing, `demotion` whether demotion is enabled. `throughput` [n] goes with the
    ledger's rows, NaN where missing. `outcome`: what was measured of slow accesses elsewhere than in the ledger.
    `slow_file_share`: share of file cache in what is resident on slower tiers. `slow_bytes`: size of these tiers.
    `one_tier`: nodes without processors are in the tier of those with some. `has_slow_tier`: whether any node is in
    a slower tier. `promotion_nodes`: nodes that take promotions, each of which has the promotion limit for itself.
    `page_bytes`: of a base page, which all counts are in; a transparent huge page is `huge_pages` of them. `unsent`:
    why nobody sends tier moves, which the kernel may count all the same. `doubts`: files that it stands on and that had
    a problem, in words: no word is certain then.
    """

    dram_bytes: float | None = None
    promote_limit_mib_per_s: float | None = None
    limit_events: int | None = None
    balancing: int | None = None
    demotion: bool | None = None
    throughput: Floats | None = None
    outcome: Outcome | None = None
    slow_file_share: float | None = None
    slow_bytes: float | None = None
    one_tier: bool = False
    has_slow_tier: bool | None = None
    promotion_nodes: int = 1
    unsent: str | None = None
    page_bytes: int | None = MODEL_PAGE_BYTES
    huge_pages: int = huge_pages_of(MODEL_PAGE_BYTES)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word, why in one sentence, how sure that is; what decided, and what spoke for the runner-up."""

    word: Word
    explanation: str
    confidence: Confidence
    evidence: tuple[Sign, ...] = ()
    against: tuple[Sign, ...] = ()
    runner_up: Word | None = None


_GRAVITY: tuple[Word, ...] = (
    "slow_tier_full",
    "promotion_failing",
    "futile_ping_pong",
    "swap_pressure",
    "limiter_bound",
    "limit_reclaim",
    "stalled",
    "one_tier",
    "spill",
    "following_phases",
    "harmless_demotion",
    "healthy",
    "fits",
    "not_known",
)

VERDICT_SEVERITY: Final[Mapping[Word, Severity]] = {
    "slow_tier_full": "critical",
    "promotion_failing": "critical",
    "futile_ping_pong": "critical",
    "swap_pressure": "critical",
    "stalled": "critical",
    "limiter_bound": "warning",
    "limit_reclaim": "warning",
    "one_tier": "warning",
    "spill": "warning",
}
"""The verdicts that call for someone."""


def gravity(word: str) -> int:
    """The place of a word, gravest first; what is not known comes last."""
    return _GRAVITY.index(word) if word in _GRAVITY else len(_GRAVITY)


def gravest_verdict(words: Mapping[str, int]) -> str:
    """The gravest verdict of hosts, from how many have each."""
    return min((word for word, count in words.items() if count), key=gravity, default="not_known")
