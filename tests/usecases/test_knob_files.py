"""Files of knob advice: what the programs that read them make of them."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tierscope.domain.knobs import Advice, Change, Files, render_files, rollback_of
from tierscope.domain.knobs.facts import DEMOTION, HOT_THRESHOLD, INTERLEAVE, RATE_LIMIT, SCAN_SIZE, WATERMARK_SCALE

CHANGES = (
    Change(WATERMARK_SCALE, "10", "79"),
    Change(RATE_LIMIT, "65536", "48"),
    Change(DEMOTION, "false", "1"),
    Change(f"{INTERLEAVE}/node0", "1", "4"),
    Change(HOT_THRESHOLD, "1000", "500"),
    Change(SCAN_SIZE, "256", "128"),
)


def made() -> Files:
    return render_files([Advice("F0", "t", CHANGES, (), "e", "r", "v")])


def text_of(form: str | None) -> str:
    assert form is not None
    return form


def test_sysctl_lines_are_keys_with_values() -> None:
    lines = text_of(made().sysctl).splitlines()
    assert lines == ["vm.watermark_scale_factor = 79", "kernel.numa_balancing_promote_rate_limit_MBps = 48"]
    assert all(re.fullmatch(r"[a-z0-9_.A-Z]+ = \d+", line) for line in lines)


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = text_of(made().systemd)
    parsed = configparser.RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their case
    parsed.read_string(unit)
    assert parsed["Service"]["Type"] == "oneshot"
    assert parsed["Unit"]["After"] == "sys-kernel-debug.mount"
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    path = tmp_path / "tierscope-knobs.service"
    path.write_text(unit)
    done = subprocess.run([analyze, "verify", "--man=no", str(path)], capture_output=True, text=True, check=False)
    assert not [line for line in done.stderr.splitlines() if path.name in line]


def test_systemd_tmpfiles_writes_the_values(tmp_path: Path) -> None:
    lines = text_of(made().tmpfiles)
    program = shutil.which("systemd-tmpfiles")
    if program is None:
        pytest.skip("systemd-tmpfiles is not installed")
    config = tmp_path / "memtier.conf"
    config.write_text(lines)
    for change in CHANGES[2:4]:
        (tmp_path / change.path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / change.path.lstrip("/")).write_text(f"{change.current}\n")
    command = [program, "--create", f"--root={tmp_path}", "--prefix=/sys", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for change in CHANGES[2:4]:
        assert (tmp_path / change.path.lstrip("/")).read_text().startswith(change.proposed)


def test_ansible_sets_the_values_in_their_order_and_keeps_all_of_them_over_a_reboot() -> None:
    files = made()
    tasks = yaml.safe_load(files.ansible)
    assert [task["name"] for task in tasks[: len(CHANGES)]] == [
        "Set vm.watermark_scale_factor",
        "Set kernel.numa_balancing_promote_rate_limit_MBps",
        *(f"Set {change.path}" for change in CHANGES[2:]),
    ]
    kept = dict(files.destinations)
    assert tasks[0]["ansible.posix.sysctl"] == {
        "name": "vm.watermark_scale_factor",
        "value": "79",
        "sysctl_set": True,
        "sysctl_file": kept["sysctl"],
    }
    copies = {
        task["ansible.builtin.copy"]["dest"]: task["ansible.builtin.copy"]["content"]
        for task in tasks
        if "ansible.builtin.copy" in task
    }
    assert copies == {
        kept["tmpfiles"]: files.tmpfiles,
        kept["udev"]: files.udev,
        kept["systemd"]: files.systemd,
    }
    assert tasks[-1]["ansible.builtin.systemd"]["enabled"] is True


def test_what_keeps_the_settings_can_be_removed() -> None:
    files = made()
    kept = dict(files.destinations)
    assert files.forget_commands.splitlines() == [
        f"systemctl disable {Path(kept['systemd']).name}",
        *(f"rm -f {kept[form]}" for form in ("sysctl", "tmpfiles", "systemd")),
    ]


def test_a_drop_in_sorts_behind_the_one_that_systems_and_installers_write() -> None:
    assert all(
        Path(path).name > "99-sysctl.conf" for form, path in made().destinations if form in ("sysctl", "tmpfiles")
    )


WEIGHTS = (
    Change(f"{INTERLEAVE}/auto", "true", "false"),
    Change(f"{INTERLEAVE}/node0", "5", "4"),
    Change(f"{INTERLEAVE}/node1", "2", "1"),
)


def test_weights_of_the_kernel_come_back_last_and_are_not_switched_off_at_boot() -> None:
    files = render_files([Advice("F9", "t", WEIGHTS, (), "e", "r", "v")])
    assert files.rollback_commands.splitlines()[-1] == f"echo true > {INTERLEAVE}/auto"
    assert files.commands.splitlines()[0] == f"echo false > {INTERLEAVE}/auto"
    assert "auto" not in text_of(files.tmpfiles)
    assert 'SUBSYSTEM=="memory"' in text_of(files.udev)
    back = render_files([rollback_of(Advice("F9", "t", WEIGHTS, (), "e", "r", "v"))])
    assert text_of(back.tmpfiles).splitlines()[-1] == f"w {INTERLEAVE}/auto - - - - true"


def test_commands_set_the_values_and_take_them_back(tmp_path: Path) -> None:
    files = made()
    for change in CHANGES:
        path = tmp_path / change.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{change.current}\n")

    def run(script: str) -> list[str]:
        subprocess.run(["/bin/sh", "-euc", script.replace("> /", f"> {tmp_path}/")], check=True)
        return [(tmp_path / change.path.lstrip("/")).read_text().strip() for change in CHANGES]

    assert run(files.commands) == [change.proposed for change in CHANGES]
    assert run(files.rollback_commands) == [change.current for change in CHANGES]


def test_a_value_that_cannot_be_written_back_is_refused() -> None:
    with pytest.raises(ValueError, match="written back"):
        render_files([Advice("F0", "t", (Change(DEMOTION, "$(reboot)", "1"),), (), "e", "r", "v")])
