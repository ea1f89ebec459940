"""The bundle of a change plan: exactly the settings, safe whatever hosts are called, and a rollback that is inverse."""

import configparser
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import yaml

from tierscope.domain.knobs.bundle import (
    NOTHING_BY_ITSELF,
    BundleFile,
    HostValue,
    PlannedChange,
    change_id,
    render_bundle,
    verify_command,
)
from tierscope.domain.knobs.facts import DEMOTION, HOT_THRESHOLD, INTERLEAVE, NUMA_BALANCING, is_same_value

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOSTILE = (
    "evil\n    other: {ansible_connection: local}",
    "{{ lookup('pipe', 'reboot') }}",
    'a"; reboot #',
    "web[1:300]",
    "- yes",
    "all",
    "localhost",
    "tierscope_kernel_numa_balancing_2",
    "",
    "caf\u00e9\u2028",
)


def planned(path: str, proposed: str, *hosts: tuple[str, str, str]) -> PlannedChange:
    return PlannedChange("Do it", path, proposed, "a risk", "it helps", tuple(HostValue(*host) for host in hosts))


CHANGES = (
    planned(NUMA_BALANCING, "2", ("h1", "db-1", "0"), ("h2", "db-2", "1")),
    planned(DEMOTION, "1", ("h1", "db-1", "false")),
    planned(HOT_THRESHOLD, "500", ("h2", "db-2", "1000")),
    planned(f"{INTERLEAVE}/node1", "3", ("h3", "123", "1")),
)


def by_name(changes: tuple[PlannedChange, ...]) -> dict[str, str]:
    return {file.name: file.text for file in render_bundle(changes, AT)}


def members(inventory: str, group: str) -> set[str]:
    """The hosts of a group and of those beneath it."""

    def hosts(node: dict[str, object]) -> Iterator[str]:
        yield from node.get("hosts") or {}  # type: ignore[misc]  # a mapping of names
        for child in (node.get("children") or {}).values():  # type: ignore[attr-defined]
            yield from hosts(child)

    return set(hosts(yaml.safe_load(inventory)["all"]["children"][group]))


def run_playbook(playbook: str, inventory: str, state: dict[tuple[str, str], str]) -> None:
    """Do to `state`, of (host, path), what the tasks that set something say."""
    groups = {}
    for group, node in yaml.safe_load(inventory)["all"]["children"].items():
        groups[group] = members(inventory, group)
        groups |= {name: set(child["hosts"]) for name, child in node["children"].items()}
    for play in yaml.safe_load(playbook):
        for task in play["tasks"]:
            if "ansible.posix.sysctl" in task:
                given = task["ansible.posix.sysctl"]
                path, value = f"/proc/sys/{given['name'].replace('.', '/')}", given["value"]
            elif "ansible.builtin.shell" in task:
                match = re.fullmatch(r"echo (\w+) > (\S+)", task["ansible.builtin.shell"])
                assert match is not None
                value, path = match.groups()
            else:
                continue
            for host in groups[play["hosts"]]:
                state[host, path] = value


def setting_of(file: BundleFile) -> tuple[str, str]:
    """The path and the value that a drop-in sets; it sets exactly one."""
    lines = [line for line in file.text.splitlines() if line and not line.startswith("#")]
    if file.name.endswith(".service"):
        unit = configparser.RawConfigParser()
        unit.read_string(file.text)
        match = re.fullmatch(r"/bin/sh -c 'echo (\w+) > (\S+)'", unit["Service"]["ExecStart"])
        assert match is not None
        return match[2], match[1]
    once = re.search(r", then: echo (\w+) > (\S+)$", file.text, re.MULTILINE)
    if once is not None:
        assert lines == []
        return once[2], once[1]
    (line,) = lines
    if "/sysctl.d/" in file.name:
        name, value = line.split(" = ")
        return f"/proc/sys/{name.replace('.', '/')}", value
    kind, path, *_, value = line.split()
    assert kind == "w"
    return path, value


def test_the_playbook_sets_exactly_the_settings_and_the_rollback_takes_them_back() -> None:
    files = by_name(CHANGES)
    before = {
        ("db-1", NUMA_BALANCING): "0",
        ("db-2", NUMA_BALANCING): "1",
        ("db-1", DEMOTION): "false",
        ("db-2", HOT_THRESHOLD): "1000",
        ("123", f"{INTERLEAVE}/node1"): "1",
    }
    state = dict(before)
    run_playbook(files["apply.yml"], files["inventory.yml"], state)
    assert state == {
        ("db-1", NUMA_BALANCING): "2",
        ("db-2", NUMA_BALANCING): "2",
        ("db-1", DEMOTION): "1",
        ("db-2", HOT_THRESHOLD): "500",
        ("123", f"{INTERLEAVE}/node1"): "3",
    }
    run_playbook(files["rollback.yml"], files["inventory.yml"], state)
    assert state == before


def test_weights_of_the_kernel_are_given_back_whatever_order_the_plan_has() -> None:
    auto, node = f"{INTERLEAVE}/auto", f"{INTERLEAVE}/node1"
    changes = (planned(node, "3", ("h1", "db-1", "1")), planned(auto, "false", ("h1", "db-1", "true")))
    files = by_name(changes)

    class Kernel(dict[tuple[str, str], str]):
        """A weight that is written switches the kernel to manual ones."""

        def __setitem__(self, key: tuple[str, str], value: str) -> None:
            super().__setitem__(key, value)
            if key[1] == node:
                super().__setitem__((key[0], auto), "false")

    state = Kernel({("db-1", node): "1", ("db-1", auto): "true"})
    run_playbook(files["apply.yml"], files["inventory.yml"], state)
    assert state == {("db-1", node): "3", ("db-1", auto): "false"}
    run_playbook(files["rollback.yml"], files["inventory.yml"], state)
    assert state == {("db-1", node): "1", ("db-1", auto): "true"}
    kept = [
        task["ansible.builtin.copy"]["dest"]
        for play in yaml.safe_load(files["apply.yml"])
        for task in play["tasks"]
        if "ansible.builtin.copy" in task
    ]
    gone = [
        task["ansible.builtin.file"]["path"]
        for play in yaml.safe_load(files["rollback.yml"])
        for task in play["tasks"]
        if "ansible.builtin.file" in task
    ]
    assert gone
    assert set(gone) - {"/etc/tmpfiles.d/99-z-tierscope-mempolicy_weighted_interleave_auto.conf"} < set(kept)
    assert not any(name.startswith("apply/") and "interleave_auto" in name for name in files)
    assert "/etc/udev/rules.d/99-z-tierscope.rules" in kept


def test_drop_ins_of_a_rollback_write_weights_once_and_give_auto_back_after_them() -> None:
    auto, node = f"{INTERLEAVE}/auto", f"{INTERLEAVE}/node1"
    changes = (planned(node, "3", ("h1", "db-1", "25")), planned(auto, "false", ("h1", "db-1", "true")))
    back = [text for name, text in by_name(changes).items() if name.startswith("rollback/")]
    assert all(line.startswith("#") for text in back for line in text.splitlines()), "nothing is written at boot"
    commands = [line.partition(", then: ")[2] for text in back for line in text.splitlines() if ", then: " in line]
    assert commands == [f"echo true > {auto}", f"echo 25 > {node}"], "taken back in the reverse order"


def test_each_drop_in_has_a_twin_for_every_value_that_hosts_had() -> None:
    files = render_bundle(CHANGES, AT)
    applied = {file.name: setting_of(file) for file in files if file.name.startswith("apply/")}
    back = {file.name: setting_of(file) for file in files if file.name.startswith("rollback/")}
    assert set(applied.values()) == {(change.path, change.proposed) for change in CHANGES}
    assert sorted(back.values()) == sorted({(change.path, host.current) for change in CHANGES for host in change.hosts})
    for name in back:
        folder, change, _, form, file = name.split("/")
        assert (folder, f"apply/{change}/{form}/{file}" in applied) == ("rollback", True), name


def test_playbooks_copy_files_that_are_in_the_bundle() -> None:
    files = by_name(CHANGES)
    copied = [
        task["ansible.builtin.copy"]["src"]
        for name in ("apply.yml", "rollback.yml")
        for play in yaml.safe_load(files[name])
        for task in play["tasks"]
        if "ansible.builtin.copy" in task
    ]
    assert copied
    assert set(copied) <= set(files)


def test_every_file_says_what_it_is_who_applies_it_how_to_verify_and_to_take_it_back() -> None:
    for file in render_bundle(CHANGES, AT):
        assert NOTHING_BY_ITSELF in file.text.splitlines()[1], file.name
        assert "Verify:" in file.text, file.name
        assert "Roll back:" in file.text or file.name == "README.txt", file.name
    assert verify_command(DEMOTION, "1").endswith("prints true")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_host_gets_out_of_its_place(name: str) -> None:
    change = planned(NUMA_BALANCING, "2", ("h1", name, "0"), ("h2", "db-2", "0"))
    files = by_name((change,))
    assert members(files["inventory.yml"], "tierscope_kernel_numa_balancing_2") == {"h1", "db-2"}
    plain = by_name((planned(NUMA_BALANCING, "2", ("h1", "h1", "0"), ("h2", "db-2", "0")),))
    for file, text in files.items():
        assert text.isascii(), file
        body = [line for line in text.splitlines() if not line.startswith("#")]
        assert body == [line for line in plain[file].splitlines() if not line.startswith("#")], file


def test_hosts_of_one_name_stand_by_their_ids() -> None:
    files = by_name((planned(NUMA_BALANCING, "2", ("h1", "db", "0"), ("h2", "db", "0")),))
    assert members(files["inventory.yml"], "tierscope_kernel_numa_balancing_2") == {"h1", "h2"}
    assert "h1 is 'db'" in files["inventory.yml"]


@pytest.mark.parametrize(
    ("path", "proposed", "current"),
    [
        ("/etc/passwd", "1", "0"),
        (NUMA_BALANCING, "2; reboot", "0"),
        (NUMA_BALANCING, "2", "$(reboot)"),
    ],
)
def test_settings_that_no_rule_proposes_reach_no_file(path: str, proposed: str, current: str) -> None:
    with pytest.raises(ValueError, match=r"proposes|written back"):
        render_bundle((planned(path, proposed, ("h1", "db-1", current)),), AT)


def test_ids_tell_settings_and_values_apart() -> None:
    assert change_id(NUMA_BALANCING, "2") == "kernel_numa_balancing_2"
    ids = {change_id(f"{INTERLEAVE}/node{node}", str(weight)) for node in range(3) for weight in (1, 11)}
    assert len(ids) == 6
    assert is_same_value("1", "true")
    assert not is_same_value("1", "2")
