"""Puts into the wheel what the package needs beside its Python code: migrations, dashboard, docs, other wheels.

Where the dashboard is not built the wheel is made without it, and the product says at run time what to do.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PARTS = {
    "migrations": "tierscope/_migrations",
    "frontend/dist": "tierscope/_frontend",
    "docs/_site": "tierscope/_docs",
}
_RELEASED_TOGETHER = ("tierscope-agent", "tierscope-client", "tierscope-fleet", "tierscope-simcore")
"""Wheels of the same release. A source tree has or compiles them itself, so that only wheels depend on them."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the parts to wheels; an editable installation finds them in the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the parts that exist, and the other wheels."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        for source, target in _PARTS.items():
            if (root / source).is_dir():
                build_data["force_include"][source] = target
        build_data["dependencies"] += [f"{name}=={self.metadata.version}" for name in _RELEASED_TOGETHER]
