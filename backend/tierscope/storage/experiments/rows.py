"""Experiments as stored, with the hosts of their arms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import insert, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import experiment_hosts, experiments

ArmName = Literal["canary", "control"]

_SELECT = (
    "SELECT e.id, e.public_id, e.name, e.service_id, s.public_id AS service_public_id, s.namespace, s.name AS service,"
    " a.public_id AS advice_id, e.hypothesis, e.metrics, e.before_from, e.change_at, e.settling_seconds, e.planned_end,"
    " e.ended_at, e.result, e.created_at, e.author, e.seed FROM experiments e JOIN services s ON s.id = e.service_id"
    " LEFT JOIN advice a ON a.id = e.advice_id"
)


@dataclass(frozen=True, slots=True)
class StoredMetric:
    """A metric that an experiment judges."""

    metric: str
    direction: Literal["higher_is_better", "lower_is_better"]
    margin_ratio: float


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """An experiment. `result` is the frozen answer, None while it runs; `seed` of arms drawn at random."""

    id: int
    public_id: str
    name: str
    service_id: int
    service_public_id: str
    namespace: str
    service: str
    advice_id: str | None
    hypothesis: str
    metrics: tuple[StoredMetric, ...]
    before_from: datetime
    change_at: datetime
    settling_seconds: int
    planned_end: datetime
    ended_at: datetime | None
    result: dict[str, Any] | None
    created_at: datetime
    author: str
    seed: int | None

    @property
    def end(self) -> datetime:
        """When it ended, or is to end."""
        return self.planned_end if self.ended_at is None else min(self.ended_at, self.planned_end)


@dataclass(frozen=True, slots=True)
class ArmHost:
    """A host of an arm."""

    id: int
    public_id: str
    name: str
    arm: ArmName


def insert_experiment(
    transaction: WriteTransaction, values: Mapping[str, object], arms: Mapping[ArmName, Sequence[int]]
) -> int:
    """Store an experiment with its hosts; the id."""
    made = transaction.execute(insert(experiments).values(dict(values)).returning(experiments.c.id)).scalar_one()
    rows = [{"experiment_id": made, "host_id": host, "arm": arm} for arm, hosts in arms.items() for host in hosts]
    transaction.execute(insert(experiment_hosts), rows)
    return int(made)


def find_experiment(session: ReadSession, public_id: str) -> ExperimentRow | None:
    """One experiment by its public id."""
    rows = session.execute(text(f"{_SELECT} WHERE e.public_id = :id"), {"id": public_id}).mappings()
    return next((_row(row) for row in rows), None)


def lock_experiment(transaction: WriteTransaction, public_id: str) -> ExperimentRow | None:
    """One experiment, locked until the transaction ends."""
    transaction.execute(text("SELECT id FROM experiments WHERE public_id = :id FOR UPDATE"), {"id": public_id})
    return find_experiment(transaction, public_id)


def list_experiments(
    session: ReadSession,
    *,
    service: str | None,
    state: Literal["planned", "running", "ended"] | None,
    now: datetime,
    before: int | None,
    limit: int,
) -> list[ExperimentRow]:
    """Experiments, newest first; `before` is the id of the last one seen."""
    ended = "(e.ended_at IS NOT NULL OR e.planned_end <= :now)"
    states = {
        "ended": ended,
        "running": f"(NOT {ended} AND e.change_at <= :now)",
        "planned": f"(NOT {ended} AND e.change_at > :now)",
    }
    wanted = ["true"]
    wanted += [] if service is None else ["s.public_id = :service"]
    wanted += [] if state is None else [states[state]]
    wanted += [] if before is None else ["e.id < :before"]
    statement = text(f"{_SELECT} WHERE {' AND '.join(wanted)} ORDER BY e.id DESC LIMIT :limit")
    values = {"service": service, "now": now, "before": before, "limit": limit}
    bound = {name: value for name, value in values.items() if f":{name}" in str(statement)}
    return [_row(row) for row in session.execute(statement, bound).mappings()]


def arm_hosts(session: ReadSession, experiment_ids: Sequence[int]) -> dict[int, list[ArmHost]]:
    """Hosts of experiments, by arm and name."""
    statement = text(
        "SELECT e.experiment_id, h.id, h.public_id, h.name, e.arm FROM experiment_hosts e JOIN hosts h"
        " ON h.id = e.host_id WHERE e.experiment_id = ANY(:ids) ORDER BY e.arm, h.name, h.id"
    )
    found: dict[int, list[ArmHost]] = {experiment: [] for experiment in experiment_ids}
    for row in session.execute(statement, {"ids": list(experiment_ids)}):
        found[row.experiment_id].append(ArmHost(row.id, row.public_id, row.name, row.arm))
    return found


def busy_hosts(session: ReadSession, start: datetime, end: datetime) -> dict[int, str]:
    """Hosts in an experiment whose change and end enclose any of [start, end), with the experiment's name."""
    statement = text(
        "SELECT h.host_id, e.name FROM experiment_hosts h JOIN experiments e ON e.id = h.experiment_id"
        " WHERE e.before_from < :end AND least(coalesce(e.ended_at, e.planned_end), e.planned_end) > :start"
    )
    return {int(row.host_id): str(row.name) for row in session.execute(statement, {"start": start, "end": end})}


def find_advice(session: ReadSession, public_id: str, service_id: int) -> int | None:
    """The id of an advice about a service, or about one of its hosts."""
    statement = text(
        "SELECT id FROM advice WHERE public_id = :id AND (service_id = :service"
        " OR host_id IN (SELECT host_id FROM host_services WHERE service_id = :service))"
    )
    found = session.execute(statement, {"id": public_id, "service": service_id}).scalar_one_or_none()
    return None if found is None else int(found)


def due_to_freeze(session: ReadSession, before: datetime) -> list[str]:
    """Experiments without a stored answer whose end lies before a moment."""
    statement = text(
        "SELECT public_id FROM experiments WHERE result IS NULL AND planned_end <= :before ORDER BY id LIMIT 100"
    )
    return list(session.execute(statement, {"before": before}).scalars())


def store_result(
    transaction: WriteTransaction, experiment_id: int, *, ended_at: datetime, result: Mapping[str, Any]
) -> None:
    """Freeze the answer."""
    statement = experiments.update().where(experiments.c.id == experiment_id)
    transaction.execute(statement.values(ended_at=ended_at, result=dict(result)))


def _row(row: Any) -> ExperimentRow:  # noqa: ANN401 - a row of the driver
    fields = dict(row)
    metrics = tuple(
        StoredMetric(item["metric"], item["direction"], float(item["margin_ratio"])) for item in fields.pop("metrics")
    )
    return ExperimentRow(metrics=metrics, **fields)
