"""The library by which programs of a soak tell another time: moments are shifted, stopwatches and waits are true."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.shifted_clock import can_shift, clock_variables, offset_s, shift

DAY_S = 86_400
pytestmark = pytest.mark.skipif(not can_shift(), reason="there is no C compiler: install gcc")

# What the program finds, and what it finds once its clock is set again while it runs.
_PROGRAM = """
import json, os, sys, threading, time
from pathlib import Path

file = Path(sys.argv[1])
file.touch()
written = file.stat().st_mtime
os.utime(file, (1.9e9, 1.9e9))
# It would end in a year, or never.
with (changed := threading.Condition()):
    changed.wait(0.01)
found = {"now": time.time(), "written": written, "set": file.stat().st_mtime}
print(json.dumps(found), flush=True)
input()
print(json.dumps({"now": time.time()}))
"""


def test_a_program_tells_the_shifted_time_and_follows_it(tmp_path: Path) -> None:
    clock, file = tmp_path / "clock", tmp_path / "file"
    shift(clock, 400 * DAY_S)
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(file)],
        env=os.environ | clock_variables(clock),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        found = json.loads(program.stdout.readline())
        shift(clock, -400 * DAY_S)
        later = json.loads(program.communicate("\n")[0])
    # A file bears the kernel's own times: where this run tells another time too, it shows them without its offset.
    assert found["written"] == pytest.approx(found["now"], abs=600)
    assert found["set"] == 1.9e9
    assert file.stat().st_mtime == pytest.approx(1.9e9 - (400 * DAY_S - offset_s()))
    assert found["now"] - later["now"] == pytest.approx(800 * DAY_S, abs=600)


def test_a_program_ends_where_its_clock_cannot_be_read(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    shift(clock, 0)
    variables = clock_variables(clock)
    clock.unlink()
    done = subprocess.run(["true"], env=os.environ | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 126
    assert f"{clock} cannot be mapped" in done.stderr
