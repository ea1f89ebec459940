"""Resolving open alerts for a reason that lies outside of their condition."""

from datetime import datetime

from tierscope.core.database import WriteTransaction
from tierscope.storage.alerts.rows import AlertRow, ChangeRow, append_changes, open_alerts_of, update_alert


def close_alerts(transaction: WriteTransaction, rule_id: int, *, now: datetime, reason: str) -> None:
    """Resolve all open alerts of a rule. The caller holds the lock of alerts."""
    close_rows(transaction, open_alerts_of(transaction, [rule_id]), now=now, reason=reason)


def close_rows(transaction: WriteTransaction, rows: list[AlertRow], *, now: datetime, reason: str) -> None:
    """Resolve these alerts."""
    changes = []
    for row in rows:
        update_alert(transaction, row.id, {"state": "resolved", "resolved_at": now})
        changes.append(
            ChangeRow(
                row.id,
                row.rule_id,
                row.fingerprint,
                now,
                row.state,
                "resolved",
                row.severity,
                row.labels,
                row.value,
                row.summary,
                reason,
            )
        )
    append_changes(transaction, changes, now=now)
