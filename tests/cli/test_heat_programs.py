"""Programs that `up --heat` names: what is kept, what is said, and what the agent is told."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.commands import call
from tierscope.cli.base.exits import BAD_USAGE
from tierscope.cli.base.instance import Instance
from tierscope.cli.instance.agent import AgentFiles, service_rules, write_config
from tierscope.cli.instance.heat import (
    describe_heat,
    keep_programs,
    kept_programs,
    program_of,
    read_sources,
    say_sources,
    shown,
)
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.process import identify

GONE_PID = "4194304"
"""Above the largest process id that a kernel gives."""


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    """An instance that has never run."""
    places = find_places(tmp_path, demo=False)
    places.data.mkdir(parents=True, exist_ok=True)
    return Instance(places=places, demo=False)


def _explained(would_measure: str | None) -> dict[str, Any]:
    units = {"pebs": "access", "abit_walk": "page", "damon_regions": "region", "referenced": "vma"}
    return {
        "chain": list(units),
        "would_measure": would_measure,
        "collectors": [
            {
                "name": name,
                "works_here": name == would_measure,
                "reason": "" if name == would_measure else f"no {name}",
                "hint": "another kernel" if name == "pebs" else "",
                "granularity": unit,
            }
            for name, unit in units.items()
        ],
    }


def _said(would_measure: str | None, *, root: bool = True) -> str:
    return "\n".join(say_sources(["redis-server"], read_sources(_explained(would_measure)), root=root))


def test_a_process_id_is_kept_with_the_start_of_its_process() -> None:
    own = identify(os.getpid())
    assert own is not None
    program = program_of(str(own.pid))
    assert program == f"pid:{own.pid}@{own.start_ticks}"
    assert shown(program) == f"process {own.pid}"
    assert program_of(" redis-server ") == shown("redis-server") == "redis-server"


@pytest.mark.parametrize("text", ["", " ", GONE_PID])
def test_what_names_nobody_is_bad_usage(text: str) -> None:
    with pytest.raises(typer.Exit) as ended:
        program_of(text)
    assert ended.value.exit_code == BAD_USAGE


def test_programs_hold_for_later_starts_until_they_are_switched_off(instance: Instance) -> None:
    assert kept_programs(instance) == []
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    own = program_of(str(os.getpid()))
    keep_programs(instance, ["*/redis-server", own, f"pid:{ended.pid}@1"])
    assert kept_programs(instance) == ["*/redis-server", own], "a process that has ended is nobody"
    assert instance.heat_programs_file.stat().st_mode & 0o077 == 0
    keep_programs(instance, [])
    assert kept_programs(instance) == []
    instance.heat_programs_file.write_text("{", encoding="utf-8")
    assert kept_programs(instance) == []


def test_the_agent_is_told_the_programs_and_left_to_choose_the_source(tmp_path: Path) -> None:
    files = AgentFiles(tmp_path)

    def heat(*programs: str) -> dict[str, Any]:
        write_config(files, server="http://127.0.0.1:1", heat_pids=tmp_path / "pids", programs=programs)
        found: dict[str, Any] = tomllib.loads(files.config.read_text(encoding="utf-8"))["heat"]
        return found

    assert heat()["backends"] == ["referenced"]
    named = heat('a "quoted" program')
    assert named["programs"] == ['a "quoted" program']
    assert "backends" not in named
    assert named["pids_file"] == str(tmp_path / "pids"), "its own processes are measured too"


def test_a_program_that_is_named_is_a_service_of_that_name() -> None:
    rules = tomllib.loads("\n".join(service_rules("/usr/sbin/a-very-long-server")))["services"]
    assert [rule.pop("name") for rule in rules] == ["a-very-long-server"] * 2
    assert rules == [{"exe": "*/a-very-long-server"}, {"comm": "a-very-long-ser"}]
    assert service_rules("*/redis-*") == service_rules("-jar search.jar") == service_rules("pid:1@2") == []


def test_the_source_is_named_and_each_better_one_says_why_not() -> None:
    said = _said("abit_walk")
    assert "page samples of redis-server: by abit_walk" in said
    assert "not pebs: no pebs (another kernel)" in said
    assert "damon_regions" not in said
    assert "root" not in said


def test_a_source_without_pages_is_said_to_give_no_answer() -> None:
    said = _said("referenced", root=False)
    assert "no page samples: `recommend` cannot answer" in said
    assert all(f"not {name}: no {name}" in said for name in ("pebs", "abit_walk", "damon_regions"))
    assert "sudo tierscope up --heat" in said
    assert "need no root" in said
    assert "no source works here" in _said(None)
    assert "tierscope-agent explain" in "".join(say_sources(["x"], None))


def test_status_names_the_source_and_patterns_that_fit_nobody(instance: Instance, tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    assert describe_heat(instance, status) == []
    keep_programs(instance, ["redis-server", "redsi"])
    assert "nothing is measured yet" in describe_heat(instance, status)[0]
    warning = '"redsi" under [heat] programs fits no process'
    document = {"heat_rung": "damon_pages", "heat_warnings": [warning], "heat_services": ["tierscope/api"]}
    status.write_text(json.dumps(document), encoding="utf-8")
    assert "nothing is measured yet" in describe_heat(instance, status)[0], "its own processes are not the program"
    document["heat_services"] = ["host/redis-server", "tierscope/api"]
    status.write_text(json.dumps(document), encoding="utf-8")
    measured, warned = describe_heat(instance, status)
    assert measured == "  heat of redis-server, redsi: host/redis-server measured by damon_pages"
    assert warned == f"  warning: {warning}"


@pytest.mark.parametrize("option", ["--demo", "--no-agent", "--no-heat"])
def test_heat_without_an_agent_is_bad_usage(option: str) -> None:
    ended = call("up", "--heat", "redis-server", option)
    assert ended.status == BAD_USAGE
    assert "--heat needs an agent" in ended.stderr
