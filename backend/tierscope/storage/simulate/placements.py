"""What a service's sampled pages say of a policy at several DRAM shares, as stored for ratio advice."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction


@dataclass(frozen=True, slots=True)
class StoredPlacement:
    """A replay, and when it was made."""

    made_at: datetime
    body: dict[str, Any]


def find_placement(session: ReadSession, service_id: int, policy: str) -> StoredPlacement | None:
    """The replay of a service under a policy; None where there is none."""
    statement = text("SELECT made_at, body FROM replayed_placements WHERE service_id = :service AND policy = :policy")
    row = session.execute(statement, {"service": service_id, "policy": policy}).one_or_none()
    return None if row is None else StoredPlacement(row.made_at, row.body)


def store_placement(
    transaction: WriteTransaction, service_id: int, policy: str, made_at: datetime, body: Mapping[str, Any]
) -> None:
    """Store a replay in place of the one before."""
    statement = text(
        "INSERT INTO replayed_placements (service_id, policy, made_at, body)"
        " VALUES (:service, :policy, :made_at, CAST(:body AS jsonb))"
        " ON CONFLICT (service_id, policy) DO UPDATE SET made_at = excluded.made_at, body = excluded.body"
    )
    values = {"service": service_id, "policy": policy, "made_at": made_at, "body": json.dumps(body)}
    transaction.execute(statement, values)
