"""Which crate of the agent may use which: the arrows of ARCHITECTURE.md, read from cargo itself."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from architecture.tree import ROOT, tracked

WORKSPACE = ROOT / "collector-agent"
PREFIX = "tierscope-"

# Arrows mean "may use". The agent may use every crate but the simulated fleet; a crate that is not named here fails the
# test.
ALLOWED: dict[str, set[str]] = {
    "sample": set(),
    "rootfs": set(),
    "procfs": {"sample", "rootfs"},
    "sysfs": {"sample", "rootfs"},
    "pagetable": {"sample", "rootfs", "procfs"},
    "damon": {"sample", "rootfs"},
    "perf": {"rootfs"},
    "import": {"sample", "perf"},
    "membench": {"sample", "rootfs"},
    "wire": {"sample"},
    "spool": set(),
    "clock": set(),
    "upload": {"clock"},
    "host": {"sample", "rootfs", "procfs", "sysfs"},
    "fleet": {"host", "sample", "twin", "wire", "upload"},
    # It judges the product, so it shares nothing with it: a mistake in both would not be seen.
    "twin": set(),
    "heat": {"clock", "host", "sample", "rootfs", "sysfs", "pagetable", "perf", "damon", "wire"},
}
EVERYTHING = {"agent"}
OUTSIDE_THE_AGENT = {"simcore", "engine", "samples", "swapdev", "hostile", "opened"}
# Generated code and TLS each have one home; over plain HTTP the agent also asks services of its own host.
HOMES = {
    "prost": {"wire", "opened"},
    "ureq": {"upload", "agent"},
    "rustls": {"upload"},
    "parquet": {"import"},
    "clap": {"agent", "fleet"},
}


_DOC_EXAMPLE = re.compile(r"^\s*//[/!]\s*```", re.MULTILINE)


def read_packages() -> list[dict[str, Any]]:
    """Return the crates of the workspace as cargo describes them."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed")
    command = [cargo, "metadata", "--no-deps", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=WORKSPACE, capture_output=True, text=True, check=True)
    packages: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return packages


def read_graph() -> dict[str, set[str]]:
    """Return the direct dependencies of each workspace crate, dev-dependencies left out."""
    return {
        package["name"].removeprefix(PREFIX): {
            dependency["name"].removeprefix(PREFIX)
            for dependency in package["dependencies"]
            if dependency["kind"] != "dev"
        }
        for package in read_packages()
    }


def test_crates_use_only_what_the_arrows_allow() -> None:
    graph = read_graph()
    agent_crates = set(graph) - OUTSIDE_THE_AGENT
    assert agent_crates == set(ALLOWED) | EVERYTHING
    assert not graph["agent"] & {"fleet", "twin"}, "hosts run the agent alone"
    for name, allowed in ALLOWED.items():
        assert graph[name] & agent_crates <= allowed, name


def test_the_simulators_use_only_what_the_arrows_allow() -> None:
    graph = read_graph()
    assert graph["swapdev"] & set(graph) == set()
    assert graph["engine"] & set(graph) == {"swapdev"}


def test_the_twin_shares_nothing_with_what_it_judges() -> None:
    graph = read_graph()
    assert graph["twin"] & set(graph) == set()
    assert not {name for name in ("engine", "samples", "swapdev", "simcore", "sample") if "twin" in graph[name]}


def test_each_outside_concern_has_one_home() -> None:
    graph = read_graph()
    for dependency, homes in HOMES.items():
        users = {name for name, uses in graph.items() if dependency in uses}
        assert users == homes, dependency


def test_every_example_in_documentation_runs_and_no_crate_is_searched_for_them_in_vain() -> None:
    holders = {ROOT / path for path in tracked(".rs") if _DOC_EXAMPLE.search((ROOT / path).read_text(encoding="utf-8"))}
    for package in read_packages():
        for target in package["targets"]:
            if "lib" in target["kind"]:
                crate = Path(target["src_path"]).parent
                has_examples = any(crate in path.parents for path in holders)
                assert target["doctest"] == has_examples, f"{package['name']}: `doctest` in [lib] of its Cargo.toml"
