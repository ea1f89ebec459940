"""Findings that the service itself makes while storing: clocks, limits, clones."""

from collections.abc import Iterable, Mapping

from tierscope.domain.ingest.batch import Finding
from tierscope.storage.ingest.boots import HostState
from tierscope.storage.ingest.facts import OwnFinding
from tierscope.storage.ingest.incoming import Incoming, StoreLimits
from tierscope.storage.ingest.rows import Tally

CLOCK = "clock-skew"
SERVICES = "service-limit"
LAYOUTS = "layout-limit"
CLONE = "cloned-host"


def findings_of(
    item: Incoming,
    tally: Tally,
    limits: StoreLimits,
    refused_layouts: Mapping[int, set[int]],
    refused_services: Mapping[int, set[int]],
) -> list[OwnFinding]:
    """Returns what one stored batch begins, refreshes or ends. Only a known clock ends the finding on clocks."""
    found = []
    skew_ns = item.clocks.skew_ns
    if skew_ns is not None:
        skewed = abs(skew_ns) > limits.arrival.skew_limit_ns
        if skewed or tally.corrected == 0:
            found.append(_clock(item.host.id, skew_ns, tally.corrected, holds=skewed))
    left_out = len(refused_services.get(item.host.id, ())) + item.services_left_out
    if left_out:
        cause = f"{left_out} services beyond the limit of {limits.services_per_host} are not stored"
        fix = "Give short-lived services a common name in the agent's service rules."
        found.append(_own(item.host.id, SERVICES, cause, fix))
    if refused_layouts.get(item.host.id):
        cause = f"more than {limits.layouts_per_host_day} counter layouts within a day; further ones are not stored"
        fix = "Exclude cgroups that come and go in the agent's configuration."
        found.append(_own(item.host.id, LAYOUTS, cause, fix))
    return found


def clone_findings(states: Iterable[HostState]) -> list[OwnFinding]:
    """Returns a finding for each host whose identity two machines turned out to share."""
    found = []
    for state in states:
        for kept, copy in state.cloned:
            cause = (
                f"two machines send with this identity: boot {kept.boot_id} is stored, boot {copy.boot_id} is refused"
            )
            fix = "Remove the agent's state directory on the copy and enrol it as a host of its own."
            found.append(_own(state.id, CLONE, cause, fix, severity="critical"))
    return found


def _clock(host_id: int, skew_ns: int, corrected: int, *, holds: bool) -> OwnFinding:
    side = "ahead of" if skew_ns > 0 else "behind"
    done = "times were rebuilt from its boot-time clock" if corrected else "times are as it sent them"
    cause = f"the host's clock is {abs(skew_ns) / 1e9:.0f} s {side} the service's; {done}"
    finding = Finding(
        id=CLOCK,
        severity="warning",
        cause=cause,
        fix="Synchronise the host's clock (chrony or systemd-timesyncd).",
        confidence="certain",
    )
    return OwnFinding(host_id, finding, holds)


def _own(host_id: int, finding_id: str, cause: str, fix: str, *, severity: str = "warning") -> OwnFinding:
    return OwnFinding(host_id, Finding(finding_id, severity, cause, fix, "certain"), holds=True)
