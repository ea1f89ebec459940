"""Advice as files and commands for people and their own automation.

Built from known paths and checked values alone: no text that came from a host reaches a file. A setting under
/proc/sys becomes a sysctl, one under /sys/kernel/mm a tmpfiles line, and one in debugfs a systemd unit, because debugfs
is not there when tmpfiles runs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.domain.knobs import facts
from tierscope.domain.knobs.shapes import Advice, Change

KNOWN = (
    re.escape(facts.NUMA_BALANCING),
    re.escape(facts.DEMOTION),
    re.escape(facts.WATERMARK_SCALE),
    re.escape(facts.DEMOTE_SCALE),
    re.escape(facts.RATE_LIMIT),
    re.escape(facts.HOT_THRESHOLD),
    re.escape(facts.SCAN_PERIOD_MIN),
    re.escape(facts.SCAN_PERIOD_MAX),
    re.escape(facts.SCAN_SIZE),
    re.escape(facts.SWAPPINESS),
    re.escape(facts.ZONE_RECLAIM),
    re.escape(facts.INTERLEAVE) + r"/node[0-9]{1,4}",
)
PATH = re.compile("|".join(f"(?:{known})" for known in KNOWN))
VALUE = re.compile(r"[0-9]{1,10}|true|false|on|off|[YNyn]")
SYSCTL_ROOT = "/proc/sys/"
DEBUG_ROOT = "/sys/kernel/debug/"


@dataclass(frozen=True, slots=True)
class Files:
    """Text of each form; None where a form does not apply. `rollback_commands` write back what was read."""

    sysctl: str | None
    tmpfiles: str | None
    systemd: str | None
    ansible: str
    commands: str
    rollback_commands: str


def render_files(advice: Sequence[Advice]) -> Files:
    """Write the changes of some advice in each form.

    Raises:
        ValueError: a path or value is not one that rules propose, or the value that was read cannot be written back.
    """
    changes = [change for piece in advice for change in piece.changes]
    for change in changes:
        check_change(change)
    sysctls = [change for change in changes if change.path.startswith(SYSCTL_ROOT)]
    debug = [change for change in changes if change.path.startswith(DEBUG_ROOT)]
    others = [change for change in changes if change not in sysctls and change not in debug]
    return Files(
        sysctl="".join(f"{sysctl_name(change.path)} = {change.proposed}\n" for change in sysctls) or None,
        tmpfiles="".join(f"w {change.path} - - - - {change.proposed}\n" for change in others) or None,
        systemd=_unit(debug) if debug else None,
        ansible=_ansible(sysctls, [*others, *debug]),
        commands="".join(f"echo {change.proposed} > {change.path}\n" for change in changes),
        rollback_commands="".join(f"echo {change.current} > {change.path}\n" for change in reversed(changes)),
    )


def rollback_of(advice: Advice) -> Advice:
    """The same with current and proposed values exchanged: what takes the change back."""
    back = tuple(Change(change.path, change.proposed, change.current) for change in advice.changes)
    return Advice(
        rule=advice.rule,
        title=f"Take back: {advice.title}",
        changes=back,
        evidence=(),
        effect="The settings are as they were.",
        risk=advice.risk,
        verify=advice.verify,
    )


def check_change(change: Change) -> None:
    """Refuse what must not reach a file.

    Raises:
        ValueError: a path or value is not one that rules propose, or the value that was read cannot be written back.
    """
    if PATH.fullmatch(change.path) is None or VALUE.fullmatch(change.proposed) is None:
        raise ValueError(f"no rule proposes {change.proposed!r} for {change.path!r}")
    if VALUE.fullmatch(change.current) is None:
        raise ValueError(f"{change.path} cannot be written back as {change.current!r}")


def sysctl_name(path: str) -> str:
    """A setting as `sysctl` names it; the path itself of one that is no sysctl."""
    if not path.startswith(SYSCTL_ROOT):
        return path
    return path.removeprefix(SYSCTL_ROOT).replace("/", ".")


def _unit(changes: Sequence[Change]) -> str:
    writes = "".join(f"ExecStart=/bin/sh -c 'echo {change.proposed} > {change.path}'\n" for change in changes)
    return (
        "[Unit]\nDescription=Memory tiering settings in debugfs\nAfter=sys-kernel-debug.mount\n"
        "Requires=sys-kernel-debug.mount\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        f"{writes}\n[Install]\nWantedBy=multi-user.target\n"
    )


def _ansible(sysctls: Sequence[Change], others: Sequence[Change]) -> str:
    tasks = "".join(
        f"- name: Set {sysctl_name(change.path)}\n  ansible.posix.sysctl:\n    name: {sysctl_name(change.path)}\n"
        f'    value: "{change.proposed}"\n    sysctl_set: true\n'
        for change in sysctls
    )
    return tasks + "".join(
        f"- name: Set {change.path}\n  ansible.builtin.shell: echo {change.proposed} > {change.path}\n"
        for change in others
    )
