"""Changes of many hosts as one set of files: drop-ins, an Ansible inventory and playbooks, and what takes all back.

The text of each setting is that of a single host's files (`files.py`). No name of a host reaches a file unchecked: one
that is no plain host name stands in the inventory by its id.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import yaml

from tierscope.domain.knobs.facts import DEMOTION, is_same_value
from tierscope.domain.knobs.files import (
    DEBUG_ROOT,
    LATE_MEMORY,
    SYSCTL_ROOT,
    destination,
    is_of_node,
    order_of,
    render_files,
    rollback_of,
    set_tasks,
    sysctl_name,
)
from tierscope.domain.knobs.shapes import Advice, Change

NOTHING_BY_ITSELF = "Tierscope changes nothing on hosts: you apply this file yourself, or your automation does."
_ROOTS = (SYSCTL_ROOT, DEBUG_ROOT, "/sys/kernel/mm/")
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_TAKEN = frozenset({"all", "ungrouped", "localhost"})
"""Names with a meaning of their own in Ansible."""
_LINE = 110
_LATE = "late/99-z-tierscope.rules"
"""The rule of udev for settings of nodes whose memory comes online late; it is the same for all hosts."""


@dataclass(frozen=True, slots=True)
class HostValue:
    """A host that gets a change, and the value that it has now: the one that takes the change back."""

    host_id: str
    name: str
    current: str


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One setting to one value, on many hosts. `verify` says in words what tells whether it helped."""

    title: str
    path: str
    proposed: str
    risk: str
    verify: str
    hosts: tuple[HostValue, ...]

    @property
    def id(self) -> str:
        """Its name in URLs, folders and inventories."""
        return change_id(self.path, self.proposed)


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file by its path within the bundle."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class _Form:
    """Where a drop-in goes on a host, and what puts it in force."""

    folder: str
    destination: str
    text: str

    @property
    def name(self) -> str:
        return self.destination.rpartition("/")[2]

    @property
    def activate(self) -> str:
        if self.folder == "sysctl.d":
            return f"sysctl -p {self.destination}"
        if self.folder == "tmpfiles.d":
            return f"systemd-tmpfiles --create {self.destination}"
        return f"systemctl daemon-reload && systemctl enable {self.name} && systemctl restart {self.name}"


def change_id(path: str, proposed: str) -> str:
    """A name of letters, digits and underscores: valid as a part of a URL, as a folder and as an Ansible group."""
    return f"{_slug(path)}_{_slug(proposed)}"


def verify_command(path: str, value: str) -> str:
    """The command that shows the setting, and what it prints once `value` is in force."""
    shown = value
    if path == DEMOTION:
        shown = "true" if is_same_value(value, "true") else "false"
    return f"cat {path}   # prints {shown}"


def render_bundle(planned: Sequence[PlannedChange], made_at: datetime) -> tuple[BundleFile, ...]:
    """All files of some changes. The files under `apply/` and `rollback/` are inverse to each other.

    Raises:
        ValueError: a path or value is not one that rules propose, or cannot be written back.
    """
    planned = sorted(planned, key=lambda change: order_of(change.path))
    names = _inventory_names(planned)
    inventory = {"all": {"children": {_group(change): _hosts_of(change, names) for change in planned}}}
    apply_plays = [_apply_play(change) for change in planned]
    back_plays = [_rollback_play(change, value) for change in reversed(planned) for value in _values(change)]
    run = "ansible-playbook -i inventory.yml"
    heads = {
        "inventory.yml": ["What: the hosts of the plan, grouped by change, and within it by the value they have now."],
        "apply.yml": [
            "What: sets " + "; ".join(_what(change) for change in planned) + ".",
            f"Run: {run} --check apply.yml, then {run} --limit CANARY_HOSTS apply.yml, then without --limit.",
            "Verify: the last task of each play reads the setting and fails where it is another.",
            f"Roll back: {run} rollback.yml",
        ],
        "rollback.yml": [
            "What: gives each host the value back that it had when the plan was made, before "
            + "; ".join(_what(change) for change in planned)
            + ".",
            f"Run: {run} rollback.yml",
            "Verify: the last task of each play reads the setting and fails where it is another.",
            f"Roll back: {run} apply.yml sets the advised values again.",
        ],
    }
    heads["inventory.yml"] += ["Verify: ansible-inventory -i inventory.yml --graph", *_renamed(planned, names)]
    heads["inventory.yml"] += ["Roll back: nothing is set by this file; rollback.yml takes the changes back."]
    documents = {"inventory.yml": inventory, "apply.yml": apply_plays, "rollback.yml": back_plays}
    ansible = [
        BundleFile(name, _comment(_head(made_at, heads[name])) + "---\n" + _yaml(body))
        for name, body in documents.items()
    ]
    drop_ins = [file for change in planned for file in _drop_ins(change, names, made_at)]
    late = [_late(made_at)] if any(is_of_node(change.path) for change in planned) else []
    readme = BundleFile("README.txt", _readme(planned, made_at))
    return (readme, *ansible, *drop_ins, *late)


def _slug(text: str) -> str:
    for root in _ROOTS:
        text = text.removeprefix(root)
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def _advice(change: PlannedChange, current: str) -> Advice:
    """The change as a piece of advice to one host, which is what files are made from."""
    return Advice(
        rule="plan",
        title=change.title,
        changes=(Change(change.path, current, change.proposed),),
        evidence=(),
        effect="",
        risk=change.risk,
        verify=change.verify,
    )


def _values(change: PlannedChange) -> list[str]:
    """The values that hosts have now, the most frequent first."""
    return [value for value, _ in Counter(host.current for host in change.hosts).most_common()]


def _group(change: PlannedChange) -> str:
    return f"tierscope_{change.id}"


def _hosts_of(change: PlannedChange, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "children": {
            f"{_group(change)}_from_{_slug(value)}": {
                "hosts": {names[host.host_id]: None for host in change.hosts if host.current == value}
            }
            for value in _values(change)
        }
    }


def _form(path: str, advice: Advice) -> _Form | None:
    """The drop-in that keeps a change over reboots; None where none is needed."""
    files, name = render_files([advice]), _slug(path)
    texts = (("sysctl", files.sysctl), ("tmpfiles", files.tmpfiles), ("systemd", files.systemd))
    for form, text in texts:
        if text is not None:
            folder = form if form == "systemd" else f"{form}.d"
            return _Form(folder, destination(form, name), text)
    return None


def _apply_folder(change: PlannedChange) -> str:
    return f"apply/{change.id}"


def _rollback_folder(change: PlannedChange, value: str) -> str:
    return f"rollback/{change.id}/from-{_slug(value)}"


def _apply_play(change: PlannedChange) -> dict[str, Any]:
    advice = _advice(change, _values(change)[0])
    return _play(_group(change), change.path, change.proposed, advice, _apply_folder(change))


def _rollback_play(change: PlannedChange, value: str) -> dict[str, Any]:
    back = rollback_of(_advice(change, value))
    return _play(f"{_group(change)}_from_{_slug(value)}", change.path, value, back, _rollback_folder(change, value))


def _play(group: str, path: str, value: str, advice: Advice, folder: str) -> dict[str, Any]:
    """Set the value now, keep it over reboots, and read it back."""
    form, back = _form(path, advice), folder.startswith("rollback/")
    tasks: list[dict[str, Any]] = yaml.safe_load(set_tasks(advice.changes, None if form is None else form.destination))
    if back and is_of_node(path):
        # The kernel computes the weights by itself again at boot, where it did before; a file would stop it.
        kept = {"path": destination("tmpfiles", _slug(path)), "state": "absent"}
        tasks.append({"name": f"Keep {path} no more", "ansible.builtin.file": kept})
    elif form is not None and form.folder != "sysctl.d":
        copied = {"src": f"{folder}/{form.folder}/{form.name}", "dest": form.destination, "mode": "0644"}
        tasks.append({"name": f"Keep {path} over reboots", "ansible.builtin.copy": copied})
    if form is not None and form.folder == "systemd":
        unit = {"name": form.name, "enabled": True, "daemon_reload": True}
        tasks.append({"name": f"Enable {form.name}", "ansible.builtin.systemd": unit, "when": "not ansible_check_mode"})
    if form is not None and is_of_node(path) and not back:
        late = {"src": _LATE, "dest": destination("udev", ""), "mode": "0644"}
        tasks.append({"name": f"Set {path} when memory comes online late", "ansible.builtin.copy": late})
    shown = sorted(word for word in {value, "true", "false"} if is_same_value(word, value))
    tasks.append(
        {
            "name": f"Verify {path}",
            "ansible.builtin.command": {"argv": ["cat", path]},
            "register": "tierscope_read",
            "changed_when": False,
            "failed_when": f"tierscope_read.stdout | trim not in {shown}",
            "when": "not ansible_check_mode",
        }
    )
    name = f"Set {sysctl_name(path)} to {value}"
    return {"name": name, "hosts": group, "become": True, "gather_facts": False, "tasks": tasks}


def _drop_ins(change: PlannedChange, names: Mapping[str, str], made_at: datetime) -> Iterator[BundleFile]:
    setting = sysctl_name(change.path)
    first = _form(change.path, _advice(change, _values(change)[0]))
    if first is not None:
        twins = f"rollback/{change.id}/from-VALUE/{first.folder}/{first.name}"
        yield _drop_in(
            _apply_folder(change),
            first,
            [
                f"What: sets {setting} to {change.proposed} on {_count(change.hosts)}. {change.title}.",
                f"Risk: {change.risk}",
                f"Install: copy to {first.destination}, then: {first.activate}",
                f"Verify: {verify_command(change.path, change.proposed)}",
                f"Helped when: {change.verify}",
                f"Roll back: copy {twins} over it, VALUE being what the host had, and run the command in its head.",
                *_named(change.hosts, names),
            ],
            made_at,
        )
    for value in _values(change):
        hosts = [host for host in change.hosts if host.current == value]
        form = _form(change.path, rollback_of(_advice(change, value)))
        if form is None:
            continue
        activate = form.activate
        if is_of_node(change.path):
            # A weight that is written at boot switches the kernel's own ones off: this one is written once.
            form, activate = replace(form, text=""), f"echo {value} > {change.path}"
        yield _drop_in(
            _rollback_folder(change, value),
            form,
            [
                f"What: takes back {setting} = {change.proposed}: sets {value} again on {_count(hosts)}.",
                f"Install: copy over {form.destination}, then: {activate}",
                f"Verify: {verify_command(change.path, value)}",
                f"Roll back: {_again(change, first)} sets the advised value again.",
                *_named(hosts, names),
            ],
            made_at,
        )


def _again(change: PlannedChange, first: _Form | None) -> str:
    """What applies a change anew."""
    if first is None:
        return f"echo {change.proposed} > {change.path}"
    return f"the file of the same name under {_apply_folder(change)}"


def _drop_in(folder: str, form: _Form, head: Sequence[str], made_at: datetime) -> BundleFile:
    return BundleFile(f"{folder}/{form.folder}/{form.name}", _comment(_head(made_at, head)) + form.text)


def _late(made_at: datetime) -> BundleFile:
    rule_file = destination("udev", "")
    lines = [
        "What: writes settings of nodes again when memory comes online, which may be after tmpfiles.d was read.",
        f"Install: copy to {rule_file}, then: udevadm control --reload",
        "Verify: the settings of nodes hold after a reboot, once all memory is online.",
        f"Roll back: delete {rule_file}",
    ]
    return BundleFile(_LATE, _comment(_head(made_at, lines)) + LATE_MEMORY)


def _head(made_at: datetime, lines: Sequence[str]) -> list[str]:
    return [f"Tierscope change plan of {made_at:%Y-%m-%d %H:%M} UTC.", NOTHING_BY_ITSELF, *lines]


def _readme(planned: Sequence[PlannedChange], made_at: datetime) -> str:
    per_host = Counter(host.host_id for change in planned for host in change.hosts)
    several = sum(count > 1 for count in per_host.values())
    lines = [
        *_head(made_at, []),
        "",
        f"{_plural(len(planned), 'change')} on {_plural(len(per_host), 'host')}:",
        *(f"  {_what(change)}. {change.title}" for change in planned),
        "",
        "Apply with Ansible (needs the collection ansible.posix):",
        "  ansible-playbook -i inventory.yml --check apply.yml",
        "  ansible-playbook -i inventory.yml --limit CANARY_HOSTS apply.yml",
        "Or copy the drop-ins under apply/ to the hosts: each file says where it goes and which command runs it.",
        "",
        "Verify:",
        *(f"  {verify_command(change.path, change.proposed)}" for change in planned),
        "",
        "Roll back:",
        "  ansible-playbook -i inventory.yml rollback.yml",
        "Or copy the twin under rollback/ over each drop-in; folders are named after the value that hosts had.",
        "Once rolled back, delete the files 99-z-tierscope* and tierscope-*.service.",
        "",
        "Changes stand in the order in which they are applied, and are taken back in the reverse order.",
        "Try one change set at a time, on canary hosts first, with control hosts beside them.",
    ]
    if several:
        lines.append(
            f"{_plural(several, 'host')} with more than one change here: what each change does cannot be told apart."
        )
    return "\n".join(_printable(line) for line in lines) + "\n"


def _what(change: PlannedChange) -> str:
    return f"{sysctl_name(change.path)} = {change.proposed} on {_count(change.hosts)}"


def _count(hosts: Sequence[HostValue]) -> str:
    return _plural(len(hosts), "host")


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _inventory_names(planned: Iterable[PlannedChange]) -> dict[str, str]:
    """What each host is called in the inventory: its name where it is plain and its own, else its id."""
    hosts = {host.host_id: host.name for change in planned for host in change.hosts}
    uses = Counter(hosts.values())
    return {
        host_id: name
        if _HOST_NAME.fullmatch(name)
        and uses[name] == 1
        and name.lower() not in _TAKEN
        and not name.startswith("tierscope_")
        else host_id
        for host_id, name in hosts.items()
    }


def _renamed(planned: Iterable[PlannedChange], names: Mapping[str, str]) -> list[str]:
    hosts = {host.host_id: host.name for change in planned for host in change.hosts}
    changed = [f"{host_id} is {hosts[host_id]!a}" for host_id, name in names.items() if name == host_id]
    if not changed:
        return []
    return ["Hosts whose name is not unique or no plain host name stand by their id; set ansible_host:", *changed]


def _named(hosts: Sequence[HostValue], names: Mapping[str, str]) -> list[str]:
    """The hosts in lines of readable length."""
    lines = ["Hosts:"]
    for host in hosts:
        if len(lines[-1]) + len(names[host.host_id]) > _LINE:
            lines.append(" ")
        lines[-1] += f" {names[host.host_id]}"
    return lines


def _printable(line: str) -> str:
    """One line of ASCII, whatever is in it."""
    return line.encode("unicode_escape").decode("ascii")


def _comment(lines: Iterable[str]) -> str:
    return "".join(f"# {_printable(line)}".rstrip() + "\n" for line in lines)


def _yaml(document: object) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False, width=_LINE, allow_unicode=False)
    return text
