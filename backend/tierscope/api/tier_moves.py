"""The ledger of tier moves: promotions and demotions, normalised over kernel dialects."""

from typing import Literal

from tierscope.api.figures import Figure, Model, Origin, Series, TimeAxis, Window

Trust = Literal["exact", "bound", "sampled", "partial", "not_supported"]


class LedgerColumn(Model):
    """A column of the ledger: total and rate over the window, the kernel counters behind it and their trust."""

    key: str
    label: str
    unit: str
    counters: list[str]
    trust: Trust
    trust_note: str
    total: Figure
    rate: Figure


class LedgerReset(Model):
    """A stretch that was left out, and why: reboot, wrap, missing counter, gap."""

    at: float
    cause: str
    columns: list[str]


class PingPong(Model):
    """Ping-pong or its bound, always labelled which."""

    kind: Literal["measured", "upper_bound", "not_available"]
    estimate: str
    ratio: Figure
    churn_pages_per_s: Figure
    churn_pages_per_s_per_gib: Figure
    tier_move_bytes_per_s: Figure
    verdict: str
    explanation: str


class Ledger(Model):
    """Answer of /v1/hosts/{id}/ledger and /v1/services/{id}/ledger."""

    subject: str
    origin: Origin
    dialect: str
    window: Window
    axis: TimeAxis
    columns: list[LedgerColumn]
    series: list[Series]
    resets: list[LedgerReset]
    ping_pong: PingPong
    n_hosts: int
