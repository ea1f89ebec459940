"""An installation in which every list has something: hosts with heat and tier moves, and one of each thing people make.

Stored as batches and over the API, worked through as the workers do.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from sqlalchemy import select

from factories import batches
from factories.alert_changes import change_alert
from factories.derived import drain
from factories.installations import Enrolled, enrol, store
from factories.ratio_services import add_day_of_heat, this_hour
from factories.services import running
from factories.watched import recording
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.ingest.arrival import Clocks
from tierscope.storage.tables import services
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.capacity.update import UpdateCapacity
from tierscope.usecases.knobs.advice_refresh import RefreshAdvice
from tierscope.usecases.simulate.work import SweepWork
from tierscope.usecases.statistics.update import UpdateFleetStatistics
from tierscope.usecases.tco.scenario_files import read_scenario

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "docs" / "examples" / "half-reused.yaml"
TRACE = ROOT / "tests" / "data" / "page-traces" / "sqlite.parquet"
SCHEMES = {"s0.migrate_hot.N0": 8 << 20, "s1.migrate_cold.N1": 12 << 20, "s2.pageout": 1 << 20}
"""Schemes of DAMON with the bytes that each moves in a minute."""


@dataclass(slots=True)
class Populated:
    """What there is: an administrator's token, and ids by the name of the path parameter that takes them."""

    token: str
    ids: dict[str, list[str]] = field(default_factory=dict)
    hosts: list[Enrolled] = field(default_factory=list)

    def note(self, name: str, value: object) -> str:
        self.ids.setdefault(name, []).append(str(value))
        return str(value)


class PopulatedService(NamedTuple):
    client: httpx.Client
    database: Database
    made: Populated


def populate(database: Database, *, n_hosts: int = 2) -> Populated:
    """Hosts, a service with a day of heat and minutes of tier moves, an alert; worked through."""
    access = Access(database)
    made = Populated(access.create_api_token(role="admin", note="tests", lifetime=None, actor="test").secret)
    for number in range(n_hosts):
        host = enrol(database, name=f"node-{number}")
        made.note("host_id", host.id)
        made.hosts.append(host)
        _send(database, host)
    drain(database)
    RefreshAdvice(database, utc_now, Settings(_env_file=None)).run()
    UpdateFleetStatistics(database, utc_now).run()
    UpdateCapacity(database, utc_now).run()
    with database.read() as session:
        service_id = session.execute(select(services.c.public_id).order_by(services.c.id)).scalars().first()
    change_alert(database, "a1", "firing", utc_now() - timedelta(minutes=5), subject_id=service_id)
    made.note("alert_id", "a1")
    return made


def _send(database: Database, host: Enrolled) -> None:
    keys, rows = recording("04-pingpong")
    applied = {f"host|damos|sz_applied[k0.c0.{scheme}]": n for scheme, n in SCHEMES.items()}
    counted = [
        dict(zip(keys, row, strict=True)) | {key: n * minute for key, n in applied.items()}
        for minute, row in enumerate(rows[-30:])
    ]
    keys = tuple(sorted(counted[0]))
    rows = [[row[key] for key in keys] for row in counted]
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    ends = [now - (len(rows) - 1 - i) * batches.MINUTE_NS for i in range(len(rows))]
    batches.add_counters(batch, rows, ends_ns=ends, keys=keys)
    batches.add_inventory(batch, hostname=host.identity.name)
    batches.add_pods(batch, "cart-7c9-x2k")
    batches.add_self(batch)
    assert store(database, host, [batch])
    end = this_hour()
    day = batches.make_batch(host_id=host.id, seq=1, sealed_wall_ns=end)
    add_day_of_heat(day, end, range(24))
    batches.add_gaps(day)
    batches.add_tiles(day)
    assert store(database, host, [day], clocks=Clocks(end, None, None))


def populate_by_api(client: httpx.Client, database: Database, made: Populated) -> None:
    """One of each thing that people make, through the routes that make them."""
    client.headers["Authorization"] = f"Bearer {made.token}"
    service = made.note("service_id", _get(client, "/v1/services")["items"][0]["id"])
    now = utc_now()
    ends_at = (now + timedelta(hours=2)).isoformat()
    matcher = {"name": "service", "op": "=~", "value": "ca.+"}
    made.note("silence_id", _post(client, "/v1/silences", {"matchers": [matcher], "ends_at": ends_at})["id"])
    rule = {"name": "busy", "expression": "promoted_pages > 1000/s"}
    made.note("rule_id", _post(client, "/v1/rules", rule)["id"])
    _post(client, "/v1/events", {"text": "deployed", "service_id": service})
    point = {"share_on_slow": 0.2, "loss": 0.03, "loss_standard_error": 0.01}
    made.note("point_id", _post(client, f"/v1/services/{service}/slowdown-points", point)["id"])
    price = {"item": "dram", "value": 8.0, "currency": "USD", "source": "a shop", "date": "2026-11-01"}
    made.note("price_id", _post(client, "/v1/prices", price)["id"])
    for name in ("own", "other"):
        made.note("scenario_id", _post(client, "/v1/scenarios", {"name": name, "spec": scenario()})["id"])
    report = {"name": "Weekly", "every_days": 7, "to": {"mail": ["a@example.com"]}}
    made.note("report_id", _post(client, "/v1/reports", report)["id"])
    made.note("token_id", _post(client, "/v1/tokens", {"role": "viewer", "note": "spare"})["id"])
    experiment = {
        "name": "less promotion",
        "service_id": service,
        "metrics": [{"metric": "promoted_pages_per_s"}],
        "before_from": (now - timedelta(hours=1)).isoformat(),
        "change_at": (now - timedelta(minutes=10)).isoformat(),
        "planned_end": ends_at,
        "canary": made.ids["host_id"][:1],
        "control": made.ids["host_id"][1:],
    }
    made.note("experiment_id", _post(client, "/v1/experiments", experiment)["experiment"]["id"])
    upload = client.post(
        "/v1/simulator/uploads?name=sqlite",
        content=TRACE.read_bytes(),
        headers={"Content-Type": "application/octet-stream"},
    )
    assert upload.status_code == 201, upload.text
    made.note("upload_id", upload.json()["id"])
    _sweep(client, database, made)
    for name, path in (("advice_id", "/v1/advice"),):
        for item in _get(client, path)["items"]:
            made.note(name, item["id"])


def _sweep(client: httpx.Client, database: Database, made: Populated) -> None:
    source = {"kind": "workload", "workload": "zipf", "pages": 500, "intervals": 10}
    asked = {"name": "small", "source": source, "policies": ["tpp"], "dram_ratios": [0.5]}
    sweep = made.note("sweep_id", _post(client, "/v1/sweeps", asked)["id"])
    SweepWork(database, utc_now).run()
    made.note("run_id", _get(client, f"/v1/sweeps/{sweep}/results")["cells"][0]["run_id"])


def scenario() -> dict[str, Any]:
    """The worked example of the cost model as a document."""
    document: dict[str, Any] = read_scenario(SCENARIO.read_text(encoding="utf-8")).model_dump(mode="json")
    return document


@contextmanager
def populated_service(template: Template, mode: str, **settings: object) -> Iterator[PopulatedService]:
    """Yields a client of a running service with all of this on a database of its own, without rate limits."""
    name = template.make_database(schema=True, mode=mode)
    url = template.cluster.url(name)
    chosen = Settings.model_validate({"database_url": url, "rate_limits": {"enabled": False}, **settings})
    with closing(Database(url)) as database, running(chosen) as (_, client):
        made = populate(database)
        populate_by_api(client, database, made)
        yield PopulatedService(client, database, made)
    template.drop_database(name)


def _get(client: httpx.Client, path: str) -> dict[str, Any]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _post(client: httpx.Client, path: str, body: Mapping[str, object]) -> dict[str, Any]:
    answer = client.post(path, json=dict(body))
    assert answer.status_code in (200, 201, 202), f"{path}: {answer.text}"
    found: dict[str, Any] = answer.json()
    return found
