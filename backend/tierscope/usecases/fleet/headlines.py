"""One sentence at the top of each page: the answer, in words that people can act on."""

from dataclasses import dataclass
from datetime import datetime

from tierscope.domain.base.figures import Figure, Interval
from tierscope.domain.base.words import bytes_text, counted, percent_text
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.usecases.fleet.agent_plans import PauseInfo
from tierscope.usecases.fleet.host_summaries import Summarised
from tierscope.usecases.fleet.service_summaries import SummarisedService
from tierscope.usecases.heat.services import HeatFigures

_MINUTES_UP_TO, _HOURS_UP_TO = 120, 48 * 60


def describe_host(host: Summarised, *, now: datetime, pause: PauseInfo | None = None) -> str:
    """What a host's memory does, or why that is not known; a host that was told to pause says so first."""
    described = _describe_host(host, now)
    if pause is None or not pause.heat_paused:
        return described
    what = "The agent is paused" if pause.paused else "Heat is paused"
    where = "on every host" if pause.everywhere else "here"
    since = "" if pause.since is None else f" since {_minutes((now - pause.since).total_seconds() / 60)} ago"
    return f"{what} {where}, by {pause.actor},{since}. Before that: {described}"


def _describe_host(host: Summarised, now: datetime) -> str:
    summary = host.summary
    if summary.state == "retired":
        return "The host is retired: it has been silent for a month. Its history stays."
    if summary.last_seen is None:
        return "The host is enrolled and has sent nothing yet."
    silence = (now - summary.last_seen).total_seconds() / 60
    before = ""
    if summary.state == "silent" and summary.origin != "import":
        before = f"Silent for {_minutes(silence)}; before that: "
    psi = summary.psi_memory_some_ratio.value
    pressure = "" if psi is None else f" Memory pressure is {percent_text(psi)}."
    if host.facts.tiering_off and host.verdict.word in ("fits", "spill", "healthy", "not_known"):
        off = "demotion is off" if host.facts.machine.demotion is False else "NUMA balancing does not tier"
        return f"{before}{counted(host.facts.n_tiers, 'memory tier')}, and {off}: {host.verdict.explanation}{pressure}"
    grave = [finding for finding in summary.findings if finding.severity == "critical"]
    problem = f" Critical: {grave[0].cause}" if grave else ""
    return f"{before}{host.verdict.explanation}{pressure}{problem}"


def describe_service(service: SummarisedService) -> str:
    """How much of a service is cold and where hot memory lies, or why that is not known."""
    summary, heat = service.summary, service.heat
    cold, resident = summary.cold_ratio.value, summary.resident_bytes.value
    if cold is None or resident is None:
        if summary.cold_ratio.status == "not_enough_data" and resident is not None:
            return f"{_not_told(summary.cold_ratio)} On {counted(summary.n_hosts_with_heat, 'host')} with heat."
        where = f" It runs on {counted(summary.n_hosts, 'host')}." if summary.n_hosts else ""
        reason = (service.heat_reason or "no heat in the window").rstrip(".")
        return f"No heat classes: {reason}.{where}"
    first = _told(cold, summary.cold_ratio.interval, resident)
    misplaced = heat.hot_outside_dram_bytes.value
    second = "" if not misplaced else f"; {bytes_text(misplaced)} of hot memory lies outside DRAM"
    return f"{first}{second}, on {counted(summary.n_hosts_with_heat, 'host')} with heat."


@dataclass(frozen=True, slots=True)
class FleetNumbers:
    """What the fleet's sentence is made of; `in_need` are hosts with any cause of attention, `critical` the worst."""

    heat: HeatFigures
    hosts: int
    silent: int
    late: int
    tiering_off: int
    in_need: int
    critical: int
    away: HostsAway


def describe_fleet(numbers: FleetNumbers, resident: Figure) -> str:
    """How much memory is cold, where hot memory lies, and how many hosts need someone."""
    away = numbers.away.tell()
    if numbers.hosts == 0 and away is not None:
        return f"No host is on a node that answers; {away}."
    if numbers.hosts == 0:
        return "No host has been enrolled yet: make a join token with `tierscope token join`."
    parts = []
    cold, misplaced = numbers.heat.cold_ratio.value, numbers.heat.hot_outside_dram_bytes.value
    if cold is None and resident.value:
        parts.append(_not_told(numbers.heat.cold_ratio).removesuffix("."))
    elif cold is None or resident.value is None:
        parts.append(f"No heat classes yet for {counted(numbers.hosts, 'host')}")
    else:
        parts.append(_told(cold, numbers.heat.cold_ratio.interval, resident.value))
    if misplaced:
        parts.append(f"{bytes_text(misplaced)} of hot memory lies outside DRAM")
    troubles = []
    if numbers.in_need:
        of_them = f" ({numbers.critical} critical)" if numbers.critical else ""
        need = "needs" if numbers.in_need == 1 else "need"
        troubles.append(f"{numbers.in_need} of {counted(numbers.hosts, 'host')} {need} attention{of_them}")
    if numbers.tiering_off:
        troubles.append(f"tiering is disabled on {counted(numbers.tiering_off, 'host')} with slower tiers")
    if numbers.silent:
        troubles.append(f"{counted(numbers.silent, 'host')} {'is' if numbers.silent == 1 else 'are'} silent")
    elif numbers.late:
        troubles.append(f"{counted(numbers.late, 'host')} {'is' if numbers.late == 1 else 'are'} late")
    if away is not None:
        troubles.append(away)
    return "; ".join(parts) + (". " + _sentence(", ".join(troubles)) if troubles else "") + "."


def _told(cold: float, interval: Interval | None, resident_bytes: float) -> str:
    within = ""
    if interval is not None and percent_text(interval.lo) != percent_text(interval.hi):
        within = f"{percent_text(interval.lo)} to {percent_text(interval.hi)}, "
    return f"{percent_text(cold)} of sampled memory is cold ({within}{bytes_text(resident_bytes)} sampled)"


def _not_told(cold: Figure) -> str:
    """A sentence of why nobody knows yet how much memory is cold, though its heat is measured."""
    return f"How much memory is cold is not known yet. {cold.reason}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _minutes(minutes: float) -> str:
    if minutes < _MINUTES_UP_TO:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < _HOURS_UP_TO else f"{minutes / 1440:.0f} days"
