"""Assembles the application: use cases on one database, routers, errors, security headers, the dashboard's files."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute

import tierscope
from tierscope.api.access import audit, login, me, oidc, passwords, teams, users, views
from tierscope.api.access import endpoints as access
from tierscope.api.alerts import endpoints as alerts
from tierscope.api.alerts import rules
from tierscope.api.base import frontend
from tierscope.api.base.body_limits import BodyLimitMiddleware
from tierscope.api.base.json_bounds import JsonBoundsMiddleware
from tierscope.api.base.limited import DoorMiddleware
from tierscope.api.base.openapi import Application
from tierscope.api.base.permissions import check_declared
from tierscope.api.base.problems import install_handlers
from tierscope.api.base.rate_limits import RateLimitMiddleware
from tierscope.api.base.request_meters import Meters, RequestMetersMiddleware
from tierscope.api.base.security import SecurityMiddleware
from tierscope.api.base.short_ways import ShortWay, ShortWays
from tierscope.api.base.use_cases import UseCases
from tierscope.api.capacity import endpoints as capacity
from tierscope.api.counters import endpoints as counters
from tierscope.api.counters import service_metrics
from tierscope.api.curve import endpoints as curve
from tierscope.api.curve import reaccess
from tierscope.api.experiments import endpoints as experiments
from tierscope.api.fairness import endpoints as fairness
from tierscope.api.fleet import agent_versions, agents, events, hosts, labels, pods, services, tags
from tierscope.api.fleet import overview as fleet
from tierscope.api.heat import endpoints as heat
from tierscope.api.ingest import batches as ingest
from tierscope.api.ingest import otlp, remote_write, series
from tierscope.api.ingest.otlp_answers import OtlpStatusMiddleware
from tierscope.api.knobs import advice, swap_tier
from tierscope.api.knobs import endpoints as knobs
from tierscope.api.knobs import plan as change_plan
from tierscope.api.ledger import ping_pong, tier_moves
from tierscope.api.nodes.answers import NodesMiddleware
from tierscope.api.notifications import log as notifications
from tierscope.api.notifications import routes, silences
from tierscope.api.operate import data_quality, health, purges, status, telemetry
from tierscope.api.promql import endpoints as promql
from tierscope.api.ratio import endpoints as ratio
from tierscope.api.reports import endpoints as reports
from tierscope.api.sensitivity import endpoints as sensitivity
from tierscope.api.sensitivity import objectives, stability
from tierscope.api.simulate import simulator, sweeps
from tierscope.api.slowdown import points as slowdown_points
from tierscope.api.statistics import endpoints as fleet_statistics
from tierscope.api.tco import endpoints as tco
from tierscope.api.tco import prices, scenarios
from tierscope.api.tiles import endpoints as tiles
from tierscope.core import traces
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import ConfigurationError
from tierscope.core.objects.open import open_store
from tierscope.core.settings import Settings

# The dashboard's catch-all comes last.
ROUTERS = (
    health.router,
    ingest.router,
    remote_write.router,
    otlp.router,
    series.router,
    agents.router,
    agent_versions.router,
    access.router,
    login.router,
    oidc.router,
    me.router,
    passwords.router,
    users.router,
    teams.router,
    audit.router,
    views.router,
    events.router,
    experiments.router,
    capacity.router,
    fleet.router,
    fleet_statistics.router,
    hosts.router,
    pods.router,
    knobs.router,
    swap_tier.router,
    services.router,
    service_metrics.router,
    counters.router,
    tier_moves.router,
    heat.router,
    reaccess.router,
    objectives.router,
    curve.router,
    sensitivity.router,
    fairness.router,
    stability.router,
    ping_pong.router,
    ratio.router,
    reports.router,
    slowdown_points.router,
    change_plan.router,
    advice.router,
    simulator.router,
    sweeps.router,
    prices.router,
    scenarios.router,
    tco.router,
    tiles.router,
    alerts.router,
    alerts.of_hosts,
    rules.router,
    silences.router,
    routes.router,
    notifications.router,
    status.router,
    telemetry.router,
    promql.router,
    labels.router,
    tags.router,
    data_quality.router,
    purges.router,
    frontend.router,
)
SHORT_WAYS: Mapping[tuple[str, str], ShortWay] = {
    ("POST", "/v1/ingest/batches"): ingest.short_batch,
    ("GET", "/v1/agent/config"): agents.short_config,
}
"""Routes that all agents call each minute."""
GZIP_FROM_BYTES = 1024
GZIP_LEVEL = 5
"""A week's ledger is compressed in 4 ms to 34 kB; the highest level takes 30 ms for 31 kB."""

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(settings: Settings | None = None, *, clock: Clock = utc_now) -> FastAPI:
    """Returns the application; it connects when it starts, not here.

    Raises:
        ConfigurationError: no database is configured, or a route declares no permission.
    """
    settings = settings or Settings()
    url = settings.resolve_database_url()
    if url is None:
        raise ConfigurationError(
            "no database is configured", next_step="Set TIERSCOPE_DATABASE_URL, or start with `tierscope up`."
        )
    meters = Meters()
    app = _assemble(_lifespan(settings, url, clock, meters))
    app.first = partial(ShortWays, settings=settings, meters=meters.requests, ways=SHORT_WAYS)
    app.add_middleware(DoorMiddleware)
    app.add_middleware(JsonBoundsMiddleware)
    app.add_middleware(BodyLimitMiddleware, settings=settings, meters=meters.ingest)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL)
    app.add_middleware(RateLimitMiddleware, settings=settings)
    app.add_middleware(SecurityMiddleware, settings=settings)
    app.add_middleware(OtlpStatusMiddleware)
    app.add_middleware(NodesMiddleware)
    app.add_middleware(RequestMetersMiddleware, meters=meters.requests)
    return app


def build_openapi() -> dict[str, Any]:
    """Returns the OpenAPI document of all routes, without a database."""
    return _assemble(None).openapi()


def _assemble(lifespan: Lifespan | None) -> Application:
    app = Application(
        title="Tierscope",
        version=tierscope.__version__,
        description="Fleet memory profiling for hosts with tiered memory.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        routes=list(_routes()),
    )
    install_handlers(app)
    return app


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """All routes, put together once per process: applications differ in settings and state alone.

    Raises:
        ConfigurationError: a route declares no permission.
    """
    # Included as routers, each would be analysed a second time, with what the application adds: nothing.
    routes = tuple(route for router in ROUTERS for route in router.routes)
    check_declared(FastAPI(docs_url=None, redoc_url=None, openapi_url=None, routes=list(routes)))
    return routes


def _lifespan(settings: Settings, url: str, clock: Clock, meters: Meters) -> Lifespan:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        traces.start(settings)
        database = Database(
            url,
            pool_size=settings.database_pool_size,
            read_statement_seconds=settings.limits.read_statement_seconds,
            objects=open_store(settings),
        )
        held = UseCases(settings, database, clock=clock, meters=meters)
        app.state.use_cases = held
        held.ingest.start()
        held.node_watch.start()
        try:
            yield
        finally:
            await held.close()
            await run_in_threadpool(traces.stop)

    return lifespan
