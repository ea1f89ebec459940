"""Workloads of papers that the demo's fleet has beside its own services: what `up --demo --workload` names."""

from collections.abc import Sequence
from pathlib import Path

from tierscope.cli.base.exits import BAD_USAGE, fail
from tierscope.cli.base.instance import Instance
from tierscope.cli.instance.kept import keep_words, kept_words

HOSTS_EACH = 3
"""Hosts that the twin adds for a workload."""


def check_workloads(names: Sequence[str]) -> tuple[str, ...]:
    """The workloads as the twin calls them, each once, in the order in which they were named.

    Ends the command where the twin has no such workload.
    """
    from tierscope.domain.simulate.presets import TWIN_WORKLOADS

    found = dict.fromkeys(name.strip().replace("_", "-").lower() for name in names)
    for name in found:
        if name.replace("-", "_") not in TWIN_WORKLOADS:
            known = ", ".join(one.replace("_", "-") for one in TWIN_WORKLOADS)
            fail(f"the demo has no workload {name[:80]!r}", next_step=f"use one of {known}", status=BAD_USAGE)
    return tuple(found)


def keep_workloads(instance: Instance, names: Sequence[str]) -> None:
    """Keep the workloads for this start of the demo and the ones after it.

    A fleet that is there keeps its hosts: ends the command where it has other workloads.

    Raises:
        OSError: they cannot be kept.
    """
    if (instance.places.agent_state / "fleet.json").exists() and list(names) != kept_workloads(instance):
        fail(
            "the demo's fleet is there already, with other workloads",
            next_step=f"`tierscope down --demo`, remove {instance.places.data}, then this again",
        )
    keep_words(_file(instance), names)


def kept_workloads(instance: Instance) -> list[str]:
    """The kept workloads."""
    return kept_words(_file(instance))


def _file(instance: Instance) -> Path:
    return instance.places.agent_state / "workloads.json"
