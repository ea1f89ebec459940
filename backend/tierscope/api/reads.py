"""Dependencies that hand a request the use case it reads through, on the application's database and clock."""

from typing import cast

from fastapi import Request

from tierscope.usecases.alerts.backtest import Backtests
from tierscope.usecases.alerts.reads import AlertReads
from tierscope.usecases.capacity.plan import CapacityPlans
from tierscope.usecases.capacity.reads import CapacityReads
from tierscope.usecases.counters import CounterReads
from tierscope.usecases.curve import CurveReads
from tierscope.usecases.experiments.reads import ExperimentReads
from tierscope.usecases.experiments.writes import ExperimentWrites
from tierscope.usecases.fleet import FleetReads
from tierscope.usecases.fleet_statistics.reads import FleetStatisticsReads
from tierscope.usecases.heat import HeatReads
from tierscope.usecases.hosts import HostReads
from tierscope.usecases.knobs import KnobReads
from tierscope.usecases.notifications.reads import NotificationLog
from tierscope.usecases.objectives import ObjectiveReads
from tierscope.usecases.ping_pong_reads import PingPongReads
from tierscope.usecases.prices import Prices
from tierscope.usecases.ratio import RatioReads
from tierscope.usecases.reports.schedules import Reports
from tierscope.usecases.revisit import RevisitReads
from tierscope.usecases.routes import AlertRoutes
from tierscope.usecases.rules import Rules
from tierscope.usecases.scenarios import Scenarios
from tierscope.usecases.sensitivity import SensitivityReads
from tierscope.usecases.service_metrics import ServiceMetricReads
from tierscope.usecases.services import ServiceReads
from tierscope.usecases.silences import Silences
from tierscope.usecases.stability import StabilityReads
from tierscope.usecases.status import StatusReads
from tierscope.usecases.sweeps.reads import SweepReads
from tierscope.usecases.sweeps.sources import SimulatorReads
from tierscope.usecases.sweeps.uploads import TraceUploads
from tierscope.usecases.sweeps.writes import SweepWrites
from tierscope.usecases.tco import TcoReads
from tierscope.usecases.tier_moves import LedgerReads
from tierscope.usecases.tiles import TileReads


def host_reads(request: Request) -> HostReads:
    """Reads of hosts."""
    return HostReads(request.app.state.reads)


def counter_reads(request: Request) -> CounterReads:
    """Reads of counter series."""
    return CounterReads(request.app.state.reads)


def ledger_reads(request: Request) -> LedgerReads:
    """Reads of the tier-move ledger."""
    return LedgerReads(request.app.state.reads)


def heat_reads(request: Request) -> HeatReads:
    """Reads of heat."""
    return HeatReads(request.app.state.reads)


def revisit_reads(request: Request) -> RevisitReads:
    """Reads of revisit times."""
    return RevisitReads(request.app.state.reads)


def ratio_reads(request: Request) -> RatioReads:
    """Reads of ratio advice."""
    return RatioReads(request.app.state.reads)


def knob_reads(request: Request) -> KnobReads:
    """Reads of knob advice."""
    return KnobReads(request.app.state.reads)


def sensitivity_reads(request: Request) -> SensitivityReads:
    """Reads of how throughput follows memory in DRAM."""
    return SensitivityReads(request.app.state.reads)


def stability_reads(request: Request) -> StabilityReads:
    """Reads of how steady a service is."""
    return StabilityReads(request.app.state.reads)


def ping_pong_reads(request: Request) -> PingPongReads:
    """Reads of ping-pong over time."""
    return PingPongReads(request.app.state.reads)


def curve_reads(request: Request) -> CurveReads:
    """Reads of served-accesses curves."""
    return CurveReads(request.app.state.reads)


def objective_reads(request: Request) -> ObjectiveReads:
    """Reads of service levels."""
    return ObjectiveReads(request.app.state.reads)


def tile_reads(request: Request) -> TileReads:
    """Reads of heat tiles."""
    return TileReads(request.app.state.reads)


def service_reads(request: Request) -> ServiceReads:
    """Reads of services."""
    return ServiceReads(request.app.state.reads)


def service_metric_reads(request: Request) -> ServiceMetricReads:
    """Reads of what services say of themselves."""
    return ServiceMetricReads(request.app.state.reads)


def fleet_reads(request: Request) -> FleetReads:
    """Reads of the fleet overview."""
    return FleetReads(request.app.state.reads)


def status_reads(request: Request) -> StatusReads:
    """Reads of the installation's health."""
    return StatusReads(request.app.state.reads)


def experiment_reads(request: Request) -> ExperimentReads:
    """Reads of experiments."""
    return ExperimentReads(request.app.state.reads)


def experiment_writes(request: Request) -> ExperimentWrites:
    """Starts and ends of experiments."""
    context = request.app.state.reads
    return ExperimentWrites(context.database, clock=context.clock)


def fleet_statistics_reads(request: Request) -> FleetStatisticsReads:
    """Reads of statistics over many hosts."""
    return FleetStatisticsReads(request.app.state.reads)


def price_book(request: Request) -> Prices:
    """The price book."""
    context = request.app.state.reads
    return Prices(context.database, clock=context.clock)


def scenario_store(request: Request) -> Scenarios:
    """Stored scenarios."""
    context = request.app.state.reads
    return Scenarios(context.database, clock=context.clock)


def tco_reads(request: Request) -> TcoReads:
    """What-if of cost; one for the application, because it keeps the advice that it read."""
    return cast("TcoReads", request.app.state.tco)


def simulator_reads(request: Request) -> SimulatorReads:
    """Reads of policies, and of what can be replayed."""
    return SimulatorReads(request.app.state.reads)


def sweep_reads(request: Request) -> SweepReads:
    """Reads of sweeps."""
    return SweepReads(request.app.state.reads)


def sweep_writes(request: Request) -> SweepWrites:
    """Starts and ends of sweeps."""
    context = request.app.state.reads
    return SweepWrites(context.database, clock=context.clock)


def trace_uploads(request: Request) -> TraceUploads:
    """Uploaded page traces."""
    context = request.app.state.reads
    return TraceUploads(context.database, clock=context.clock)


def rules_of(request: Request) -> Rules:
    """Alert rules."""
    context = request.app.state.reads
    return Rules(context.database, clock=context.clock)


def backtests(request: Request) -> Backtests:
    """Rules over stored minutes."""
    context = request.app.state.reads
    return Backtests(context.database, clock=context.clock)


def alert_reads(request: Request) -> AlertReads:
    """Reads of alerts."""
    return AlertReads(request.app.state.reads)


def silences_of(request: Request) -> Silences:
    """Silences and acknowledgements."""
    context = request.app.state.reads
    return Silences(context.database, clock=context.clock)


def alert_routes(request: Request) -> AlertRoutes:
    """Where alerts are sent."""
    return AlertRoutes(request.app.state.reads)


def notification_log(request: Request) -> NotificationLog:
    """What was sent."""
    context = request.app.state.reads
    return NotificationLog(context.database, clock=context.clock)


def capacity_reads(request: Request) -> CapacityReads:
    """Reads of capacity."""
    return CapacityReads(request.app.state.reads)


def capacity_plans(request: Request) -> CapacityPlans:
    """Plans of hosts."""
    return CapacityPlans(request.app.state.reads)


def reports_of(request: Request) -> Reports:
    """Scheduled reports."""
    return Reports(request.app.state.reads)
