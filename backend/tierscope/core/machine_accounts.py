"""Who else can use this machine: accounts of people in /etc/passwd."""

import hashlib
import os
import socket
from pathlib import Path

PEOPLE = range(1000, 60_000)
"""Numbers that distributions give to people; below are services, above are `nobody` and containers."""
_NO_LOGIN = frozenset({"nologin", "false", "true", "sync", "halt", "shutdown"})
_FIELDS = 7
_NAME, _NUMBER, _SHELL = 0, 2, 6


def other_people(passwd: Path = Path("/etc/passwd"), *, caller: int | None = None) -> list[str]:
    """Returns the names of people with a login shell other than the caller (None = whoever began this process).

    People whom a directory service knows are not in that file. A file that cannot be read names nobody.
    """
    caller = _began_by() if caller is None else caller
    try:
        lines = passwd.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for fields in (line.split(":") for line in lines):
        if len(fields) != _FIELDS or not fields[_NUMBER].isdecimal():
            continue
        number = int(fields[_NUMBER])
        if number in PEOPLE and number != caller and Path(fields[_SHELL] or "/bin/sh").name not in _NO_LOGIN:
            found.append(fields[_NAME])
    return sorted(found)


def _began_by() -> int:
    """The person behind `sudo`, else who this process runs as."""
    behind = os.environ.get("SUDO_UID", "")
    return int(behind) if os.geteuid() == 0 and behind.isdecimal() else os.getuid()


def machine_name(of: Path = Path("/etc/machine-id")) -> str:
    """What tells this machine from others, without telling what it is called: from its id and its host name."""
    try:
        own = of.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        own = ""
    return hashlib.sha256(f"{own}\0{socket.gethostname()}".encode()).hexdigest()[:32]
