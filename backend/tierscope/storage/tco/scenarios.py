"""Scenarios of cost, as stored. A change names the version that it was made from; a stale one changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import scenarios

_c = scenarios.c


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """A scenario; `public_id` is what others see, `yaml` None where no file was written for it."""

    id: int
    public_id: str
    name: str
    version: int
    spec: dict[str, Any]
    yaml: str | None
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str


_SELECT = select(*(_c[name] for name in ScenarioRow.__dataclass_fields__))


def insert_scenario(transaction: WriteTransaction, values: Mapping[str, object]) -> None:
    """Store a scenario."""
    transaction.execute(insert(scenarios).values(dict(values)))


def find_scenario(session: ReadSession, public_id: str) -> ScenarioRow | None:
    """One scenario by its public id."""
    row = session.execute(_SELECT.where(_c.public_id == public_id)).mappings().one_or_none()
    return None if row is None else ScenarioRow(**row)


def list_scenarios(session: ReadSession, *, before: int | None, limit: int) -> list[ScenarioRow]:
    """Scenarios, newest first; `before` is the id of the last one seen."""
    statement = _SELECT.order_by(_c.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(_c.id < before)
    return [ScenarioRow(**row) for row in session.execute(statement).mappings()]


def update_scenario(
    transaction: WriteTransaction, public_id: str, version: int, values: Mapping[str, object]
) -> ScenarioRow | None:
    """Change a scenario that still has this version; None where it has not."""
    statement = (
        update(scenarios)
        .where(_c.public_id == public_id, _c.version == version)
        .values(version=version + 1, **values)
        .returning(_c.id)
    )
    if transaction.execute(statement).one_or_none() is None:
        return None
    return find_scenario(transaction, public_id)


def delete_scenario(transaction: WriteTransaction, public_id: str) -> ScenarioRow | None:
    """Delete a scenario and return what it said; None where there is none."""
    row = find_scenario(transaction, public_id)
    if row is not None:
        transaction.execute(delete(scenarios).where(_c.public_id == public_id))
    return row
