"""Which Python room may import which: the contracts of pyproject.toml, checked on the import graph."""

import subprocess
import sys

from architecture.tree import ROOT


def test_the_rooms_import_only_what_the_contracts_allow() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout
