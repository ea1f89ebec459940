"""Reads of experiments: the list, one with its live or frozen answer, and the plan before starting."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

from pydantic import TypeAdapter

from tierscope.core.errors import BadRequest, NotFound
from tierscope.domain.base.copying import copied
from tierscope.domain.base.pages import Page
from tierscope.domain.statistics.host_metrics import HostMetric, find_host_metric
from tierscope.storage.experiments.rows import ArmHost, ExperimentRow, arm_hosts, find_experiment, list_experiments
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import decode_position, require_service
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.experiments.answer import make_answer, state_of
from tierscope.usecases.experiments.plan import make_plan
from tierscope.usecases.experiments.views import Experiment, ExperimentItem, ExperimentPlan

FROZEN = TypeAdapter(Experiment)
PLAN_WINDOW = timedelta(days=7)


class ExperimentReads(ContextUseCase):
    """Reads of experiments."""

    def show(self, experiment_id: str, *, max_points: int) -> Experiment:
        """One experiment. After its end the stored answer, else what the data says now.

        Raises:
            NotFound: there is no such experiment.
        """
        with self._context.database.read() as session:
            row = find_experiment(session, experiment_id)
            if row is None:
                raise NotFound(f"there is no experiment {experiment_id[:80]!r}")
            if row.result is not None:
                return FROZEN.validate_python(row.result)
            hosts = arm_hosts(session, [row.id])[row.id]
            return make_answer(session, row, hosts, clock=self._context.clock, max_points=max_points)

    def list(
        self,
        *,
        service: str | None,
        state: Literal["planned", "running", "ended"] | None,
        limit: int,
        cursor: str | None,
    ) -> Page[ExperimentItem]:
        """Experiments, newest first.

        Raises:
            BadRequest: the cursor is not one of ours.
        """
        before = None if cursor is None else decode_position(cursor)
        now = self._context.clock()
        with self._context.database.read() as session:
            rows = list_experiments(session, service=service, state=state, now=now, before=before, limit=limit)
            hosts = arm_hosts(session, [row.id for row in rows])
        items = tuple(self._summary(row, hosts[row.id]) for row in rows)
        return Page(items, str(rows[-1].id) if len(rows) == limit else None)

    def plan(
        self, service_id: str, *, metric: str, effect_ratio: float, from_: str | None, to: str | None
    ) -> ExperimentPlan:
        """What an experiment on a metric of a service would need, and what its peer hosts could find.

        Raises:
            NotFound: there is no such service.
            BadRequest: no such metric, or the window is not understood.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now, default=PLAN_WINDOW)
        known = require_metric(metric)
        with self._context.database.read() as session:
            service = require_service(session, service_id)
            return make_plan(session, service, known, effect_ratio, window, clock=self._context.clock)

    def _summary(self, row: ExperimentRow, hosts: Sequence[ArmHost]) -> ExperimentItem:
        result: dict[str, Any] = row.result or {}
        return copied(
            ExperimentItem,
            row,
            id=row.public_id,
            service_id=row.service_public_id,
            service_name=f"{row.namespace}/{row.service}",
            state=state_of(row, self._context.clock()),
            metrics=tuple(item.metric for item in row.metrics),
            n_canary=sum(host.arm == "canary" for host in hosts),
            n_control=sum(host.arm == "control" for host in hosts),
            verdict=result.get("verdict"),
            why=result.get("why"),
        )


def require_metric(key: str) -> HostMetric:
    """The metric of this key.

    Raises:
        BadRequest: there is none.
    """
    metric = find_host_metric(key)
    if metric is None:
        raise BadRequest(
            f"there is no metric {key[:80]!r}",
            next_step="Take one of `choices` of /v1/experiments/plan, or a rolled-up counter as scope|source|name.",
        )
    return metric
