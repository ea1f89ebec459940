"""Generations of databases: what a process remembers of one must not outlive it.

A restore, a purge or a move of a host makes ids mean other rows, or none. Each session of a `Database` begins by
reading in its own transaction what tells the database's generation: a value that those who end ids renew in their
transaction (`WriteTransaction.renew_generation`), the identity of the table that holds it, which a restore makes anew,
and when the server started. So whoever reads it and then writes knows that nothing that was remembered under it has
ended, and a restore cannot come between, as it would have to wait for the table.

In the process generations of all databases are one count, which grows with each that is seen to be new. What is
remembered bears the count under which it was begun to be read, and counts for nothing under another.
"""

import threading
from typing import LiteralString

LOOK: LiteralString = (
    "SELECT 'installation'::regclass::oid, extract(epoch FROM pg_postmaster_start_time()), g.value"
    " FROM (VALUES (0)) AS one (row) LEFT JOIN installation AS g ON g.key = 'generation'"
)
"""What tells a generation. The table is locked until the transaction ends, against a restore alone."""
RENEW: LiteralString = (
    "INSERT INTO installation (key, value) VALUES ('generation', %(value)s)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_MOST_DATABASES = 4096

_lock = threading.Lock()
_told: dict[str, tuple[object, ...]] = {}
_count = 0


def current() -> int:
    """The count of generations that this process has seen: what is remembered under another one counts for nothing."""
    return _count


def seen(url: str, told: tuple[object, ...]) -> int:
    """Notes what a session of a database was told; returns the count that what it reads may be remembered under."""
    global _count  # noqa: PLW0603 - of the process, as what it remembers is
    if _told.get(url) == told:
        return _count
    with _lock:
        before = _told.get(url)
        if before is not None and before != told:
            _count += 1
        if len(_told) >= _MOST_DATABASES and before is None:
            _told.clear()
            _count += 1
        _told[url] = told
        return _count
