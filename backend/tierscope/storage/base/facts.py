"""Facts of the installation as a whole: one value by key."""

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction


def find_fact(session: ReadSession, key: str) -> str | None:
    """What is kept under a key; None where nothing is."""
    found = session.execute(text("SELECT value FROM installation WHERE key = :key"), {"key": key}).scalar_one_or_none()
    return None if found is None else str(found)


def store_fact_once(transaction: WriteTransaction, key: str, value: str) -> str:
    """Keep a value where the key has none; returns the one that stands."""
    transaction.execute(
        text("INSERT INTO installation (key, value) VALUES (:key, :value) ON CONFLICT DO NOTHING"),
        {"key": key, "value": value},
    )
    return find_fact(transaction, key) or value


def store_fact(transaction: WriteTransaction, key: str, value: str) -> None:
    """Keep a value in place of the one before."""
    statement = text(
        "INSERT INTO installation (key, value) VALUES (:key, :value)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    )
    transaction.execute(statement, {"key": key, "value": value})


def delete_fact(transaction: WriteTransaction, key: str) -> None:
    """Keep nothing under a key any more."""
    transaction.execute(text("DELETE FROM installation WHERE key = :key"), {"key": key})
