"""The use cases of an application, each made once, on one database and one clock; and how a request gets at them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Request
from prometheus_client import CollectorRegistry

from tierscope.api.base.answers import Answer
from tierscope.api.base.kept_answers import Answers, AtOnce
from tierscope.api.base.rate_limits import RateLimiter
from tierscope.api.base.request_meters import Meters
from tierscope.api.base.turns import Turns, make_door
from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.process_memory import FreedMemory
from tierscope.core.settings import Settings
from tierscope.usecases.access.audit import AuditTrail
from tierscope.usecases.access.oidc.login import make_oidc_login
from tierscope.usecases.access.own_tokens import OwnTokens
from tierscope.usecases.access.password_work import PasswordWork
from tierscope.usecases.access.passwords import Passwords
from tierscope.usecases.access.teams import Teams
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.access.users import Users
from tierscope.usecases.access.views import SavedViews
from tierscope.usecases.alerts.backtest import Backtests
from tierscope.usecases.alerts.incident import IncidentReads
from tierscope.usecases.alerts.reads import AlertReads
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.alerts.triage import TriageReads
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.doubts import HostDoubts
from tierscope.usecases.capacity.plan import CapacityPlans
from tierscope.usecases.capacity.reads import CapacityReads
from tierscope.usecases.counters.reads import CounterReads
from tierscope.usecases.counters.service_metrics import ServiceMetricReads
from tierscope.usecases.curve.reaccess import RevisitReads
from tierscope.usecases.curve.reads import CurveReads
from tierscope.usecases.experiments.reads import ExperimentReads
from tierscope.usecases.experiments.writes import ExperimentWrites
from tierscope.usecases.fairness.incidents import TakenReads
from tierscope.usecases.fairness.limits import LimitReads
from tierscope.usecases.fairness.reads import FairnessReads
from tierscope.usecases.fleet.agent_plans import AgentPlans
from tierscope.usecases.fleet.agent_versions import AgentVersionReads
from tierscope.usecases.fleet.agents import Agents
from tierscope.usecases.fleet.events import Events
from tierscope.usecases.fleet.grid import GridReads
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.fleet.labels import Labels
from tierscope.usecases.fleet.looks import Looks
from tierscope.usecases.fleet.overview import FleetReads
from tierscope.usecases.fleet.pods import PodReads
from tierscope.usecases.fleet.services import ServiceReads
from tierscope.usecases.fleet.tags import TagReads
from tierscope.usecases.heat.reads import HeatReads
from tierscope.usecases.ingest.by_node import IngestByNode
from tierscope.usecases.ingest.otlp import OtlpMetrics
from tierscope.usecases.ingest.remote_write import RemoteWrite
from tierscope.usecases.ingest.series import Series
from tierscope.usecases.knobs.advice import Advice
from tierscope.usecases.knobs.canaries import Canaries
from tierscope.usecases.knobs.drift import SettingDrifts
from tierscope.usecases.knobs.plan import ChangePlans
from tierscope.usecases.knobs.reads import KnobReads
from tierscope.usecases.knobs.swap_tier import SwapTierReads
from tierscope.usecases.ledger.ping_pong_reads import PingPongReads
from tierscope.usecases.ledger.reads import LedgerReads
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.watch import NodeWatch
from tierscope.usecases.notifications.reads import NotificationLog
from tierscope.usecases.notifications.routes import AlertRoutes
from tierscope.usecases.notifications.silences import Silences
from tierscope.usecases.operate.data_quality import DataQualityReads
from tierscope.usecases.operate.purges import Purges
from tierscope.usecases.operate.readiness import Readiness
from tierscope.usecases.operate.status import StatusReads
from tierscope.usecases.operate.telemetry.collector import InventoryCollector
from tierscope.usecases.operate.telemetry.fleet import FleetCollector
from tierscope.usecases.operate.telemetry.process import IngestQueue
from tierscope.usecases.promql.reads import PromQueries
from tierscope.usecases.ratio.hardware import KnownMemory
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.usecases.reports.schedules import Reports
from tierscope.usecases.sensitivity.objectives import ObjectiveReads
from tierscope.usecases.sensitivity.reads import SensitivityReads
from tierscope.usecases.sensitivity.stability import StabilityReads
from tierscope.usecases.simulate.reads import SweepReads
from tierscope.usecases.simulate.service_workload import ServiceWorkloadReads
from tierscope.usecases.simulate.sources import SimulatorReads
from tierscope.usecases.simulate.swap_devices import SwapDeviceReads
from tierscope.usecases.simulate.uploads import TraceUploads
from tierscope.usecases.simulate.writes import SweepWrites
from tierscope.usecases.slowdown.points import SlowdownPoints
from tierscope.usecases.statistics.network import NetworkReads, PeerNetworks
from tierscope.usecases.statistics.reads import FleetStatisticsReads
from tierscope.usecases.tco.losses import ServiceFacts
from tierscope.usecases.tco.presets import ScenarioPresetReads
from tierscope.usecases.tco.prices import Prices
from tierscope.usecases.tco.reads import TcoReads
from tierscope.usecases.tco.reclaimable import ReclaimableReads
from tierscope.usecases.tco.scenarios import Scenarios
from tierscope.usecases.tiles.damo_records import TileRecordReads
from tierscope.usecases.tiles.reads import TileReads

T = TypeVar("T")


class _Reads:
    def __init__(self, context: ReadContext) -> None:
        self.host_doubts = HostDoubts(context)
        self.hosts = HostReads(context)
        self.counters = CounterReads(context)
        self.ledger = LedgerReads(context)
        self.heat = HeatReads(context)
        self.reaccess = RevisitReads(context)
        memory = KnownMemory()
        self.ratio = RatioReads(context, memory=memory)
        self.knobs = KnobReads(context)
        self.service_workloads = ServiceWorkloadReads(context)
        self.swap_tiers = SwapTierReads(context)
        self.change_plans = ChangePlans(context)
        self.canaries = Canaries(context)
        self.setting_drifts = SettingDrifts(context)
        self.sensitivity = SensitivityReads(context)
        self.stability = StabilityReads(context)
        self.ping_pong = PingPongReads(context)
        self.curve = CurveReads(context)
        self.objectives = ObjectiveReads(context, memory)
        self.fairness = FairnessReads(context)
        self.fairness_limits = LimitReads(context)
        self.tiles = TileReads(context)
        self.tile_records = TileRecordReads(context)
        self.services = ServiceReads(context)
        self.service_metrics = ServiceMetricReads(context)
        self.fleet = FleetReads(context)
        self.pods = PodReads(context)
        self.fleet_grid = GridReads(context)
        self.tags = TagReads(context)
        self.reclaimable = ReclaimableReads(context)
        self.experiments = ExperimentReads(context)
        networks = PeerNetworks()
        self.fleet_statistics = FleetStatisticsReads(context, networks)
        self.networks = NetworkReads(context, networks)
        self.simulator = SimulatorReads(context)
        self.swap_devices = SwapDeviceReads()
        self.sweeps = SweepReads(context)
        self.alerts = AlertReads(context)
        self.incidents = IncidentReads(context, TakenReads(context))
        self.triages = TriageReads(context)
        self.series = Series(context)
        self.alert_routes = AlertRoutes(context)
        self.capacity = CapacityReads(context)
        self.capacity_plans = CapacityPlans(context, self.swap_tiers)
        self.reports = Reports(context)
        self.agent_versions = AgentVersionReads(context)
        self.data_quality = DataQualityReads(context)
        self.prom_queries = PromQueries(context)


class _Stores:
    """Those that write, too, on one database."""

    def __init__(self, database: Database, nodes: Nodes, *, clock: Clock, settings: Settings) -> None:
        self.own_tokens = OwnTokens(database, clock=clock)
        self.teams = Teams(database, clock=clock)
        self.users = Users(database, clock=clock)
        self.saved_views = SavedViews(database, clock=clock)
        self.agents = Agents(database, nodes, clock=clock)
        self.agent_plans = AgentPlans(database, clock=clock, sending=settings.sending)
        self.looks = Looks(database, clock=clock)
        self.events = Events(database, clock=clock)
        self.advice = Advice(database, clock=clock)
        self.slowdown_points = SlowdownPoints(database, clock=clock)
        self.experiment_writes = ExperimentWrites(database, clock=clock)
        self.prices = Prices(database, clock=clock)
        self.scenarios = Scenarios(database, clock=clock)
        self.sweep_writes = SweepWrites(database, clock=clock)
        self.trace_uploads = TraceUploads(database, clock=clock)
        self.rules = Rules(database, clock=clock)
        self.backtests = Backtests(database, clock=clock)
        self.silences = Silences(database, clock=clock)
        self.notification_log = NotificationLog(database, clock=clock)
        self.labels = Labels(database, clock=clock)
        self.purges = Purges(database, clock=clock)


class UseCases(_Reads, _Stores):
    """All use cases of an application, and what its requests share; each may be called by several threads at once."""

    def __init__(self, settings: Settings, database: Database, *, clock: Clock, meters: Meters) -> None:
        context = ReadContext(database=database, clock=clock, settings=settings)
        _Reads.__init__(self, context)
        self.nodes = Nodes(database)
        self.node_watch = NodeWatch(self.nodes, clock=clock)
        _Stores.__init__(self, database, self.nodes, clock=clock, settings=settings)
        redis_url = None if settings.redis_url is None else settings.redis_url.get_secret_value()
        self.settings = settings
        self.database = database
        self.answers = Answers()
        self.turns = Turns()
        self.freed = FreedMemory()
        self.door = make_door()
        self.at_once: AtOnce[Answer[Any]] = AtOnce()
        self.rate_limiter = RateLimiter(settings.rate_limits, redis_url=redis_url)
        self.fleet_metrics = CollectorRegistry()
        self.fleet_metrics.register(FleetCollector(context, limit=settings.fleet_metrics_limit))
        self._password_work = PasswordWork()
        self.access = Access(database, clock=clock, anonymous_reads=settings.anonymous_reads)
        self.audit = AuditTrail(database)
        self.oidc = make_oidc_login(database, settings, clock=clock)
        self.passwords = Passwords(database, self._password_work, clock=clock)
        self.ingest = IngestByNode(self.nodes, limits=settings.limits, clock=clock, meters=meters.ingest)
        self.remote_write = RemoteWrite(self.nodes.own(0), settings=settings.remote_write, clock=clock)
        self.otlp = OtlpMetrics(self.remote_write, settings=settings)
        self.own_metrics = meters.registry
        self.own_metrics.register(InventoryCollector(database, clock))
        self.own_metrics.register(IngestQueue(self.ingest))
        self.readiness = Readiness(database)
        self.status = StatusReads(context, self.access.loopback_trust, self.node_watch)
        facts = ServiceFacts(context)
        self.tco = TcoReads(context, facts)
        self.scenario_presets = ScenarioPresetReads(context, facts)

    async def close(self) -> None:
        """Finish what was begun, and let go of connections."""
        await self.ingest.stop()
        await asyncio.to_thread(self.node_watch.stop)
        self.otlp.stop()
        await self.remote_write.stop()
        self._password_work.close()
        await self.rate_limiter.close()
        self.database.close()


def use_cases(request: Request) -> UseCases:
    """Those of the application that a request came to."""
    held: UseCases = request.app.state.use_cases
    return held


def use(pick: Callable[[UseCases], T]) -> Callable[[Request], Awaitable[T]]:
    """A dependency on one of them, such as `Depends(use(lambda held: held.heat))`."""

    async def found(request: Request) -> T:
        return pick(use_cases(request))

    return found
