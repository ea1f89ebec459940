"""How long the pages of a large fleet take through HTTP: every call that they make, cold and warm, alone and together.

The service is the real one, a process of its own on a durable PostgreSQL. Cold is the first call of each route after
both servers were started again with the database's files dropped from the page cache. Warm calls are made by one
viewer, then by four at once.
"""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx

from bench.figures import Row, Section
from bench.fleet_store import Fleet, seed_fleet
from bench.kept_store import keep, kept_cluster, read_kept
from bench.processes import cpu_seconds, rss_bytes, server_cpu_seconds
from bench.service_page import p95, started_anew
from bench.service_store import newest
from fixtures.servers import running_cluster
from tierscope.core.database import Database
from tierscope.core.embedded.postgres import PostgresCluster
from tierscope.storage.base.schema import upgrade

HOSTS, DAYS = 10_000, 7
MOST_MS = 200
ROUNDS = 20
_PATIENCE_SECONDS = 60
VIEWERS = 4
_SERVICE, _HOST = "/v1/services/{service}", "/v1/hosts/{host}"
PAGES: dict[str, dict[str, str]] = {
    "every page": {
        "status": "/v1/status",
        "events": "/v1/events?limit=200",
        "alert marks": "/v1/alerts/marks?from=-7d&host={host}",
    },
    "fleet": {
        "overview, 6 h": "/v1/fleet?from=-6h",
        "overview, 7 d": "/v1/fleet?from=-7d",
        "statistics, 6 h": "/v1/fleet/statistics?from=-6h",
        "statistics, 7 d": "/v1/fleet/statistics?from=-7d",
        "firing alerts": "/v1/alerts?state=firing&limit=1000",
    },
    "services": {"list": "/v1/services?limit=1000"},
    "service": {
        "one service": f"{_SERVICE}?from=-7d",
        "one service of half of all hosts": "/v1/services/{large}?from=-7d",
        "heat": f"{_SERVICE}/heat?from=-7d&max_hosts=8",
        "heat, 6 h": f"{_SERVICE}/heat?from=-6h&max_hosts=8",
        "heat by kind": f"{_SERVICE}/heat?from=-7d&max_hosts=8&kind=anon",
        "heat of half of all hosts": "/v1/services/{large}/heat?from=-7d&max_hosts=8",
        "metrics": f"{_SERVICE}/metrics?from=-7d",
        "hosts": "/v1/hosts?limit=100&service={service}",
        "tier moves": f"{_SERVICE}/ledger?from=-7d",
        "ping-pong": f"{_SERVICE}/ping-pong?from=-7d",
        "re-access": f"{_SERVICE}/revisit?from=-7d",
        "objectives": f"{_SERVICE}/revisit/objectives?from=-7d",
        "sensitivity": f"{_SERVICE}/sensitivity?from=-7d",
        "stability": f"{_SERVICE}/stability?from=-7d",
        "curve": f"{_SERVICE}/curve?from=-7d",
        "ratio": f"{_SERVICE}/ratio?from=-7d",
        "tiles": f"{_SERVICE}/tiles?from=-7d",
        "advice": "/v1/advice?service={service}",
    },
    "hosts": {"list, a page of 100": "/v1/hosts?limit=100", "list, a page of 1,000": "/v1/hosts?limit=1000"},
    "host": {
        "one host": _HOST,
        "ledger, 6 h": f"{_HOST}/ledger?from=-6h",
        "ledger, 7 d": f"{_HOST}/ledger?from=-7d",
        "ping-pong, 7 d": f"{_HOST}/ping-pong?from=-7d",
        "counter, 6 h": f"{_HOST}/counters?name=host|pressure.memory|some_total_us&from=-6h",
        "counter, 7 d": f"{_HOST}/counters?name=host|pressure.memory|some_total_us&from=-7d",
        "names of counters": f"{_HOST}/counters/names",
        "advice on knobs": f"{_HOST}/knob-advice?from=-7d",
    },
    "others": {
        "alerts": "/v1/alerts?state=open&limit=1000",
        "capacity": "/v1/capacity?group=service",
        "forecast": "/v1/capacity/forecast?kind=service&id={service}",
    },
}
"""What the dashboard's pages ask (frontend/src/api/queries)."""


@dataclass(slots=True)
class Times:
    """Milliseconds of one route's calls, and of the servers' CPU for one of those by a single viewer."""

    cold: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    cpu_ms: tuple[float, ...] = ()
    """Of the service, then of each database server."""
    refused: str | None = None
    nodes: set[str] = field(default_factory=set)
    """How many nodes the answers say that they are of; nothing where there is one server."""


def measure(kept: Path | None = None, *, hosts: int = HOSTS, days: int = DAYS) -> Section:
    """Seed a fleet and time every call on it; what a directory keeps of an earlier run is asked again.

    Raises:
        RuntimeError: what is kept is so old that windows up to now are empty.
    """
    running = running_cluster("native", durable=True) if kept is None else kept_cluster(kept)
    with running as cluster:
        began = time.perf_counter()
        fleet = (kept and read_kept(kept)) or _seed(cluster, kept, hosts, days)
        seeded_s = time.perf_counter() - began
        times, start = time_calls(cluster, fleet)
    return describe(times, start, fleet, days=days, seeded_s=seeded_s)


def _seed(cluster: PostgresCluster, kept: Path | None, hosts: int, days: int) -> Fleet:
    upgrade(cluster.url())
    with closing(Database(cluster.url())) as database:
        fleet = seed_fleet(database, hosts, days, now=newest())
    if kept is not None:
        keep(kept, fleet)
    return fleet


@dataclass(frozen=True, slots=True)
class Start:
    """What the service takes to start: resident bytes and CPU seconds when it first answers."""

    rss_bytes: int
    cpu_s: float


def time_calls(cluster: PostgresCluster, fleet: Fleet) -> tuple[dict[tuple[str, str], Times], Start]:
    """Every call of every page: the first one after a start, then warm."""
    with started_anew(cluster) as (address, pid):
        began = Start(rss_bytes(pid), cpu_seconds(pid))
        return time_running(address, [pid, server_pid(cluster)], fleet, rounds=ROUNDS), began


def server_pid(cluster: PostgresCluster) -> int:
    """The process of a database server that runs."""
    assert cluster.server is not None
    return cluster.server.pid


def time_running(
    address: str, servers: Sequence[int], fleet: Fleet, *, rounds: int, viewers: int = VIEWERS
) -> dict[tuple[str, str], Times]:
    """Every call of every page of a service that runs: once, then so many times by one viewer, and by several.

    `servers`: processes of the service and of its database servers, whose CPU is told.
    """
    with httpx.Client(base_url=address, timeout=_PATIENCE_SECONDS) as client:
        times = {key: _first(client, path) for key, path in _paths(fleet)}
    answered = [(times[key], path) for key, path in _paths(fleet) if times[key].refused is None]
    for found, path in answered:
        before = [server_cpu_seconds(server) for server in servers]
        found.alone = _view(address, [path] * rounds, found)
        spent = zip(servers, before, strict=True)
        found.cpu_ms = tuple((server_cpu_seconds(server) - then) * 1e3 / rounds for server, then in spent)
    with ThreadPoolExecutor(viewers) as pool:
        for found, path in answered:
            seen = pool.map(lambda _, path=path, found=found: _view(address, [path] * rounds, found), range(viewers))
            found.together = [one for viewer in seen for one in viewer]
    return times


def _first(client: httpx.Client, path: str) -> Times:
    times = Times()
    times.cold = [_call(client, path, times)]
    return times


def _paths(fleet: Fleet) -> Iterable[tuple[tuple[str, str], str]]:
    for page, calls in PAGES.items():
        for name, path in calls.items():
            yield (page, name), path.format(service=fleet.service, large=fleet.large_service, host=fleet.host)


def _view(address: str, paths: Sequence[str], times: Times) -> list[float]:
    with httpx.Client(base_url=address, timeout=_PATIENCE_SECONDS) as client:
        client.get("/healthz")
        return [_call(client, path, times) for path in paths]


def _call(client: httpx.Client, path: str, times: Times) -> float:
    """Milliseconds of one call; notes where the service had no answer, and of how many nodes it was."""
    start = time.perf_counter()
    try:
        answer = client.get(path)
    except httpx.ReadTimeout:
        times.refused = f"none within {_PATIENCE_SECONDS} s"
        return _PATIENCE_SECONDS * 1e3
    took = (time.perf_counter() - start) * 1e3
    if not answer.is_success:
        times.refused = f"{answer.status_code}: {answer.json().get('detail', '')}"
    if "X-Nodes" in answer.headers:
        times.nodes.add(answer.headers["X-Nodes"])
    return took


def told_cpu(times: Times) -> str:
    return " + ".join(f"{spent:.0f}" for spent in times.cpu_ms) + " ms"


def describe(times: dict[tuple[str, str], Times], start: Start, fleet: Fleet, *, days: int, seeded_s: float) -> Section:
    rows = []
    for (page, name), found in times.items():
        if found.refused is not None:
            rows.append(Row(f"{page}: {name}", f"not answered ({found.refused[:60]})"))
            continue
        ordered = sorted(found.alone)
        middle, slow = ordered[len(ordered) // 2], p95(found.alone)
        rows.append(
            Row(
                f"{page}: {name}",
                f"{middle:.0f} / {slow:.0f} / {ordered[-1]:.0f} ms; four viewers {p95(found.together):.0f} ms;"
                f" first {found.cold[0]:.0f} ms; CPU {told_cpu(found)}",
                target=f"p95 under {MOST_MS} ms",
                met=slow < MOST_MS,
            )
        )
    everything = [value for found in times.values() for value in found.alone]
    rows.insert(0, Row("all calls, warm, p95", f"{p95(everything):.0f} ms", target=f"under {MOST_MS} ms"))
    return Section(
        title=f"Pages of {fleet.n_hosts:,} hosts over {days} days",
        rows=rows,
        notes=[
            f"Each row: p50 / p95 / largest of {ROUNDS} warm calls by one viewer; p95 with {VIEWERS} viewers at once.",
            "First: the first call after both servers were started with a cold page cache.",
            "CPU: of the service + of the database server, for a warm call.",
            f"Seeding took {seeded_s:.0f} s; all hosts have ledger rows of 2 hours, 1,000 of them of {days} days.",
            f"At its first answer the service had used {start.cpu_s:.1f} s of CPU, {start.rss_bytes / 2**20:.0f} MiB.",
            f"Measured at {datetime.now(UTC):%H:%M} UTC with a load average of {os.getloadavg()[0]:.1f}.",
        ],
    )
