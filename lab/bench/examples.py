"""Parts of the agent that have no reference: their own examples, compiled for speed, that measure themselves."""

import json
import shutil
import subprocess
from pathlib import Path

WORKSPACE = Path(__file__).parents[2] / "collector-agent"


def run(package: str, example: str, *arguments: str) -> dict[str, float]:
    """Compile and run an example that prints one JSON object of numbers."""
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    command = [cargo, "run", "--quiet", "--locked", "--release", "--package", package, "--example", example, "--"]
    done = subprocess.run([*command, *arguments], cwd=WORKSPACE, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{example} of {package} failed: {done.stderr.strip()[-500:]}")
    return {name: float(value) for name, value in json.loads(done.stdout).items()}
