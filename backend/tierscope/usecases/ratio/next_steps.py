"""What would firm an answer about a ratio up: the most telling first, with the command and the earliest day."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from tierscope.domain.ratio import Choice, RatioGrade, Seen, reached_at
from tierscope.domain.ratio.grade import COVERAGE_MIN, GAPS_MAX, HOSTS
from tierscope.usecases.curve.pages import NoCurve
from tierscope.usecases.ratio.answers import RatioStep, StepName
from tierscope.usecases.ratio.sentence import percent

AB_SHARES = (0.1, 0.3)
"""Shares of accesses on slow memory at which a test of the service tells most."""
AB_STANDARD_ERROR = 0.005
SETTINGS = "sudoedit /etc/tierscope/agent.toml && sudo systemctl restart tierscope-agent"
BENCH = "sudo tierscope-agent bench"


@dataclass(frozen=True, slots=True)
class Missing:
    """What an answer lacks: a replayed placement, the service's own loss, latencies, and a check of bandwidth.

    `replay_lacks`: what would have to be sampled before page samples can be replayed; None where they can.
    """

    replay: bool
    replay_lacks: str | None
    own_loss: bool
    measured_rho: bool
    bandwidth: bool


def step_out_of_refusal(service_id: str, nothing: NoCurve, *, recorded: bool) -> tuple[RatioStep, ...]:
    """The one step that turns a refusal into an answer."""
    if recorded:
        text = "Import a recording that tells pages apart: a page trace, or memory samples of perf."
        command = "tierscope-agent replay RECORDING --server URL --join-token-file FILE"
    elif nothing.status == "not_collected":
        text = (
            "Sample pages: list the service under `[heat]` in the agent's settings, with a back end that tells pages"
            " apart (`tierscope-agent explain` says which ones this host has). An answer comes with the first block."
        )
        command = SETTINGS
    else:
        text = (
            "More of the service's accesses have to be seen: wait for the next block of samples, or lower"
            " `period_events` under `[heat.sampling]`."
        )
        command = f"tierscope recommend --service {service_id}"
    return (RatioStep("page_samples", text, command, None, "early"),)


def firm_up(
    service_id: str, seen: Seen, grade: RatioGrade, choice: Choice, missing: Missing, *, now: datetime
) -> tuple[RatioStep, ...]:
    """Every step that narrows the answer or raises its grade."""
    steps = [
        (missing.replay, _replay(service_id, missing.replay_lacks, now)),
        (missing.own_loss, _ab_test(service_id, choice)),
        (
            missing.measured_rho,
            _step("bench", "Measure the latency of both tiers on a host that has slow memory.", BENCH),
        ),
        (
            missing.bandwidth,
            _step(
                "bandwidth",
                "Bandwidth is not checked: measure that of both tiers. The demand comes from resctrl or memory"
                " controller counters, where the host has them.",
                BENCH,
            ),
        ),
    ]
    return (*(step for applies, step in steps if applies), *_raise_grade(seen, grade, now))


def _replay(service_id: str, lacks: str | None, now: datetime) -> RatioStep:
    if lacks is not None:
        hour = (now + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0)
        text = f"Keep sampling, so that page samples can be replayed: {lacks} The next block ends with the hour."
        return RatioStep("replay", text, None, hour, None)
    text = "Replay the page samples under the policy of the hosts: bounds become one share. Workers do so, too."
    return _step("replay", text, f"tierscope recommend --service {service_id} --replay")


def _ab_test(service_id: str, choice: Choice) -> RatioStep:
    low, high = AB_SHARES
    best = min(choice.candidates, key=lambda candidate: abs(candidate.share.value - (low + high) / 2.0))
    text = (
        f"Measure the loss to a standard error of {percent(AB_STANDARD_ERROR)}: an A/B test with {percent(low)} to"
        f" {percent(high)} of accesses on slow memory tells most (at {best.name} it is about"
        f" {percent(best.share.value)}). Enter the result under your own measurements."
    )
    command = f"tierscope experiments plan --service {service_id} --metric throughput_per_s --effect 0.02"
    return _step("ab_test", text, command)


def _raise_grade(seen: Seen, grade: RatioGrade, now: datetime) -> list[RatioStep]:
    """What the next grades need: time, hosts, few gaps, coverage."""
    out = []
    if grade == "early":
        at = max(reached_at("provisional", seen), now)
        out.append(RatioStep("time", "Keep sampling for a whole day.", None, at, "provisional"))
    if grade == "established":
        return out
    at = max(reached_at("established", seen), now)
    if reached_at("established", seen) > now:
        out.append(RatioStep("time", "Keep sampling for a whole week.", None, at, "established"))
    if seen.n_hosts < HOSTS:
        more = HOSTS - seen.n_hosts
        text = f"Sample pages on {more} more {'host' if more == 1 else 'hosts'} of this kind: list the service there."
        out.append(RatioStep("hosts", text, SETTINGS, at, "established"))
    if seen.gaps_ratio > GAPS_MAX:
        text = (
            f"{percent(seen.gaps_ratio)} of the intervals are missing, at most {percent(GAPS_MAX)} may be:"
            " see why sampling pauses."
        )
        out.append(RatioStep("gaps", text, "tierscope-agent explain", at, "established"))
    if seen.coverage is not None and seen.coverage < COVERAGE_MIN:
        text = (
            f"Samples cover {percent(seen.coverage)} of the traffic, {percent(COVERAGE_MIN)} are wanted: lower"
            " `period_events` under `[heat.sampling]`."
        )
        out.append(RatioStep("coverage", text, SETTINGS, at, "established"))
    return out


def _step(what: StepName, text: str, command: str) -> RatioStep:
    return RatioStep(what, text, command, None, None)
