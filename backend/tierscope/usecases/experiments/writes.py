"""Starting and ending experiments, with the marks that charts show, and freezing answers at the planned end."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.described import ASKED
from tierscope.domain.base.figures import Window
from tierscope.domain.experiments import Design, Direction, host_means
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.base.subjects import SubjectHost, SubjectService, hosts_of_service
from tierscope.storage.experiments.rows import (
    ArmName,
    ExperimentRow,
    arm_hosts,
    busy_hosts,
    due_to_freeze,
    find_advice,
    find_experiment,
    insert_experiment,
    lock_experiment,
    store_result,
)
from tierscope.storage.fleet import events as stored_events
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.experiments.answer import freeze, make_answer
from tierscope.usecases.experiments.arms import draw_canary, find_candidates
from tierscope.usecases.experiments.reads import FROZEN, require_metric
from tierscope.usecases.experiments.views import Excluded, Experiment, StartedExperiment
from tierscope.usecases.statistics.host_series import HostSeriesReads

GRACE = timedelta(minutes=15)
"""After the planned end, so that late data is counted before the answer is frozen."""
FROZEN_POINTS = 500
MAX_METRICS = 10
SEED_BITS = 53


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """A metric to judge. Without a direction the metric's own holds."""

    __pydantic_config__: ClassVar = ASKED

    metric: Annotated[
        str,
        Field(min_length=1, max_length=300, description="A key of the plan's `choices`, or a counter's key."),
    ]
    direction: Annotated[Direction | None, Field(default=None)]
    margin_ratio: Annotated[
        float, Field(default=0.05, gt=0, le=10, description="The smallest relative difference that matters.")
    ]


@dataclass(frozen=True, slots=True)
class NewExperiment:
    """An experiment as it is asked for: arms by name, or `canary_n` to draw them. Ids are the public ones.

    `seed` draws the arms; of named ones it is the seed with which they were drawn, None where they were chosen.
    """

    name: str
    service_id: str
    advice_id: str | None
    hypothesis: str
    metrics: tuple[MetricRequest, ...]
    canary: tuple[str, ...]
    control: tuple[str, ...]
    canary_n: int | None
    seed: int | None
    before_from: datetime
    change_at: datetime
    settling_seconds: int
    planned_end: datetime


class ExperimentWrites(ClockedUseCase):
    """Starts, ends and freezes experiments."""

    def create(self, new: NewExperiment, *, actor: str) -> StartedExperiment:
        """Store an experiment and mark its change.

        Raises:
            NotFound: no such service, advice or host.
            BadRequest: no such metric.
            Unprocessable: times, metrics or arms do not make an experiment.
            Conflict: a host is in another experiment at that time.
        """
        _check(new)
        now = self._clock()
        with self._database.write() as transaction:
            service = require_service(transaction, new.service_id)
            advice = None if new.advice_id is None else find_advice(transaction, new.advice_id, service.id)
            if new.advice_id is not None and advice is None:
                raise NotFound(f"there is no advice {new.advice_id[:80]!r} about this service")
            seed = new.seed if new.canary_n is None else _seed(new.seed)
            arms, excluded = self._arms(transaction, service, new, seed)
            public_id = "e" + secrets.token_hex(8)
            made = {"public_id": public_id, "created_at": now, "author": actor}
            values = {**_values(new, service, advice, seed), **made}
            insert_experiment(transaction, values, arms)
            count = len(arms["canary"])
            text = f"Experiment {new.name}: change on {count} canary host{'s' if count > 1 else ''}"
            _mark(transaction, service.id, new.change_at, "knob", text, actor)
            detail = {"name": new.name, "service": new.service_id, "canary": count, "control": len(arms["control"])}
            row = stored_access.AuditRow(now, actor, "experiment.create", public_id, detail)
            stored_access.append_audit(transaction, row)
        with self._database.read() as session:
            return StartedExperiment(self._answer(session, public_id), excluded)

    def end(self, experiment_id: str, *, actor: str) -> Experiment:
        """End an experiment now and freeze its answer. One that has ended already answers what it answered then.

        Raises:
            NotFound: there is no such experiment.
        """
        return self._freeze(experiment_id, at=self._clock(), actor=actor)

    def freeze_due(self) -> int:
        """Freeze the answers of experiments whose planned end has passed; how many."""
        with self._database.read() as session:
            due = due_to_freeze(session, self._clock() - GRACE)
        for experiment_id in due:
            self._freeze(experiment_id, at=self._clock(), actor="tierscope")
        return len(due)

    def _freeze(self, experiment_id: str, *, at: datetime, actor: str) -> Experiment:
        with self._database.write() as transaction:
            row = lock_experiment(transaction, experiment_id)
            if row is None:
                raise NotFound(f"there is no experiment {experiment_id[:80]!r}")
            if row.result is not None:
                return FROZEN.validate_python(row.result)
            ended_at = min(at, row.planned_end)
            ended = _ended(row, ended_at)
            hosts = arm_hosts(transaction, [row.id])[row.id]
            view = make_answer(transaction, ended, hosts, clock=self._clock, max_points=FROZEN_POINTS)
            view = freeze(view, ended_at)
            store_result(transaction, row.id, ended_at=ended_at, result=FROZEN.dump_python(view, mode="json"))
            verdict = (view.verdict or "inconclusive").replace("_", " ")
            _mark(transaction, row.service_id, ended_at, "note", f"Experiment {row.name} ended: {verdict}", actor)
            detail = {"name": row.name, "verdict": verdict}
            done = stored_access.AuditRow(at, actor, "experiment.end", experiment_id, detail)
            stored_access.append_audit(transaction, done)
        return view

    def _answer(self, session: ReadSession, public_id: str) -> Experiment:
        row = find_experiment(session, public_id)
        assert row is not None  # stored a moment ago; experiments are never deleted
        hosts = arm_hosts(session, [row.id])[row.id]
        return make_answer(session, row, hosts, clock=self._clock, max_points=FROZEN_POINTS)

    def _arms(
        self, transaction: WriteTransaction, service: SubjectService, new: NewExperiment, seed: int | None
    ) -> tuple[dict[ArmName, list[int]], tuple[Excluded, ...]]:
        if new.canary_n is not None and seed is not None:
            return self._drawn(transaction, service, new, seed)
        arms = self._named(transaction, service, new)
        if seed is not None:
            _check_drawn(transaction, service, arms, seed)
        return arms, ()

    def _named(
        self, transaction: WriteTransaction, service: SubjectService, new: NewExperiment
    ) -> dict[ArmName, list[int]]:
        known = {host.public_id: host.id for host in hosts_of_service(transaction, service.id)}
        unknown = [host for host in (*new.canary, *new.control) if host not in known]
        if unknown:
            raise NotFound(f"service {new.service_id} was never found on host {unknown[0][:80]!r}")
        busy = busy_hosts(transaction, new.change_at, new.planned_end)
        for host in (*new.canary, *new.control):
            if known[host] in busy:
                raise Conflict(
                    f"host {host} is in the experiment {busy[known[host]]!r} at that time",
                    next_step="Take another host, or end that experiment first.",
                )
        return {"canary": [known[host] for host in new.canary], "control": [known[host] for host in new.control]}

    def _drawn(
        self, transaction: WriteTransaction, service: SubjectService, new: NewExperiment, seed: int
    ) -> tuple[dict[ArmName, list[int]], tuple[Excluded, ...]]:
        hosts = hosts_of_service(transaction, service.id)
        found = find_candidates(
            transaction,
            service.public_id,
            now=self._clock(),
            span=(new.change_at, new.planned_end),
            with_data=self._with_data(transaction, service, new, hosts),
        )
        canary_n = new.canary_n or 0
        if len(found.hosts) <= canary_n:
            why = f" For example {found.excluded[0].name}: {found.excluded[0].why}." if found.excluded else ""
            raise Unprocessable(
                f"{len(found.hosts)} peer hosts can be drawn, which leaves no control hosts for {canary_n}.{why}",
                next_step="Ask for fewer canary hosts, or name the arms.",
            )
        canary, control = draw_canary(found.hosts, canary_n, seed)
        return {"canary": canary, "control": control}, found.excluded

    def _with_data(
        self, session: ReadSession, service: SubjectService, new: NewExperiment, hosts: Sequence[SubjectHost]
    ) -> set[int]:
        """Hosts with enough values of the first metric before the change; up to now, where that lies ahead."""
        until = min(new.change_at, self._clock())
        if until <= new.before_from:
            return {host.id for host in hosts}
        window = Window(new.before_from, until)
        metric = require_metric(new.metrics[0].metric)
        ids = [host.id for host in hosts]
        measured = HostSeriesReads(session, service, window, self._clock).read(metric, ids)
        start, end = window.start.timestamp(), window.end.timestamp()
        whole = host_means(measured.series, Design(start, end, start, end))
        return {host_id for host_id, known in zip(ids, whole.known.tolist(), strict=True) if known}


def _seed(asked: int | None) -> int:
    return secrets.randbits(SEED_BITS) if asked is None else asked


def _check_drawn(
    session: ReadSession, service: SubjectService, arms: Mapping[ArmName, Sequence[int]], seed: int
) -> None:
    """Arms that are said to be drawn come with the seed that draws them again; their effect is measured accordingly.

    Raises:
        Unprocessable: the seed draws other canary hosts among these.
    """
    named = {*arms["canary"], *arms["control"]}
    rows = list_hosts(session, wanted=HostFilter(service=service.public_id), after=None, limit=None)
    pool = [row for row in rows if row.id in named]
    canary, _ = draw_canary(pool, len(arms["canary"]), seed)
    if set(canary) != set(arms["canary"]):
        raise Unprocessable(
            "the seed draws other canary hosts among those that are named",
            next_step="Name the arms of the proposal as they are, or leave `seed` out.",
        )


def _ended(row: ExperimentRow, ended_at: datetime) -> ExperimentRow:
    return ExperimentRow(**{name: getattr(row, name) for name in row.__slots__} | {"ended_at": ended_at})


def _values(new: NewExperiment, service: SubjectService, advice: int | None, seed: int | None) -> Mapping[str, Any]:
    metrics = [
        {
            "metric": item.metric,
            "direction": item.direction or require_metric(item.metric).direction,
            "margin_ratio": item.margin_ratio,
        }
        for item in new.metrics
    ]
    return {
        "name": new.name,
        "service_id": service.id,
        "advice_id": advice,
        "hypothesis": new.hypothesis,
        "metrics": metrics,
        "before_from": new.before_from,
        "change_at": new.change_at,
        "settling_seconds": new.settling_seconds,
        "planned_end": new.planned_end,
        "seed": seed,
    }


def _mark(transaction: WriteTransaction, service_id: int, at: datetime, kind: str, text: str, actor: str) -> None:
    stored_events.insert_event(
        transaction, at=at, kind=kind, text=text, host_id=None, service_id=service_id, author=actor
    )


def _check(new: NewExperiment) -> None:
    names = [item.metric for item in new.metrics]
    for name in names:
        require_metric(name)
    if not names or len(names) > MAX_METRICS or len(set(names)) < len(names):
        raise Unprocessable(f"an experiment judges one to {MAX_METRICS} different metrics")
    if not new.before_from < new.change_at < new.planned_end:
        raise Unprocessable("`before_from` comes before `change_at`, and that before `planned_end`")
    if new.change_at + timedelta(seconds=new.settling_seconds) >= new.planned_end:
        raise Unprocessable("the settling period fills the time from `change_at` to `planned_end`")
    if "\0" in new.name + new.hypothesis:
        raise Unprocessable("name and hypothesis are text without NUL characters")
    if (new.canary_n is None) == (not new.canary and not new.control):
        raise Unprocessable("either name `canary` and `control`, or ask for `auto`")
    if new.canary_n is None:
        hosts = (*new.canary, *new.control)
        if not new.canary or not new.control:
            raise Unprocessable("an experiment needs canary hosts and control hosts")
        if len(set(hosts)) < len(hosts):
            raise Unprocessable("duplicate host in the arms")
