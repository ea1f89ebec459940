"""What was measured of a window, in groups: a group is there when all its inputs were counted, else it is None.

Rules take groups, not single numbers, so that a number that nobody counted cannot be read as zero. `told.py` hands a
rule the groups of its signature, or leaves it undecided.
"""

from dataclasses import dataclass
from typing import ClassVar

HORIZON_SECONDS = 3600.0
"""Amounts are judged per hour of a longer window, and as they are in a shorter one."""
FEW_MOVES = 0.002
"""Moves below this share of resident memory in ten minutes are none [A]."""
FEW_MOVES_SECONDS = 600.0


class Group:
    """Numbers that are told together. `inputs`: columns of the ledger; `says`: what they say, to follow "not known"."""

    __slots__ = ()
    inputs: ClassVar[tuple[str, ...]]
    says: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Sizes(Group):
    """Resident pages on the top tier and on slower ones, medians of a window of `seconds`."""

    inputs: ClassVar = ("top_resident_bytes", "slow_resident_bytes")
    says: ClassVar = "how much memory is resident on each tier"

    top_pages: float
    slow_pages: float
    seconds: float

    @property
    def resident(self) -> float:
        """Pages on all tiers, at least one."""
        return max(self.top_pages + self.slow_pages, 1.0)

    @property
    def slow_share(self) -> float:
        """Share of resident memory on slower tiers."""
        return self.slow_pages / self.resident

    @property
    def few_pages(self) -> float:
        """Pages of a flow up to which it is none: of ten minutes at least."""
        return FEW_MOVES * self.resident * max(self.seconds / FEW_MOVES_SECONDS, 1.0)

    @property
    def horizon(self) -> float:
        """Factor that makes an amount of the window one of an hour, 1 for windows of up to an hour."""
        return min(1.0, HORIZON_SECONDS / self.seconds) if self.seconds > 0 else 1.0

    def of_resident(self, pages: float) -> float:
        """An amount as a share of resident memory, per hour where the window is longer."""
        return pages * self.horizon / self.resident

    def over_top(self, pages: float) -> float:
        """Pages over those of the top tier."""
        return pages / max(self.top_pages, 1.0)


@dataclass(frozen=True, slots=True)
class Moves(Group):
    """Pages that the kernel promoted and demoted by itself, and those that schemes of DAMON moved up and down.

    `paused`: share of time in which hardly a page went up.
    """

    inputs: ClassVar = ("promoted_pages", "demoted_pages")
    says: ClassVar = "how many pages move between tiers"

    promoted: float
    demoted: float
    paused: float
    damon_up: float = 0.0
    damon_down: float = 0.0

    @property
    def up(self) -> float:
        """Pages that came to the top tier, whoever moved them."""
        return self.promoted + self.damon_up

    @property
    def down(self) -> float:
        """Pages that went to slower tiers, whoever moved them."""
        return self.demoted + self.damon_down

    @property
    def churn(self) -> float:
        """The lesser of both: no more can have gone round."""
        return min(self.up, self.down)

    def turnover(self, sizes: Sizes) -> float:
        """How often the top tier was exchanged."""
        return sizes.over_top(self.churn * sizes.horizon)


@dataclass(frozen=True, slots=True)
class Candidates(Group):
    """Pages that were hot enough to promote, before anything refused them."""

    inputs: ClassVar = ("promotion_candidates_pages",)
    says: ClassVar = "how many pages are hot enough to promote"

    pages: float


@dataclass(frozen=True, slots=True)
class Looked(Group):
    """What the NUMA scanner looked at and found, in pages; shares as fractions, None where it found too little.

    `armed_ever`: it worked in the window, before memory stood still too. `hot_share`: of the slow pages that were
    touched, those touched soon after the scanner armed them; `hot_share_late`: the same in the second half;
    `hot_share_spread`: how far its parts lie apart, over their median; `hot_share_balance`: how much more it falls
    than rises, -1..1. `huge`: huge pages are among the candidates. `paused`: share of time without scanning.
    """

    inputs: ClassVar = ("promotion_candidates_pages", "hint_faults", "pte_updates")
    says: ClassVar = "what the kernel's scanner looked at and found hot"

    candidates: float
    hint_faults: float
    armed: float
    armed_ever: bool
    hot_share: float | None
    hot_share_late: float | None
    hot_share_spread: float | None
    hot_share_balance: float | None
    huge: bool
    paused: float

    def passes(self, sizes: Sizes) -> float | None:
        """How often the scanner went over the slow tier; None where nothing is there."""
        return self.armed / sizes.slow_pages if sizes.slow_pages else None

    def outside(self, sizes: Sizes) -> float | None:
        """Hot pages on slower tiers over the pages of the top tier."""
        return None if self.hot_share is None else sizes.over_top(self.hot_share * sizes.slow_pages)

    def outside_late(self, sizes: Sizes) -> float | None:
        """The same by the second half of the window."""
        return None if self.hot_share_late is None else sizes.over_top(self.hot_share_late * sizes.slow_pages)


@dataclass(frozen=True, slots=True)
class Swap(Group):
    """Pages that went to swap and came back."""

    inputs: ClassVar = ("swap_in_pages", "swap_out_pages")
    says: ClassVar = "whether pages go to swap and come back"

    came_back: float
    went_out: float


@dataclass(frozen=True, slots=True)
class Reclaim(Group):
    """Reclaimed pages, demotions among them, and at least and at most how many of them for limits of cgroups."""

    inputs: ClassVar = ("reclaimed_pages", "demoted_pages")
    says: ClassVar = "how much is reclaimed for limits of cgroups"

    reclaimed: float
    for_limits_least: float
    for_limits_most: float


GROUPS: tuple[type[Group], ...] = (Sizes, Moves, Candidates, Looked, Swap, Reclaim)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Over the steady part of a window. Groups, and single numbers that only refine: None where not counted.

    `failed` migrations and `spilled` allocations; `effort`: pages that reclaim looked at or passed over for each that
    was demoted. `absent`: columns of the ledger without a value.

    `damon_promotes`: a scheme of DAMON moves hot pages to the top tier; it is looked for by its statistics.
    """

    intervals: int
    absent: frozenset[str]
    sizes: Sizes | None
    moves: Moves | None
    candidates: Candidates | None
    looked: Looked | None
    swap: Swap | None
    reclaim: Reclaim | None
    residency_swing: float | None
    failed: float | None
    spilled: float | None
    refaulted_anon: float | None
    refaulted_file: float | None
    effort: float | None
    damon_promotes: bool

    def group(self, kind: type[Group]) -> Group | None:
        """A group by its type."""
        found: tuple[Group | None, ...] = (
            self.sizes,
            self.moves,
            self.candidates,
            self.looked,
            self.swap,
            self.reclaim,
        )
        return found[GROUPS.index(kind)]
