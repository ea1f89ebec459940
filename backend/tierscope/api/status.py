"""Health of the installation and the metric catalogue."""

from datetime import datetime
from typing import Literal

from tierscope.api.figures import Model

Health = Literal["healthy", "degraded", "down", "absent", "unknown"]


class ComponentStatus(Model):
    """One part of the installation."""

    name: Literal["database", "api", "worker", "queue", "agent"]
    status: Health
    detail: str
    since: datetime | None


class InstallationStatus(Model):
    """Answer of /v1/status."""

    version: str
    storage: Literal["timescaledb", "native"]
    simulated: bool
    components: list[ComponentStatus]
    queue_lag_seconds: float | None
    marks_pending: int
    anonymous_reads: bool


class Metric(Model):
    """An entry of the catalogue."""

    name: str
    source: str
    unit: str
    kind: str
    scopes: list[str]
    kernel: str
    added_in: str
    help: str


class Catalogue(Model):
    """Answer of /v1/metrics."""

    items: list[Metric]
