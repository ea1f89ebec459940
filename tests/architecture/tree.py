"""The files of the repository."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
_GENERATED = ("_generated", "node_modules", "target", "dist")


def tracked(*suffixes: str) -> list[Path]:
    """Return the files of the repository with one of the suffixes, without generated ones."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [Path(line) for line in listed.stdout.splitlines() if line.endswith(suffixes)]
    kept = [path for path in paths if not set(path.parts) & set(_GENERATED)]
    return [path for path in kept if (ROOT / path).is_file()]


def load_script(path: str) -> ModuleType:
    """Load a script that is no part of a package, by its path below the root, as a module named after it."""
    name = path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses of a module look it up by its name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
