"""What the kernel does with a service's memory: a word for each service, host and ten minutes."""

from collections.abc import Iterator
from typing import Any

from truth.fleets import JudgedFleet
from truth.scoring import Goal, Observed

WORDS = {
    word: word
    for word in (
        "fits",
        "spill",
        "healthy",
        "harmless_demotion",
        "futile_ping_pong",
        "limiter_bound",
        "promotion_failing",
        "following_phases",
        "swap_pressure",
        "stalled",
    )
} | {"one_tier": "spill", "slow_tier_full": "promotion_failing", "limit_reclaim": "limit_reclaim"}
"""The product's verdicts in the twin's words, which are fewer. It has no limits of cgroups."""
STATES = tuple(word for word in dict.fromkeys(WORDS.values()) if word != "limit_reclaim")
NOT_KNOWN = "not_known"
FINE = ("fits", "healthy", "harmless_demotion")
"""Verdicts that say that nothing is wrong."""
MANY_SLOW, FEW_SLOW = 0.30, 0.10
FOLLOWS = "following_phases"
"""Fine as long as few accesses are slow."""
OUTCOME = "state: right on whether anything is wrong"
ACCURACY = "state by service, host and 10 min: right, of those that are told"
UNKNOWN = "state: not known"
NEVER = "state: called fits, healthy or harmless with 30 % slow accesses"
RECALL = "state: recall of {state}"
GOALS = (
    Goal(ACCURACY, "share", 0.90),
    *(Goal(RECALL.format(state=word), "share", 0.80) for word in STATES),
    Goal(OUTCOME, "share"),
    Goal(UNKNOWN, "share", 0.10, at_most=True),
    Goal(NEVER, "share", 0.0, at_most=True),
)


def observe(fleet: JudgedFleet) -> Observed:
    """Each window of each service: its verdict on a host against the twin's state of it there."""
    seen: Observed = {goal.row: [] for goal in GOALS}
    for host in fleet.answers["hosts"]:
        for row, word in _told(fleet, host):
            is_known = word != NOT_KNOWN
            right = float(WORDS.get(word) == row["state"])
            seen[UNKNOWN].append(float(not is_known))
            if is_known:
                seen[ACCURACY].append(right)
                is_fine = row["state"] in FINE or (
                    row["state"] == FOLLOWS and (row["slow_access_share"] or 0.0) < FEW_SLOW
                )
                seen[OUTCOME].append(float((word in (*FINE, FOLLOWS)) == is_fine))
            seen[RECALL.format(state=row["state"])].append(right)
            if (row["slow_access_share"] or 0.0) >= MANY_SLOW:
                seen[NEVER].append(float(word in FINE))
    return seen


def _told(fleet: JudgedFleet, host: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Windows of the truth with the word of the answer. Answers of earlier products have one for the whole host."""
    answers = fleet.answers["hosts"][host]["states"]
    told = {round(answer["end_s"]): answer for answer in answers}
    for row in fleet.windows(host):
        answer = told.get(round(row["end_unix_s"]))
        if answer is not None:
            yield row, answer.get("services", {}).get(row["service"], answer["verdict"])


def confusion(fleets: list[JudgedFleet]) -> dict[tuple[str, str], int]:
    """How often each state of the twin (first) was given each word (second)."""
    counts: dict[tuple[str, str], int] = {}
    for fleet in fleets:
        for host in fleet.answers["hosts"]:
            for row, word in _told(fleet, host):
                counts[row["state"], word] = counts.get((row["state"], word), 0) + 1
    return counts
