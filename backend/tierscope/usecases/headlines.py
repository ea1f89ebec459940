"""One sentence at the top of each page: the answer, in words that people can act on."""

from datetime import datetime

from tierscope.usecases.host_summaries import Summarised

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


_STEP = 1024
_HUNDREDS, _TENS = 100, 10
_MINUTES_UP_TO, _HOURS_UP_TO = 120, 48 * 60


def in_bytes(value: float) -> str:
    """Bytes with three digits: 14.2 TiB."""
    place = 0
    while abs(value) >= _STEP and place < len(_UNITS) - 1:
        value /= _STEP
        place += 1
    digits = 0 if place == 0 or abs(value) >= _HUNDREDS else 1 if abs(value) >= _TENS else 2
    return f"{value:.{digits}f} {_UNITS[place]}"


def in_percent(ratio: float) -> str:
    """A share, with two digits where it is small: 47 %, 0.71 %."""
    percent = ratio * 100
    if percent == 0 or percent >= _TENS:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2f} %"


def counted(count: int, noun: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def describe_host(host: Summarised, *, now: datetime) -> str:
    """What a host's memory does, or why that is not known."""
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
    pressure = "" if psi is None else f" Memory pressure is {in_percent(psi)}."
    if host.facts.tiering_off and host.verdict.word in ("fits", "spill", "healthy", "not_enough_data"):
        off = "demotion is off" if host.facts.demotion is False else "NUMA balancing does not tier"
        return f"{before}{counted(host.facts.n_tiers, 'memory tier')}, and {off}: {host.verdict.explanation}{pressure}"
    grave = [finding for finding in summary.findings if finding.severity == "critical"]
    problem = f" Critical: {grave[0].cause}" if grave else ""
    return f"{before}{host.verdict.explanation}{pressure}{problem}"


def _minutes(minutes: float) -> str:
    if minutes < _MINUTES_UP_TO:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < _HOURS_UP_TO else f"{minutes / 1440:.0f} days"
