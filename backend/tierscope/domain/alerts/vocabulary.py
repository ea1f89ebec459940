"""What conditions can name: series that are stored each minute, and series derived from them.

A flow is an amount per interval: by itself it stands for its rate in the minute. A gauge is a state at the end of the
minute, a word one of a few named states. A derived series stands for a condition's part, written in this language.
Over the hosts of a fleet flows and bytes add up, shares are averaged, and of words the most severe counts.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from tierscope.domain.alerts.units import Unit, unit_of
from tierscope.domain.ledger import COLUMNS, Word

SeriesKind = Literal["flow", "gauge", "words", "derived", "age"]
ScopeKind = Literal["host", "service", "fleet"]
OverHosts = Literal["sum", "mean", "max"]

HOST: tuple[ScopeKind, ...] = ("host", "fleet")
ALL: tuple[ScopeKind, ...] = ("host", "service", "fleet")
PING_PONG_WORDS = ("ok", "warn", "crit")
BUDGET_WORDS = ("within", "backed_off", "stopped")
VERDICT_WORDS: tuple[str, ...] = get_args(Word)
AGE = "agent_report_age"
DAYS_EARLY, DAYS_MEDIAN = "days_to_exhaustion_early", "days_to_exhaustion"


@dataclass(frozen=True, slots=True)
class Series:
    """A series. `factor` makes stored values those of `unit`; `words` are the names of the values 0, 1, 2 ..."""

    key: str
    kind: SeriesKind
    unit: Unit
    meaning: str
    scopes: tuple[ScopeKind, ...] = ALL
    over_hosts: OverHosts = "sum"
    factor: float = 1.0
    words: tuple[str, ...] = ()
    expression: str = ""


def _ledger() -> tuple[Series, ...]:
    found = []
    for column in COLUMNS:
        unit, factor = (unit_of("seconds"), 1e-6) if column.unit == "us" else (unit_of(column.unit), 1.0)
        scopes = ALL if column.service is not None else HOST
        if column.key == "limit_events":
            scopes = ("service",)
        meaning = column.label + (" (state)" if column.gauge else " in the interval") + "."
        over: OverHosts = "mean" if column.unit == "us" else "sum"
        found.append(Series(column.key, "gauge" if column.gauge else "flow", unit, meaning, scopes, over, factor))
    return tuple(found)


def _flow(key: str, unit: str, meaning: str, scopes: tuple[ScopeKind, ...] = HOST) -> Series:
    return Series(key, "flow", unit_of(unit), meaning, scopes)


def _gauge(key: str, unit: str, meaning: str, over: OverHosts = "sum") -> Series:
    return Series(key, "gauge", unit_of(unit), meaning, HOST, over)


def _words(key: str, words: tuple[str, ...], meaning: str) -> Series:
    return Series(key, "words", unit_of("state"), meaning, HOST, "max", words=words)


def _derived(key: str, unit: str, meaning: str, expression: str, scopes: tuple[ScopeKind, ...] = ALL) -> Series:
    return Series(key, "derived", unit_of(unit), meaning, scopes, expression=expression)


STORED: tuple[Series, ...] = (
    *_ledger(),
    _flow("promoted_bytes", "bytes", "Promoted pages by the page size of their host.", ALL),
    _flow("demoted_bytes", "bytes", "Demoted pages by the page size of their host.", ALL),
    _flow("promotion_candidates_bytes", "bytes", "Promotion candidates by the page size of their host.", ALL),
    _gauge("top_capacity_bytes", "bytes", "Memory of the nodes of the top tier."),
    _gauge("top_free_bytes", "bytes", "Free memory on the nodes of the top tier."),
    _gauge("memory_total_bytes", "bytes", "Memory of the host."),
    _gauge("memory_available_bytes", "bytes", "What could be had without swapping, as the kernel estimates."),
    _gauge("swap_total_bytes", "bytes", "Size of swap; 0 without swap."),
    _gauge("swap_free_bytes", "bytes", "Swap that is not used."),
    _flow("allocated_pages", "pages", "Pages that the kernel allocated (pgalloc of all zones)."),
    _flow("slow_tier_samples", "samples", "Sampled loads that went to slower tiers."),
    _flow("placed_samples", "samples", "Sampled loads of which the tier is known."),
    _words("ping_pong_state", PING_PONG_WORDS, "State of ping-pong: on mainline by futile windows, on TPP measured."),
    _words(
        "verdict",
        VERDICT_WORDS,
        "The verdict on the newest ten minutes; on the newest hour where slow accesses are not measured.",
    ),
    _words("agent_budget", BUDGET_WORDS, "Whether the agent keeps within its budget."),
    _flow("agent_samples_taken", "samples", "Samples that the agent's hardware sampler took."),
    _flow("agent_samples_lost", "samples", "Samples that the kernel reported as lost."),
    _gauge("agent_spool_batches", "batches", "Batches that wait on the host to be sent."),
    Series(
        "fair_top_bytes",
        "gauge",
        unit_of("bytes"),
        "Its fair share of the top tier, by resident memory, of what the services of a host hold there together.",
        ("service",),
    ),
    Series(
        "below_fair_bytes",
        "gauge",
        unit_of("bytes"),
        "What it lacks of its fair share of the top tier; 0 where it holds that or more.",
        ("service",),
    ),
    _flow(
        "demoted_for_others_pages",
        "pages",
        "Its pages that were demoted while as many of other services of the host were promoted.",
        ("service",),
    ),
    _flow("demoted_for_others_bytes", "bytes", "The same by the page size of their host.", ("service",)),
    Series(
        DAYS_MEDIAN,
        "gauge",
        unit_of("seconds"),
        "Time until memory is exhausted by the forecast's median; infinite where it is not within the horizon.",
        ("service",),
        "max",
    ),
    Series(
        DAYS_EARLY,
        "gauge",
        unit_of("seconds"),
        "The same by the forecast's upper 95 % bound: the early warning.",
        ("service",),
        "max",
    ),
    Series(
        AGE,
        "age",
        unit_of("seconds"),
        "Time since the newest interval that arrived in time; counts up to one hour.",
        ("host",),
        "max",
    ),
)

DERIVED: tuple[Series, ...] = (
    _derived(
        "ping_pong_ratio",
        "ratio",
        "Share of promotions of pages that had been demoted before: of candidates, by marks of the kernel (TPP); else"
        " of followed pages within ten minutes, over half an hour, from 40 promotions on.",
        "first(candidates_demoted / promotion_candidates_pages, followed_ping_pong_ratio)",
        HOST,
    ),
    _derived(
        "followed_ping_pong_ratio",
        "ratio",
        "Share of promotions of followed pages that had been demoted within ten minutes, over half an hour, from 40"
        " promotions on.",
        # Divided by 1, or by 0 where there are fewer.
        "increase(followed_round_trips, 30m) / increase(followed_promotions, 30m)"
        " / max(min(increase(followed_promotions, 30m) - 39, 1), 0)",
    ),
    _derived(
        "churn_upper_bound",
        "pages/s",
        "The smaller of promotions and demotions: a page cannot have gone round without both.",
        "min(promoted_pages, demoted_pages)",
    ),
    _derived(
        "churn_upper_bound_bytes",
        "bytes/s",
        "The same in bytes, each page once.",
        "min(promoted_bytes, demoted_bytes)",
    ),
    _derived(
        "tier_move_bytes",
        "bytes/s",
        "Tier-move traffic: every page that moved once.",
        "promoted_bytes + demoted_bytes",
    ),
    _derived(
        "promotion_failure_ratio",
        "ratio",
        "Share of promotion candidates that were not promoted, over ten minutes.",
        "max(1 - increase(promoted_pages, 10m) / increase(promotion_candidates_pages, 10m), 0)",
        HOST,
    ),
    _derived(
        "allocation_spill_ratio",
        "ratio",
        "Allocations that another node than the wanted one served, per allocated page.",
        "allocation_spill / allocated_pages",
        HOST,
    ),
    _derived("psi_some_ratio", "ratio", "Share of time in which some task waited for memory.", "psi_some_us"),
    _derived("psi_full_ratio", "ratio", "Share of time in which all tasks waited for memory.", "psi_full_us"),
    _derived(
        "slow_access_ratio",
        "ratio",
        "Share of sampled memory accesses that went to slower tiers.",
        "slow_tier_samples / placed_samples",
        HOST,
    ),
    _derived("free_dram_ratio", "ratio", "Free share of the top tier.", "top_free_bytes / top_capacity_bytes", HOST),
    _derived("swap_used_ratio", "ratio", "Used share of swap.", "1 - swap_free_bytes / swap_total_bytes", HOST),
    _derived(
        "top_residency_ratio",
        "ratio",
        "Share of resident memory on the top tier.",
        "top_resident_bytes / (top_resident_bytes + slow_resident_bytes)",
    ),
    _derived(
        "below_fair_ratio",
        "ratio",
        "Part of its fair share of the top tier, by resident memory, that a service lacks.",
        "below_fair_bytes / fair_top_bytes",
        ("service",),
    ),
    _derived(
        "agent_samples_lost_ratio",
        "ratio",
        "Share of samples that were lost, over ten minutes.",
        "increase(agent_samples_lost, 10m) / (increase(agent_samples_lost, 10m) + increase(agent_samples_taken, 10m))",
        HOST,
    ),
)


@lru_cache(maxsize=1)
def all_series() -> dict[str, Series]:
    """Stored and derived series by key, without metrics of the catalogue."""
    return {series.key: series for series in (*STORED, *DERIVED)}
