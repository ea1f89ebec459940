"""Logs of parts: bounded while they run, every line kept, a full disk survived."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from factories.waiting import until
from tierscope.core.embedded import log_files
from tierscope.core.embedded.log_files import KEPT, LogFile, bound_own_log, settle, start_copying
from tierscope.core.embedded.process import Launch, start

LINES = 20_000


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(log_files, "_copiers", [])
    start_copying()
    yield
    settle()


def _all_of(log: Path) -> str:
    """Everything that is kept of a log, the oldest first."""
    files = [log.with_name(f"{log.name}.{number}") for number in range(KEPT, 0, -1)]
    return "".join(file.read_text(encoding="utf-8") for file in [*files, log] if file.exists())


@pytest.mark.usefixtures("copying")
def test_a_log_is_put_aside_while_its_part_runs_and_no_line_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogFile.__init__, "__defaults__", (100_000, 0))
    log = tmp_path / "part.log"
    code = f"for n in range({LINES}): print(f'line {{n:06}}')\nprint('done', flush=True); input()"
    child = start(Launch(command=[sys.executable, "-c", code], log=log))
    child.wait()
    until(lambda: "EOFError" in log.read_text(encoding="utf-8"), "its last words are there")
    text = _all_of(log)
    numbers = [line for line in text.splitlines() if line.startswith("line ")]
    assert numbers == [f"line {n:06}" for n in range(LINES)]
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert 1 < len(sizes) <= KEPT + 1
    assert max(sizes) <= 100_000
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.usefixtures("copying")
def test_what_a_part_wrote_before_it_ended_can_be_read_at_once(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    start(Launch(command=[sys.executable, "-c", "raise SystemExit('the reason')"], log=log)).wait()
    settle()
    assert "the reason" in log.read_text(encoding="utf-8")


def test_only_so_many_files_are_kept(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log", most_bytes=10)
    for number in range(9):
        log.write(f"{number:08}\n".encode())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.log", "part.log.1", "part.log.2", "part.log.3"]
    assert _all_of(log.path).split() == [f"{number:08}" for number in range(5, 9)]


def test_what_a_full_disk_did_not_take_is_counted_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogFile(tmp_path / "part.log")
    log.write(b"before\n")
    with monkeypatch.context() as patch:
        patch.setattr(log_files, "open_log", _no_space)
        log.write(b"1234\n")
        log.write(b"5678\n")
    log.write(b"after\n")
    assert log.path.read_text(encoding="utf-8") == "before\n[10 bytes could not be written]\nafter\n"


def _no_space(_: Path) -> int:
    raise OSError(28, "No space left on device")


def test_the_supervisor_puts_its_own_log_aside_while_it_writes(tmp_path: Path) -> None:
    log = tmp_path / "supervisor.log"
    code = (
        "import sys; from pathlib import Path\n"
        "from tierscope.core.embedded.log_files import bound_own_log\n"
        "for n in range(100):\n"
        "    print(f'line {n:03}', flush=True); print(f'error {n:03}', file=sys.stderr, flush=True)\n"
        "    bound_own_log(Path(sys.argv[1]), most_bytes=1000)\n"
    )
    with log.open("ab") as file:
        subprocess.run([sys.executable, "-c", code, str(log)], stdout=file, stderr=file, check=True)
    lines = _all_of(log).splitlines()
    assert lines == [line for n in range(100) for line in (f"line {n:03}", f"error {n:03}")]
    assert len(list(tmp_path.iterdir())) > 1


def test_a_terminal_is_never_taken_for_the_log(tmp_path: Path) -> None:
    log = tmp_path / "supervisor.log"
    log.write_bytes(b"x" * 2000)
    bound_own_log(log, most_bytes=1000)
    bound_own_log(tmp_path / "none.log", most_bytes=1000)
    assert [path.name for path in tmp_path.iterdir()] == ["supervisor.log"]
    assert os.fstat(1).st_ino != log.stat().st_ino
