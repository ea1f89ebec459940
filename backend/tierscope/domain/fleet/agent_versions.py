"""Releases of agents beside the service's: which are supported, which are behind.

The service is upgraded before its agents, and takes those of the two minor releases before it
(docs/operating/upgrade.md).
"""

import re
from typing import Literal, TypeAlias

MINORS_BEHIND = 2

Standing: TypeAlias = Literal["current", "behind", "too_old", "ahead", "unknown"]
"""`behind` is supported; `too_old`, `ahead` (newer than the service) and `unknown` (no release) are not."""
Release: TypeAlias = tuple[int, int, int]

_RELEASE = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:[-+].*)?")


def read_release(version: str | None) -> Release | None:
    """Major, minor and patch of a semantic version; None for any other text."""
    found = _RELEASE.fullmatch(version or "")
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def standing(agent: str | None, service: str) -> Standing:
    """How an agent's release stands to the service's. Patches of one minor release are alike."""
    mine, theirs = read_release(service), read_release(agent)
    if mine is None or theirs is None:
        return "unknown"
    if theirs[:2] > mine[:2]:
        return "ahead"
    if theirs[:2] == mine[:2]:
        return "current"
    return "behind" if theirs[0] == mine[0] and theirs[1] >= mine[1] - MINORS_BEHIND else "too_old"


def is_supported(found: Standing) -> bool:
    """Whether the service promises to take what such an agent sends."""
    return found in ("current", "behind")


def oldest_supported(service: str) -> str | None:
    """The oldest release that is supported; None where the service's own is no release."""
    mine = read_release(service)
    return None if mine is None else f"{mine[0]}.{max(0, mine[1] - MINORS_BEHIND)}.0"
