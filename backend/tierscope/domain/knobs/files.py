"""Advice as files and commands for people and their own automation.

Built from known paths and checked values alone: no text that came from a host reaches a file. A setting under
/proc/sys becomes a sysctl, one under /sys/kernel/mm a tmpfiles line, and one in debugfs a systemd unit, because debugfs
is not there when tmpfiles runs. Settings of single nodes are written again by udev when memory comes online.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.domain._generated.advice import KEEP_SYSCTL, KEEP_SYSTEMD, KEEP_TMPFILES, KEEP_UDEV
from tierscope.domain.knobs import facts
from tierscope.domain.knobs.shapes import Advice, Change

SET_ORDER = (
    facts.DEMOTION,
    facts.WATERMARK_SCALE,
    facts.RATE_LIMIT,
    facts.NUMA_BALANCING,
    facts.DEMOTE_SCALE,
    facts.HOT_THRESHOLD,
    facts.SCAN_PERIOD_MIN,
    facts.SCAN_SIZE,
    facts.SCAN_PERIOD_MAX,
    facts.SWAPPINESS,
    *facts.INTERLEAVE_AUTO,
    facts.INTERLEAVE,
    facts.ZONE_RECLAIM,
)
"""Settings as a host gets them one after the other: room before what needs it, a limit before what it limits."""
PATH = re.compile("|".join(re.escape(path) + r"(/node[0-9]{1,4})" * (path == facts.INTERLEAVE) for path in SET_ORDER))
VALUE = re.compile(r"[0-9]{1,10}|true|false|on|off|[YNyn]")
SYSCTL_ROOT = "/proc/sys/"
DEBUG_ROOT = "/sys/kernel/debug/"
LATE_MEMORY = (
    "# Memory of a node may come online after tmpfiles.d was written: its settings are written then.\n"
    'ACTION=="online", SUBSYSTEM=="memory", '
    'RUN+="/usr/bin/systemd-tmpfiles --create --prefix=/sys/kernel/mm/mempolicy"\n'
)
"""A memory block tells udev that it is online once the kernel has made the files of its node."""
_SYSCTL_PLACES = "/etc/sysctl.conf /etc/sysctl.d /run/sysctl.d /usr/lib/sysctl.d /etc/tuned /usr/lib/tuned /etc/saptune"
"""Where sysctls are set at boot, and where the profiles of tuned and saptune set them later."""


@dataclass(frozen=True, slots=True)
class Files:
    """Text of each form; None where a form does not apply. `rollback_commands` write back what was read, last first.

    `forget_commands` remove the files that would set the values again at boot, where they were installed.
    `check_commands` print what is in force, and for sysctls each file that sets them. `destinations` pairs a form with
    the file in which it keeps the settings over a reboot.
    """

    sysctl: str | None
    tmpfiles: str | None
    systemd: str | None
    ansible: str
    commands: str
    rollback_commands: str
    udev: str | None = None
    check_commands: str = ""
    forget_commands: str = ""
    destinations: tuple[tuple[str, str], ...] = ()


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
    name = "-".join(rule.lower() for piece in advice for rule in piece.charters)
    texts = {
        "sysctl": "".join(f"{sysctl_name(change.path)} = {change.proposed}\n" for change in sysctls) or None,
        "tmpfiles": "".join(f"w {change.path} - - - - {change.proposed}\n" for change in others if is_kept(change))
        or None,
        "udev": LATE_MEMORY if any(is_of_node(change.path) for change in others) else None,
        "systemd": _unit(debug) if debug else None,
    }
    destinations = tuple((form, destination(form, name)) for form, text in texts.items() if text is not None)
    return Files(
        **texts,
        ansible=_ansible(changes, texts, dict(destinations)),
        commands="".join(f"echo {change.proposed} > {change.path}\n" for change in changes),
        rollback_commands="".join(f"echo {change.current} > {change.path}\n" for change in reversed(changes)),
        check_commands=_checks(changes),
        forget_commands=_forget(dict(destinations)),
        destinations=destinations,
    )


def rollback_of(advice: Advice) -> Advice:
    """The same with current and proposed values exchanged, the last first: what takes the change back."""
    back = tuple(Change(change.path, change.proposed, change.current) for change in reversed(advice.changes))
    return Advice(
        rule=advice.rule,
        title=f"Revert: {advice.title}",
        changes=back,
        evidence=(),
        effect="The settings are as they were.",
        risk=advice.risk,
        verify=advice.verify,
        rules=advice.rules,
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


def destination(form: str, name: str) -> str:
    """The file that keeps a setting over a reboot, in a form."""
    patterns = {"sysctl": KEEP_SYSCTL, "tmpfiles": KEEP_TMPFILES, "udev": KEEP_UDEV, "systemd": KEEP_SYSTEMD}
    return patterns[form].replace("{name}", name)


def is_of_node(path: str) -> bool:
    """Whether a setting is one of a single node, whose file exists once the node has memory."""
    return path.startswith(f"{facts.INTERLEAVE}/")


def is_kept(change: Change) -> bool:
    """Whether a file writes it at boot. Weights that are written switch the kernel's own ones off by themselves.

    Before the memory of a node is online those are of fewer nodes, and switching them off then would keep them.
    """
    return change.path not in facts.INTERLEAVE_AUTO or facts.is_same_value(change.proposed, "true")


def order_of(path: str) -> tuple[int, str]:
    """Place of a setting among all that are set on a host. Values are given back in the reverse order."""
    named = facts.INTERLEAVE if is_of_node(path) and path not in facts.INTERLEAVE_AUTO else path
    return SET_ORDER.index(named) if named in SET_ORDER else len(SET_ORDER), path


def _checks(changes: Sequence[Change]) -> str:
    lines = [f"grep -H . {change.path}\n" for change in changes]
    lines += [
        f"grep -rsn '^[ -]*{sysctl_name(change.path)}' {_SYSCTL_PLACES}\n"
        for change in changes
        if change.path.startswith(SYSCTL_ROOT)
    ]
    return "".join(lines)


def _forget(destinations: dict[str, str]) -> str:
    """The rule of udev stays: it is one for all settings of nodes, and does nothing without their files."""
    unit = destinations.get("systemd")
    off = "" if unit is None else f"systemctl disable {unit.rpartition('/')[2]}\n"
    return off + "".join(f"rm -f {path}\n" for form, path in destinations.items() if form != "udev")


def _unit(changes: Sequence[Change]) -> str:
    writes = "".join(f"ExecStart=/bin/sh -c 'echo {change.proposed} > {change.path}'\n" for change in changes)
    return (
        "[Unit]\nDescription=Memory tiering settings in debugfs\nAfter=sys-kernel-debug.mount\n"
        "Requires=sys-kernel-debug.mount\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        f"{writes}\n[Install]\nWantedBy=multi-user.target\n"
    )


def set_tasks(changes: Sequence[Change], sysctl_file: str | None) -> str:
    """Ansible tasks that set the values now, in their order; sysctls are kept in their file as well."""
    return "".join(
        f"- name: Set {sysctl_name(change.path)}\n  ansible.posix.sysctl:\n    name: {sysctl_name(change.path)}\n"
        f'    value: "{change.proposed}"\n    sysctl_set: true\n    sysctl_file: {sysctl_file}\n'
        if change.path.startswith(SYSCTL_ROOT)
        else f"- name: Set {change.path}\n  ansible.builtin.shell: echo {change.proposed} > {change.path}\n"
        for change in changes
    )


def _ansible(changes: Sequence[Change], texts: dict[str, str | None], destinations: dict[str, str]) -> str:
    """Tasks that set all values and keep them over a reboot."""
    tasks = set_tasks(changes, destinations.get("sysctl"))
    for form in ("tmpfiles", "udev", "systemd"):
        text = texts[form]
        if text is not None:
            body = "".join(f"      {line}\n" if line else "\n" for line in text.splitlines())
            tasks += (
                f"- name: Keep {destinations[form]}\n  ansible.builtin.copy:\n    dest: {destinations[form]}\n"
                f'    mode: "0644"\n    content: |\n{body}'
            )
    if texts["systemd"] is not None:
        unit = destinations["systemd"].rpartition("/")[2]
        tasks += (
            f"- name: Enable {unit}\n  ansible.builtin.systemd:\n    name: {unit}\n    enabled: true\n"
            "    daemon_reload: true\n"
        )
    return tasks
