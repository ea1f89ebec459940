"""Dependencies that hand a request the use case it goes through, on the application's database and clock."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, cast

from fastapi import Request

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.usecases.alerts.backtest import Backtests
from tierscope.usecases.alerts.reads import AlertReads
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.capacity.plan import CapacityPlans
from tierscope.usecases.capacity.reads import CapacityReads
from tierscope.usecases.counters.reads import CounterReads
from tierscope.usecases.counters.service_metrics import ServiceMetricReads
from tierscope.usecases.curve.reaccess import RevisitReads
from tierscope.usecases.curve.reads import CurveReads
from tierscope.usecases.experiments.reads import ExperimentReads
from tierscope.usecases.experiments.writes import ExperimentWrites
from tierscope.usecases.fleet.agent_versions import AgentVersions
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.fleet.labels import Labels
from tierscope.usecases.fleet.overview import FleetReads
from tierscope.usecases.fleet.services import ServiceReads
from tierscope.usecases.heat.reads import HeatReads
from tierscope.usecases.ingest.series import Series
from tierscope.usecases.knobs.reads import KnobReads
from tierscope.usecases.ledger.ping_pong_reads import PingPongReads
from tierscope.usecases.ledger.reads import LedgerReads
from tierscope.usecases.notifications.reads import NotificationLog
from tierscope.usecases.notifications.routes import AlertRoutes
from tierscope.usecases.notifications.silences import Silences
from tierscope.usecases.operate.data_quality import DataQualityReads
from tierscope.usecases.operate.purges import Purges
from tierscope.usecases.operate.status import StatusReads
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.usecases.reports.schedules import Reports
from tierscope.usecases.sensitivity.objectives import ObjectiveReads
from tierscope.usecases.sensitivity.reads import SensitivityReads
from tierscope.usecases.sensitivity.stability import StabilityReads
from tierscope.usecases.simulate.reads import SweepReads
from tierscope.usecases.simulate.sources import SimulatorReads
from tierscope.usecases.simulate.uploads import TraceUploads
from tierscope.usecases.simulate.writes import SweepWrites
from tierscope.usecases.statistics.reads import FleetStatisticsReads
from tierscope.usecases.tco.prices import Prices
from tierscope.usecases.tco.reads import TcoReads
from tierscope.usecases.tco.scenarios import Scenarios
from tierscope.usecases.tiles.reads import TileReads

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Dependency = Callable[[Request], Awaitable[T]]


class _OnDatabase(Protocol[T_co]):
    """What is made from a database and a clock."""

    def __call__(self, database: Database, *, clock: Clock) -> T_co: ...


def _on_context(make: Callable[[ReadContext], T]) -> Dependency[T]:
    """The dependency of a use case that is made from the application's context."""

    async def found(request: Request) -> T:
        return make(request.app.state.reads)

    return found


def _on_database(make: _OnDatabase[T]) -> Dependency[T]:
    """The dependency of a use case that is made from a database and a clock."""
    return _on_context(lambda context: make(context.database, clock=context.clock))


async def status_reads(request: Request) -> StatusReads:
    """The application's reads of its own health, which remember what they have judged."""
    return cast("StatusReads", request.app.state.status)


async def tco_reads(request: Request) -> TcoReads:
    """What-if of cost; one for the application, because it keeps the advice that it read."""
    return cast("TcoReads", request.app.state.tco)


host_reads = _on_context(HostReads)
"""Reads of hosts."""
counter_reads = _on_context(CounterReads)
"""Reads of counter series."""
ledger_reads = _on_context(LedgerReads)
"""Reads of the tier-move ledger."""
heat_reads = _on_context(HeatReads)
"""Reads of heat."""
revisit_reads = _on_context(RevisitReads)
"""Reads of revisit times."""
ratio_reads = _on_context(RatioReads)
"""Reads of ratio advice."""
knob_reads = _on_context(KnobReads)
"""Reads of knob advice."""
sensitivity_reads = _on_context(SensitivityReads)
"""Reads of how throughput follows memory in DRAM."""
stability_reads = _on_context(StabilityReads)
"""Reads of how steady a service is."""
ping_pong_reads = _on_context(PingPongReads)
"""Reads of ping-pong over time."""
curve_reads = _on_context(CurveReads)
"""Reads of served-accesses curves."""
objective_reads = _on_context(ObjectiveReads)
"""Reads of service levels."""
tile_reads = _on_context(TileReads)
"""Reads of heat tiles."""
service_reads = _on_context(ServiceReads)
"""Reads of services."""
service_metric_reads = _on_context(ServiceMetricReads)
"""Reads of what services say of themselves."""
fleet_reads = _on_context(FleetReads)
"""Reads of the fleet overview."""
experiment_reads = _on_context(ExperimentReads)
"""Reads of experiments."""
experiment_writes = _on_database(ExperimentWrites)
"""Starts and ends of experiments."""
fleet_statistics_reads = _on_context(FleetStatisticsReads)
"""Reads of statistics over many hosts."""
price_book = _on_database(Prices)
"""The price book."""
scenario_store = _on_database(Scenarios)
"""Stored scenarios."""
simulator_reads = _on_context(SimulatorReads)
"""Reads of policies, and of what can be replayed."""
sweep_reads = _on_context(SweepReads)
"""Reads of sweeps."""
sweep_writes = _on_database(SweepWrites)
"""Starts and ends of sweeps."""
trace_uploads = _on_database(TraceUploads)
"""Uploaded page traces."""
rules_of = _on_database(Rules)
"""Alert rules."""
backtests = _on_database(Backtests)
"""Rules over stored minutes."""
alert_reads = _on_context(AlertReads)
"""Reads of alerts."""
series_reads = _on_context(Series)
"""Reads of series of Prometheus."""
silences_of = _on_database(Silences)
"""Silences and acknowledgements."""
alert_routes = _on_context(AlertRoutes)
"""Where alerts are sent."""
notification_log = _on_database(NotificationLog)
"""What was sent."""
capacity_reads = _on_context(CapacityReads)
"""Reads of capacity."""
capacity_plans = _on_context(CapacityPlans)
"""Plans of hosts."""
reports_of = _on_context(Reports)
"""Scheduled reports."""
agent_versions = _on_context(AgentVersions)
"""Reads of agents' releases."""
data_quality_reads = _on_context(DataQualityReads)
"""Reads of data quality."""
labels_of = _on_database(Labels)
"""Labels of hosts."""
purges_of = _on_database(Purges)
"""Jobs that remove data."""
