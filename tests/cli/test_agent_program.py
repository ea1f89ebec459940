"""Which compiled programs `tierscope` uses: those of their wheels, wherever scripts go, and of the same release."""

import tomllib
from pathlib import Path

import pytest

import tierscope
from architecture.tree import ROOT
from tierscope.cli.base.source_tree import AGENT, FLEET, shipped_program


def _install(folder: Path, name: str, *, mode: int) -> Path:
    """What installing a program's wheel leaves in an environment below `folder`; the program."""
    information = f"{name.replace('-', '_')}-9.9.9.dist-info"
    record = folder / "lib" / "site-packages" / information
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9.9\n", encoding="utf-8")
    (record / "RECORD").write_text(f"../../bin/{name},,\n{information}/METADATA,,\n")
    program = folder / "bin" / name
    program.parent.mkdir()
    program.touch(mode)
    return program


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TIERSCOPE_AGENT_BINARY", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.syspath_prepend(str(tmp_path / "lib" / "site-packages"))
    return tmp_path


@pytest.mark.parametrize("name", [AGENT, FLEET])
def test_the_program_of_the_wheel_is_found_without_path(environment: Path, name: str) -> None:
    program = _install(environment, name, mode=0o755)
    assert shipped_program(name) == program


def test_a_named_program_goes_before_that_of_the_wheel(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(environment, AGENT, mode=0o755)
    monkeypatch.setenv("TIERSCOPE_AGENT_BINARY", "/opt/agent")
    assert shipped_program(AGENT) == Path("/opt/agent")
    assert shipped_program(FLEET) is None
    fleet = environment / FLEET
    fleet.touch(0o755)
    monkeypatch.setenv("TIERSCOPE_AGENT_BINARY", str(environment / "agent"))
    assert shipped_program(FLEET) == fleet


def test_a_program_that_cannot_be_run_is_none(environment: Path) -> None:
    _install(environment, AGENT, mode=0o644)
    assert shipped_program(AGENT) is None


def test_python_and_rust_name_one_version() -> None:
    workspace = tomllib.loads((ROOT / "collector-agent" / "Cargo.toml").read_text(encoding="utf-8"))
    assert workspace["workspace"]["package"]["version"] == tierscope.__version__
