"""Puts into the wheel what the package needs beside its Python code: migrations, dashboard, agent.

Where a built part is missing the wheel is made without it, and the product says at run time what to do.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PARTS = {
    "migrations": "tierscope/_migrations",
    "frontend/dist": "tierscope/_frontend",
}
_AGENTS = ("x86_64-unknown-linux-musl/release", "aarch64-unknown-linux-musl/release")


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the parts to wheels; an editable installation finds them in the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the parts that exist, and tag the wheel for the platform of the agent inside."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        for source, target in _PARTS.items():
            if (root / source).is_dir():
                build_data["force_include"][source] = target
        for place in _AGENTS:
            agent = root / os.environ.get("CARGO_TARGET_DIR", "collector-agent/target") / place / "tierscope-agent"
            if agent.is_file():
                build_data["force_include"][str(agent)] = "tierscope/_bin/tierscope-agent"
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-manylinux2014_{place.partition('-')[0]}"
                return
