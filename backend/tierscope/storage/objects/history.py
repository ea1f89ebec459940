"""Published days as the database knows them: each file that there is, and whether its day was rebuilt since."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.operate.history import HISTORY, HistoryKind, first_host_of

_LOCK_KEY = 0x7469_6572_6869_7374  # "tierhist"
_FIXED = frozenset({"kind", "ts", "first_host", "changes"})
_KEY = "kind = :kind AND ts = :day AND first_host = :first_host"


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """The file of a kind, a day and the hosts from a number on. Without rows there is none, and it is known."""

    kind: HistoryKind
    day: datetime
    first_host: int
    n_rows: int
    size_bytes: int
    digest: str
    hosts: tuple[int, ...]
    services: tuple[int, ...]
    built_at: datetime
    changes: int
    built_changes: int

    @property
    def changed(self) -> bool:
        """Whether the day was rebuilt since the file was made."""
        return self.changes > self.built_changes


def try_history_lock(transaction: WriteTransaction) -> bool:
    """Whether nobody else publishes; held until the transaction ends."""
    statement = text("SELECT pg_try_advisory_xact_lock(:key)")
    return bool(transaction.execute(statement, {"key": _LOCK_KEY}).scalar_one())


def note_changes(transaction: WriteTransaction, host_id: int, days: Sequence[datetime]) -> None:
    """Note that days of a host were rebuilt, where anything is published."""
    statement = text(
        "INSERT INTO history_files SELECT kind, day, :first_host, 0, 0, '', '{}', '{}', now(), 1, 0"
        " FROM unnest(CAST(:kinds AS text[])) AS kind, unnest(CAST(:days AS timestamptz[])) AS day"
        " WHERE EXISTS (SELECT FROM history_files) ON CONFLICT (kind, ts, first_host)"
        " DO UPDATE SET changes = history_files.changes + 1"
    )
    values = {"kinds": list(HISTORY), "days": list(days), "first_host": first_host_of(host_id)}
    transaction.execute(statement, values)


def list_days(
    transaction: WriteTransaction, kind: HistoryKind, days: Sequence[datetime], first_hosts: Sequence[int]
) -> None:
    """List files that are to be made, but those that are listed already."""
    statement = text(
        "INSERT INTO history_files SELECT :kind, day, first_host, 0, 0, '', '{}', '{}', now(), 1, 0"
        " FROM unnest(CAST(:days AS timestamptz[])) AS day, unnest(CAST(:first_hosts AS bigint[])) AS first_host"
        " ON CONFLICT (kind, ts, first_host) DO NOTHING"
    )
    transaction.execute(statement, {"kind": kind, "days": list(days), "first_hosts": list(first_hosts)})


def newest_days(session: ReadSession, kind: HistoryKind) -> dict[int, datetime]:
    """The newest day that is listed, by the first number of its hosts."""
    statement = text("SELECT first_host, max(ts) AS day FROM history_files WHERE kind = :kind GROUP BY first_host")
    return {row.first_host: row.day for row in session.execute(statement, {"kind": kind})}


def is_purging(session: ReadSession) -> bool:
    """Whether a host or service is being purged."""
    return bool(session.execute(text("SELECT EXISTS (SELECT FROM purges WHERE finished_at IS NULL)")).scalar_one())


def list_files(session: ReadSession, where: Literal["TRUE", "changes > built_changes"] = "TRUE") -> list[HistoryFile]:
    """All of them, or those whose day was rebuilt, by kind, day and hosts."""
    statement = text(
        "SELECT kind, ts AS day, first_host, n_rows, size_bytes, digest, hosts, services, built_at, changes,"  # noqa: S608
        f" built_changes FROM history_files WHERE {where} ORDER BY kind, ts, first_host"
    )
    found = session.execute(statement).mappings()
    return [HistoryFile(**{**row, "hosts": tuple(row["hosts"]), "services": tuple(row["services"])}) for row in found]


def store_file(transaction: WriteTransaction, file: HistoryFile) -> None:
    """Store what a file is; changes that were noted meanwhile stay noted."""
    values = asdict(file) | {"hosts": list(file.hosts), "services": list(file.services)}
    values["ts"] = values.pop("day")
    kept = ", ".join(f"{name} = excluded.{name}" for name in values if name not in _FIXED)
    statement = text(
        f"INSERT INTO history_files ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})"  # noqa: S608
        f" ON CONFLICT (kind, ts, first_host) DO UPDATE SET {kept}"
    )
    transaction.execute(statement, values)


def note_damage(transaction: WriteTransaction, file: HistoryFile) -> None:
    """Note that a file is not as it was made: it is to be made again."""
    statement = text(f"UPDATE history_files SET changes = changes + 1, digest = '' WHERE {_KEY}")  # noqa: S608
    transaction.execute(statement, _values(file))


def forget_file(transaction: WriteTransaction, file: HistoryFile) -> None:
    """Take a file off the list."""
    transaction.execute(text(f"DELETE FROM history_files WHERE {_KEY}"), _values(file))  # noqa: S608


def forget_all(transaction: WriteTransaction) -> int:
    """Take all files off the list, and leave them to who has them."""
    return transaction.execute(text("DELETE FROM history_files")).rowcount


def public_ids(session: ReadSession) -> dict[str, dict[int, str]]:
    """The ids of all hosts and services by number, by table."""
    return {
        table: {row.id: row.public_id for row in session.execute(text(f"SELECT id, public_id FROM {table}"))}  # noqa: S608
        for table in ("hosts", "services")
    }


def _values(file: HistoryFile) -> dict[str, Any]:
    return {"kind": file.kind, "day": file.day, "first_host": file.first_host}
