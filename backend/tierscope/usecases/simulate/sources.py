"""What can be replayed, and under which policies."""

from collections import defaultdict
from datetime import timedelta

from tierscope.domain import simulate as domain
from tierscope.domain.base.figures import Origin
from tierscope.domain.simulate import POLICIES, WORKLOADS, policies
from tierscope.domain.simulate.sweep import COST_SETTINGS, MACHINE_SETTINGS
from tierscope.storage.curve.page_samples import sampled_hosts
from tierscope.storage.simulate.trace_uploads import list_uploads
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.simulate.uploads import view_upload
from tierscope.usecases.simulate.views import (
    SampledHost,
    SampledService,
    Setting,
    SimulatorPolicies,
    SimulatorPolicy,
    SimulatorSources,
    Workload,
    WorkloadParameter,
)

SPAN = timedelta(days=7)


class SimulatorReads(ContextUseCase):
    """Reads of the simulator's tables, and of what there is to replay."""

    def policies(self) -> SimulatorPolicies:
        """All policies, with the settings that each has and those that all share."""
        return SimulatorPolicies(
            tuple(
                SimulatorPolicy(name, kind.label, kind.has_slow_tier, tuple(map(_view, kind.settings)))
                for name, kind in POLICIES.items()
            ),
            tuple(map(_view, MACHINE_SETTINGS)),
            tuple(map(_view, COST_SETTINGS)),
        )

    def sources(self) -> SimulatorSources:
        """Services with page samples of the last seven days, synthetic workloads, and uploaded traces."""
        now = self._context.clock()
        with self._context.database.read() as session:
            rows = sampled_hosts(session, now - SPAN)
            uploads = list_uploads(session)
        services: dict[tuple[str, str, Origin], list[SampledHost]] = defaultdict(list)
        for row in rows:
            host = SampledHost(
                row.host_id, row.host_name, row.n_pages, row.n_intervals, row.sampled_ratio, row.first_at, row.last_at
            )
            services[row.service_id, row.service_name, row.origin].append(host)
        return SimulatorSources(
            tuple(SampledService(*key, tuple(hosts)) for key, hosts in services.items()),
            tuple(_workload(name, workload) for name, workload in WORKLOADS.items()),
            tuple(map(view_upload, uploads)),
        )


def _workload(name: str, workload: domain.Workload) -> Workload:
    parameters = tuple(WorkloadParameter(key, value) for key, value in workload.parameters.items())
    return Workload(
        name, workload.label, workload.source, simulated=True, parameters=parameters, measured=workload.measured
    )


def _view(setting: policies.Setting) -> Setting:
    return Setting(
        setting.name,
        float(setting.default),
        float(setting.lowest),
        float(setting.highest),
        setting.unit,
        setting.source,
    )
