"""Permissions, and which of them roles, anonymous readers and owners of a service have.

Roles include each other: viewer < operator < admin. docs/operating/security.md is the table for readers.
"""

from collections.abc import Collection
from typing import Literal, get_args

Role = Literal["viewer", "operator", "admin"]

Permission = Literal[
    "public",  # needs nobody: health, login, the dashboard's files
    "agent",  # needs a host credential, checked by the route itself: it says which host
    "read:fleet",  # hosts, services, counters, ledger, heat in sums
    "read:tiles",  # page-level heat: it can show what a service's users do
    "write:events",
    "write:advice",  # dismiss or adopt it, add measurements of one's own
    "write:experiments",
    "write:sweeps",  # start, cancel and delete sweeps of the simulator; upload traces
    "write:scenarios",  # scenarios of cost, and the price book
    "write:reports",
    "write:rules",
    "write:silences",  # acknowledge alerts, too
    "read:routes",  # where alerts are sent; without secrets
    "write:routes",
    "read:agents",
    "operate:agents",  # pause and resume them
    "write:agents",
    "read:audit",
    "write:tokens",
    "write:own",  # one's own password, tokens and saved views
    "write:users",  # users, teams and who owns which service
    "write:labels",  # labels of hosts
    "write:samples",  # Prometheus remote write
    "purge:data",
]

ANONYMOUS: frozenset[Permission] = frozenset({"public", "read:fleet", "read:tiles"})
_VIEWER: frozenset[Permission] = frozenset({"public", "read:fleet", "write:own"})
_OPERATOR: frozenset[Permission] = _VIEWER | {
    "read:tiles",
    "write:events",
    "write:advice",
    "write:experiments",
    "write:sweeps",
    "write:scenarios",
    "write:reports",
    "write:rules",
    "write:silences",
    "read:routes",
    "read:agents",
    "operate:agents",
    "write:labels",
    "write:samples",
}
_ADMIN: frozenset[Permission] = _OPERATOR | {
    "write:routes",
    "write:agents",
    "read:audit",
    "write:tokens",
    "write:users",
    "purge:data",
}
ROLES: dict[Role, frozenset[Permission]] = {"viewer": _VIEWER, "operator": _OPERATOR, "admin": _ADMIN}

OWNER: frozenset[Permission] = frozenset({"read:tiles", "write:advice", "write:events", "write:experiments"})
"""What members of the team that owns a service may do with that service, whatever their role is."""

NEVER_A_SCOPE: frozenset[Permission] = frozenset({"public", "agent", "write:own"})
"""What no token is made for: it needs nobody, a host, or a person who is logged in."""


def granted(role: Role | None, scopes: Collection[str] | None) -> frozenset[Permission]:
    """Returns what a role may do, narrowed to `scopes` where there are any; no role is the anonymous reader."""
    whole = ANONYMOUS if role is None else ROLES[role]
    return whole if scopes is None else frozenset(name for name in whole if name == "public" or name in scopes)


def granted_as_owner(scopes: Collection[str] | None) -> frozenset[Permission]:
    """Returns what an owner may do with the service, narrowed to `scopes` where there are any."""
    return OWNER if scopes is None else frozenset(name for name in OWNER if name in scopes)


def unknown_scopes(scopes: Collection[str]) -> list[str]:
    """Returns those names that are no permission, or none that a token can be made for."""
    known = set(get_args(Permission)) - NEVER_A_SCOPE
    return sorted(set(scopes) - known)
