"""Labels of hosts: where each comes from, and which one is in force."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction

IN_FORCE = "kubernetes_labels || agent_labels || set_labels || fixed_labels"
"""SQL: of the same key, the later source wins."""


@dataclass(frozen=True, slots=True)
class LabelledHost:
    """A host with its labels by source; `labels` are those in force."""

    number: int
    host_id: str
    name: str
    labels: dict[str, str]
    kubernetes: dict[str, str]
    agent: dict[str, str]
    service: dict[str, str]
    fixed: dict[str, str]


_SELECT = (
    "SELECT id AS number, public_id AS host_id, name, labels, kubernetes_labels AS kubernetes, agent_labels AS agent,"
    " set_labels AS service, fixed_labels AS fixed FROM hosts WHERE revoked_at IS NULL"
)


def find_labelled(session: ReadSession, public_id: str) -> LabelledHost | None:
    """One host."""
    rows = session.execute(text(f"{_SELECT} AND public_id = :id"), {"id": public_id}).mappings()
    return next((_host(row) for row in rows), None)


def find_labelled_by_words(session: ReadSession, words: Iterable[str]) -> list[LabelledHost]:
    """Hosts whose id or name is one of `words`."""
    statement = text(f"{_SELECT} AND (public_id = ANY(:words) OR name = ANY(:words)) ORDER BY name, id")
    return [_host(row) for row in session.execute(statement, {"words": list(words)}).mappings()]


def store_set_labels(transaction: WriteTransaction, wanted: Mapping[int, Mapping[str, str]]) -> None:
    """Replace the labels that were set in the service, by the number of the host."""
    rows = [
        {"host": host, "labels": json.dumps(dict(labels), ensure_ascii=False)}
        for host, labels in sorted(wanted.items())
    ]
    if rows:
        transaction.execute(text("UPDATE hosts SET set_labels = CAST(:labels AS jsonb) WHERE id = :host"), rows)
        refresh_labels(transaction, wanted)


def refresh_labels(transaction: WriteTransaction, hosts: Iterable[int]) -> None:
    """Bring `labels` of hosts in line with their sources."""
    statement = text(f"UPDATE hosts SET labels = {IN_FORCE} WHERE id = ANY(:hosts)")  # noqa: S608 - a constant
    transaction.execute(statement, {"hosts": sorted(hosts)})


def _host(row: Any) -> LabelledHost:  # noqa: ANN401 - a row of the driver
    return LabelledHost(**row)
