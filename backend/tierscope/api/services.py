"""Services: the list and one service's overview."""

from datetime import datetime

from tierscope.api.figures import Figure, Model, Origin


class ServiceSummary(Model):
    """A line of the services table."""

    id: str
    namespace: str
    name: str
    origin: Origin
    n_hosts: int
    n_hosts_with_heat: int
    resident_bytes: Figure
    anon_ratio: Figure
    hot_ratio: Figure
    warm_ratio: Figure
    cold_ratio: Figure
    method: str | None
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    verdict: str
    last_seen: datetime | None


class Event(Model):
    """A mark on charts: deploy, knob change, reboot."""

    at: datetime
    kind: str
    text: str
    host_id: str | None
    service_id: str | None


class ServiceDetail(Model):
    """One service in one sentence, and its evidence."""

    summary: ServiceSummary
    headline: str
    aliases: list[str]
    heat_reason: str | None
    hosts: list[str]
    events: list[Event]
