"""Whether settings take hold, stay over a reboot and with late memory, and go back with all that changed along."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from applied.served import Guest, booted, lend_program
from corpus.guest import Lab
from tierscope.domain.knobs import Advice, Change, Files, render_files
from tierscope.domain.knobs import facts as settings
from tierscope.domain.knobs.bundle import HostValue, PlannedChange, render_bundle
from tierscope.domain.knobs.facts import is_same_value
from tierscope.domain.knobs.files import order_of

PROPOSED = {
    settings.DEMOTION: "1",
    settings.NUMA_BALANCING: "2",
    settings.WATERMARK_SCALE: "120",
    settings.RATE_LIMIT: "48",
    settings.HOT_THRESHOLD: "500",
    settings.SCAN_PERIOD_MIN: "2000",
    settings.SCAN_PERIOD_MAX: "30000",
    settings.SCAN_SIZE: "128",
    settings.SWAPPINESS: "100",
    settings.ZONE_RECLAIM: "0",
    settings.INTERLEAVE_AUTO[0]: "false",
    f"{settings.INTERLEAVE}/node0": "4",
    f"{settings.INTERLEAVE}/node1": "3",
}
"""A value for each setting that rules change, other than the kernel's own."""
SITE = {
    "sysctl.d/99-sysctl.conf": "kernel.numa_balancing = 0\nvm.swappiness = 30\nvm.zone_reclaim_mode = 1\n",
    "tmpfiles.d/site.conf": f"w {settings.DEMOTION} - - - - 0\n",
}
"""What the host set by itself, which has to be in force again after a rollback."""
_RESTLESS = re.compile(r".*/(?:ns_last_pid|full_scans|pages_collapsed)|.*/(?:pty|random|stats|ksm)/.*")


_DERIVED = re.compile(r"zoneinfo/|/proc/sys/vm/(?:min_free|user_reserve|admin_reserve)_kbytes")
_DERIVED_RATIO = 0.03


@dataclass(slots=True)
class Kept:
    """What came of it on one kernel. `wrong` names each value that was not as it had to be, and at which step."""

    kernel: str
    settings: int = 0
    absent: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    changed_along: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """The values that are not the same, by path; those that change by themselves are left out."""
    paths = sorted(path for path in before.keys() | after.keys() if not _RESTLESS.fullmatch(path))
    pairs = {path: (before.get(path), after.get(path)) for path in paths}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1] and not _is_of_boot(path, *pair)}


def _is_of_boot(path: str, old: str | None, new: str | None) -> bool:
    """Whether the kernel derived both from its free memory, which is a little other at each boot."""
    if not _DERIVED.match(path) or not (old or "").isdigit() or not (new or "").isdigit():
        return False
    return abs(int(old or 0) - int(new or 0)) <= max(1, _DERIVED_RATIO * int(old or 0))


def changes_for(inventory: Mapping[str, Any], host: Mapping[str, str]) -> list[Change]:
    """A change of each setting that the agent read on the host, in the order in which the product applies them."""
    read = {knob["path"]: knob["value"] for knob in inventory["knobs"] if knob["value"] is not None}
    chosen = [Change(path, read[path], value) for path, value in PROPOSED.items() if path in read]
    unread = sorted(PROPOSED.keys() & host.keys() - read.keys())
    if unread:
        raise ValueError(f"the agent did not read {', '.join(unread)}")
    return sorted(chosen, key=lambda change: order_of(change.path))


def installed(files: Iterable[tuple[str, str]]) -> str:
    """Steps that put texts into files, by their paths."""
    steps = ""
    for path, text in files:
        steps += f"mkdir -p {path.rpartition('/')[0]}\ncat >{path} <<'END'\n{text}END\n"
    return steps


class _Watch:
    """Compares what is in force with what has to be, and keeps what is not so."""

    def __init__(self, found: Kept, guest: Guest) -> None:
        self.found, self.guest = found, guest

    def expect(self, step: str, wanted: Mapping[str, str]) -> None:
        values = self.guest.settings()
        for path, value in wanted.items():
            now = values.get(path, "absent")
            if not is_same_value(now, value):
                self.found.wrong.append(f"{step}: {path} is {now}, not {value}")

    def expect_as(self, step: str, before: Mapping[str, str]) -> None:
        for path, (old, new) in differing(before, self.guest.settings()).items():
            self.found.wrong.append(f"{step}: {path} is {new}, and was {old}")


def judge(lab: Lab, kernel: str, agent: Path, shared: Path) -> Kept:
    """Apply all settings by the files of one host, and then by those of the bundle; take both back."""
    found = Kept(kernel)
    lend_program(agent, shared)
    with booted(lab, kernel, "nvdimm", shared) as guest:
        watch = _Watch(found, guest)
        guest.run(installed((f"/etc/{name}", text) for name, text in SITE.items()))
        guest.run(
            "sysctl -q -p /etc/sysctl.d/99-sysctl.conf\nsystemd-tmpfiles --create /etc/tmpfiles.d/site.conf\nlate\n"
        )
        guest.run("cp /lab/tierscope-agent /tmp/\n/tmp/tierscope-agent once --json >/lab/once.json\n")
        before = guest.settings()
        changes = changes_for(json.loads(guest.read("once.json"))["inventory"], before)
        wanted = {change.path: change.proposed for change in changes}
        found.settings, found.absent = len(changes), sorted(PROPOSED.keys() - wanted.keys())
        files = render_files([Advice("lab", "Set all", tuple(changes), (), "", "", "")])
        guest.run(files.commands)
        watch.expect("commands", wanted)
        found.changed_along = sorted(differing(before, guest.settings()).keys() - wanted.keys())
        guest.run(files.rollback_commands)
        watch.expect_as("rollback commands", before)
        guest.run(files.commands + _keep(files))
    bundle = {file.name: file.text for file in render_bundle(_plan(changes), datetime(2026, 1, 1, tzinfo=UTC))}
    with booted(lab, kernel, "nvdimm", shared) as guest:
        watch = _Watch(found, guest)
        early = guest.settings()
        found.late = sorted(path for path in wanted if path not in early)
        at_boot = {path: value for path, value in wanted.items() if path in early}
        watch.expect("reboot", {path: value for path, value in at_boot.items() if path not in settings.INTERLEAVE_AUTO})
        guest.run("late\n")
        watch.expect("late memory", wanted)
        guest.run(files.rollback_commands + files.forget_commands)
        watch.expect_as("rollback after a reboot", before)
        _run_drop_ins(guest, bundle, "apply/")
        watch.expect("drop-ins", wanted)
    with booted(lab, kernel, "nvdimm", shared) as guest:
        watch = _Watch(found, guest)
        guest.run("late\n")
        watch.expect("drop-ins, reboot, late memory", wanted)
        _run_drop_ins(guest, bundle, "rollback/")
        watch.expect_as("drop-ins of the rollback", before)
    with booted(lab, kernel, "nvdimm", shared) as guest:
        guest.run("late\n")
        _Watch(found, guest).expect_as("drop-ins of the rollback, reboot", before)
        guest.run("rm -f $(find /etc -name '99-z-tierscope*' -o -name 'tierscope-*.service')\n")
    with booted(lab, kernel, "nvdimm", shared) as guest:
        guest.run("late\n")
        _Watch(found, guest).expect_as("files deleted, reboot", before)
    return found


def _plan(changes: Iterable[Change]) -> list[PlannedChange]:
    return [
        PlannedChange(
            f"Set {change.path}", change.path, change.proposed, "", "", (HostValue("h", "guest", change.current),)
        )
        for change in changes
    ]


def _keep(files: Files) -> str:
    """Steps that install the files which keep the settings, as a person would."""
    texts = {"sysctl": files.sysctl, "tmpfiles": files.tmpfiles, "udev": files.udev, "systemd": files.systemd}
    units = [path.rpartition("/")[2] for form, path in files.destinations if form == "systemd"]
    enable = "".join(f"systemctl daemon-reload\nsystemctl enable -q {unit}\n" for unit in units)
    return installed((path, texts[form] or "") for form, path in files.destinations) + enable


def _run_drop_ins(guest: Guest, bundle: Mapping[str, str], folder: str) -> None:
    """Install each drop-in and run the command that its head names; a rollback goes the other way."""
    steps = []
    for name, text in bundle.items():
        if not name.startswith((folder, "late/") if folder == "apply/" else folder):
            continue
        install = next(line for line in text.splitlines() if line.startswith("# Install: "))
        target, _, activate = install.partition(", then: ")
        steps.append(installed([(target.rpartition(" ")[2], text)]) + activate + "\n")
    for step in steps if folder == "apply/" else reversed(steps):
        guest.run(step)
