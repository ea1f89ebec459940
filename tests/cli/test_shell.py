"""The command in shells and in the manual: help by job, completion, manual pages, progress at a terminal."""

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from cli.commands import call
from tierscope.cli.base.manual import manual_pages
from tierscope.cli.base.progress import Progress, shown_progress
from tierscope.cli.main import PANELS, app

ROOT = typer.main.get_command(app)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def commands() -> list[str]:
    return [
        f"{name} {inner}".strip()
        for name, command in ROOT.commands.items()  # type: ignore[attr-defined]
        for inner in ["", *getattr(command, "commands", {})]
    ]


def test_help_shows_every_command_once_in_the_panel_of_its_job() -> None:
    text = call("--help").stdout
    shown = [text.index(panel) for panel in PANELS]
    assert shown == sorted(shown)
    assert "Commands" not in re.findall(r"─ ([A-Z][^─]*?) ─", text)
    for name in ROOT.commands:  # type: ignore[attr-defined]
        assert len(re.findall(rf"^│ {name} ", text, re.MULTILINE)) == 1, name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell(shell: str) -> None:
    script = call("completion", shell).stdout
    assert f"_TIERSCOPE_COMPLETE=complete_{shell}" in script
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "completed"), [("rec", "recommend"), ("import page", "page-trace"), ("up --de", "--demo --detach")]
)
def test_bash_completes_commands_and_options(words: str, completed: str) -> None:
    typed = f"tierscope {words}".split()
    script = f"""{call("completion", "bash").stdout}
        COMP_WORDS=({" ".join(typed)}); COMP_CWORD={len(typed) - 1}
        _tierscope_completion tierscope
        echo "${{COMPREPLY[@]}}"
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.split()) == completed.split()


def test_every_command_has_a_manual_page_with_its_options(tmp_path: Path) -> None:
    assert call("man", tmp_path).status == 0
    pages = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert sorted(pages) == sorted(["tierscope.1", *(f"tierscope-{name.replace(' ', '-')}.1" for name in commands())])
    assert "\\-\\-loss\\-target" in pages["tierscope-recommend.1"]
    assert all(panel in pages["tierscope.1"] for panel in PANELS)
    assert all("\\-h, \\-\\-help" in page for page in pages.values())


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_manual_pages_are_roff_without_a_warning() -> None:
    for name, page in manual_pages(ROOT, version="1.0").items():
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww"], input=page.encode(), capture_output=True, check=True, timeout=60
        )
        assert done.stderr.decode() == "", name


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    ended = call("man", tmp_path / "file" / "man1")
    assert ended.status == 1
    assert "cannot write manual pages" in ended.stderr
    assert "Name a directory" in ended.stderr


def test_progress_counts_up_after_two_seconds_and_leaves_nothing() -> None:
    terminal, waited = io.StringIO(), []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) > 3

    progress = Progress(terminal, "tierscope simulate", wait)
    progress.run()
    assert waited == [2.0, 1.0, 1.0, 1.0]
    assert re.findall(r"working, (\d) s", terminal.getvalue()) == ["2", "3", "4"]
    progress.end()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_progress_that_has_ended_does_not_come_back() -> None:
    terminal = io.StringIO()
    progress = Progress(terminal, "tierscope simulate", lambda _: False)
    progress.end()
    progress.run()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("words", [["simulate", "--json"], ["up"], ["simulate", "--help"], []])
def test_progress_is_not_shown_beside_json_or_by_commands_that_run_on(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_progress(words):
        assert sys.stderr is terminal


def test_what_a_command_prints_ends_its_progress_first(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, answer = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", answer)
    with shown_progress(["simulate", "trace.parquet"]):
        assert sys.stderr is not terminal
        assert sys.stderr.isatty()
        sys.stdout.write("answer")
    assert (sys.stdout, sys.stderr) == (answer, terminal)
    assert answer.getvalue() == "answer"


def test_progress_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with shown_progress(["simulate"]):
        assert sys.stderr is pipe
