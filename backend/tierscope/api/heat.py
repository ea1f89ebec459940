"""Heat of a service: hot, warm and cold by scheme, with method, window, coverage and interval."""

from typing import Literal

from tierscope.api.figures import Figure, Model, Origin, PageKind, Series, TimeAxis, Window

Scheme = Literal["recency", "frequency", "cold_age"]
HeatClass = Literal["hot", "warm", "cold", "unknown"]


class SchemeInfo(Model):
    """The scheme in force, in words and thresholds (intervals), and what was snapped to bucket edges."""

    name: Scheme
    hot: str
    warm: str | None
    cold: str
    threshold_intervals: int | None
    snapped: str | None


class ClassFigures(Model):
    """Bytes and share of one class."""

    heat_class: HeatClass
    bytes: Figure
    ratio: Figure


class KindHeat(Model):
    """Heat of one page kind."""

    kind: PageKind
    resident_bytes: Figure
    classes: list[ClassFigures]


class WindowHeat(Model):
    """HF_w: share of resident bytes active within w intervals (analytics a2)."""

    intervals: int
    active_ratio: Figure


class AgeBucket(Model):
    """One bar of the age histogram: [from, to) intervals since last activity; `to` null = open end."""

    from_intervals: int
    to_intervals: int | None
    active_bytes: int
    never_bytes: int


class HostHeat(Model):
    """A host's share in the service's heat."""

    host_id: str
    host_name: str
    resident_bytes: int
    hot_ratio: Figure


class ServiceHeat(Model):
    """Answer of /v1/services/{id}/heat."""

    service_id: str
    origin: Origin
    scheme: SchemeInfo
    method: str
    backend: str
    granularity: str
    window: Window
    coverage: float | None
    classes: list[ClassFigures]
    by_kind: list[KindHeat]
    by_window: list[WindowHeat]
    age_histogram: list[AgeBucket]
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    hosts: list[HostHeat]
    axis: TimeAxis
    series: list[Series]
    other_methods: list[str]
    grounding_notes: list[str]
