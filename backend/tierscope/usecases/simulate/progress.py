"""A sweep as asked, and how far it is."""

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
    return Sweep(
        id=row.public_id,
        name=row.name,
        source=SweepSource(
            kind=source.kind,
            name=source.name,
            service_id=source.service_id,
            host_id=source.host_id,
            workload=source.workload,
            pages=source.pages,
            intervals=source.intervals,
            upload_id=source.upload_id,
            window=source.window,
        ),
        policies=spec.policies,
        dram_ratios=spec.dram_ratios,
        settings=spec.settings,
        search=spec.search,
        seed=spec.seed,
        cpu_seconds=spec.cpu_seconds,
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
