"""A sweep as asked, and how far it is."""

from tierscope.domain.base.copying import copied
from tierscope.domain.simulate import make_policy
from tierscope.storage.simulate.sweeps import SweepRow
from tierscope.usecases.simulate.spec import read_spec
from tierscope.usecases.simulate.views import Sweep, SweepCost, SweepSource, SweepTask


def label_of(policy: str) -> str:
    """What people call a policy."""
    return make_policy(policy).kind.label


def view_sweep(row: SweepRow) -> Sweep:
    """What was asked, with the progress of its tasks."""
    spec = read_spec(row.spec)
    source = spec.source
    done, total = sum(task.done for task in row.tasks), sum(task.total for task in row.tasks)
    return copied(
        Sweep,
        spec,
        id=row.public_id,
        name=row.name,
        source=copied(SweepSource, source),
        cost=SweepCost(spec.prices.slow_ratio, spec.prices.swap_ratio),
        status=row.status,
        tasks=tuple(
            SweepTask(task.policy, label_of(task.policy), task.status, task.done, task.total, task.error)
            for task in row.tasks
        ),
        done=done,
        total=total,
        progress_ratio=done / total if total else 1.0,
        created_by=row.author,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        origin="simulated",
    )
