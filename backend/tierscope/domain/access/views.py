"""Addresses of the dashboard: what a saved view may lead to."""

import re

MAX_ADDRESS_LENGTH = 2000
PAGES: frozenset[str] = frozenset(
    {
        "",
        "account",
        "add-hosts",
        "admin",
        "advice",
        "agents",
        "alerts",
        "capacity",
        "data-quality",
        "experiments",
        "explore",
        "hosts",
        "services",
        "simulator",
        "status",
        "tco",
    }
)
"""First parts of the paths of the dashboard's pages (frontend/src/router.tsx), without the login."""

_ADDRESS = re.compile(r"/(?P<page>[a-z-]*)(?P<rest>/[A-Za-z0-9._~%:@!$&'()*+,;=/-]*)?(?P<query>\?[!-~]*)?")
_FORBIDDEN = frozenset('"<>\\^`{|}#')


def problem_of_address(address: str) -> str | None:
    """Returns why this is no path and query of a page of the dashboard, None where it is one."""
    if len(address) > MAX_ADDRESS_LENGTH:
        return f"an address has at most {MAX_ADDRESS_LENGTH} characters, this one has {len(address)}"
    if _FORBIDDEN & set(address):
        return "an address has its special characters encoded as %XX, and no fragment"
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return "an address is a path of the dashboard and its query, without scheme and host, such as `/hosts?q=a`"
    if "//" in address.partition("?")[0] or ".." in (found["rest"] or "").split("/"):
        return "the path of an address has no empty parts and no `..`"
    if found["page"] not in PAGES:
        return f"the dashboard has no page `/{found['page'][:40]}` that can be saved"
    return None
