"""Which agent `tierscope` uses: the one that its wheel installed, wherever scripts go, and of the same release."""

import tomllib
from pathlib import Path

import pytest

import tierscope
from architecture.tree import ROOT
from tierscope.cli.base.source_tree import shipped_agent


def _install(folder: Path, *, mode: int) -> Path:
    """What installing the wheel leaves in an environment below `folder`; its program."""
    record = folder / "lib" / "site-packages" / "tierscope_agent-9.9.9.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: tierscope-agent\nVersion: 9.9.9\n", encoding="utf-8")
    (record / "RECORD").write_text("../../bin/tierscope-agent,,\ntierscope_agent-9.9.9.dist-info/METADATA,,\n")
    program = folder / "bin" / "tierscope-agent"
    program.parent.mkdir()
    program.touch(mode)
    return program


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TIERSCOPE_AGENT_BINARY", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.syspath_prepend(str(tmp_path / "lib" / "site-packages"))
    return tmp_path


def test_the_program_of_the_wheel_is_found_without_path(environment: Path) -> None:
    program = _install(environment, mode=0o755)
    assert shipped_agent() == program


def test_a_named_program_goes_before_that_of_the_wheel(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(environment, mode=0o755)
    monkeypatch.setenv("TIERSCOPE_AGENT_BINARY", "/opt/agent")
    assert shipped_agent() == Path("/opt/agent")


def test_a_program_that_cannot_be_run_is_none(environment: Path) -> None:
    _install(environment, mode=0o644)
    assert shipped_agent() is None


def test_python_and_rust_name_one_version() -> None:
    workspace = tomllib.loads((ROOT / "collector-agent" / "Cargo.toml").read_text(encoding="utf-8"))
    assert workspace["workspace"]["package"]["version"] == tierscope.__version__
