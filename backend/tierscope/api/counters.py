"""Counters: raw kernel values of one host as series, and the names it offers."""

from typing import Literal

from tierscope.api.figures import Model, Origin, TimeAxis, Window

CounterKind = Literal["counter", "gauge", "unknown"]


class CounterName(Model):
    """A counter that a host sends, with what the catalogue knows of it."""

    scope: str
    source: str
    name: str
    kind: CounterKind
    unit: str
    help: str | None
    trust: str | None
    in_catalogue: bool


class CounterNames(Model):
    """All counters of a host at its newest layout."""

    host_id: str
    items: list[CounterName]
    truncated: bool


class CounterSeries(Model):
    """One counter of one scope. For a monotonic counter `per_s` holds reset-safe rates; for a gauge it is null."""

    scope: str
    source: str
    name: str
    kind: CounterKind
    unit: str
    values: list[float | None]
    per_s: list[float | None] | None
    resets: int
    trust: str | None


class CounterAnswer(Model):
    """Answer of /v1/hosts/{id}/counters. `status` tells an absent counter from an empty window."""

    host_id: str
    origin: Origin
    name: str
    window: Window
    axis: TimeAxis
    status: Literal["ok", "not_supported", "not_collected"]
    reason: str | None
    series: list[CounterSeries]
    points: int
