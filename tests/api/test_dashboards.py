"""The shipped dashboards and rules ask for metrics that exist: a real Prometheus scrapes the real service.

What the dashboard of history asks, the service answers itself.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from factories import batches
from factories.installations import enrol
from factories.loopback import free_port
from factories.populated import populated_service
from factories.services import batch_headers
from factories.waiting import DEADLINE_SECONDS, until
from fixtures.servers import Template
from fixtures.shifted_clock import need_machine_clock
from tierscope.core.clock import utc_now
from tierscope.usecases.operate.telemetry.runs import WorkerRuns

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
BOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (DEPLOY / "grafana").glob("*.json")}
RULES = DEPLOY / "prometheus" / "tierscope-rules.yaml"
PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
SCRAPES = 3
pytestmark = pytest.mark.running_clock
HISTORY = "tierscope-history"
VARIABLES = {"$__rate_interval": "1m", "$instance": ".*", "$host": ".*", "$service": ".*"}
MINUTELY = {"$__rate_interval": "5m", "$__range": "1h"}
"""As Grafana fills them in where samples come by the minute."""
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")


def panels(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str, str]]:
    """Board, panel and expression, as Grafana would send it to Prometheus with everything chosen."""
    for name in sorted(BOARDS.keys() - {HISTORY}):
        for title, asked in asked_by(name, VARIABLES):
            yield name, title, asked


def asked_by(name: str, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Panel and expression of a board."""
    for panel in panels(BOARDS[name]):
        for target in panel["targets"]:
            asked = target["expr"]
            for variable, value in variables.items():
                asked = asked.replace(variable, value)
            yield panel["title"], asked


@dataclass(frozen=True, slots=True)
class Prometheus:
    client: httpx.Client

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """The instant vector, or one sample of a scalar."""
        answer = self.client.get("/api/v1/query", params={"query": expression}).json()
        assert answer["status"] == "success", f"{expression}: {answer}"
        found = answer["data"]["result"]
        return found if answer["data"]["resultType"] == "vector" else [{"value": found}]

    def names(self) -> set[str]:
        found: list[str] = self.client.get("/api/v1/label/__name__/values").json()["data"]
        return set(found)


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[tuple[httpx.Client, str]]:
    """A client of the service and its token; batches have come in, tasks have run."""
    with populated_service(template, storage_mode) as (client, database, made):
        runs = WorkerRuns(database, utc_now)
        runs.ran("rebuild.drain", seconds=0.2, failed=False)
        runs.rebuilt({"heat": 3}, {"heat": 1})
        host = enrol(database, name="sender")
        for seq in range(3):
            batch = batches.full_batch(host_id=host.id, seq=seq)
            client.post("/v1/ingest/batches", content=batches.compress(batch), headers=batch_headers(host.credential))
        client.post("/v1/ingest/batches", content=b"x", headers=batch_headers(host.credential))
        yield client, made.token


@pytest.fixture(scope="module")
def prometheus(service: tuple[httpx.Client, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Scrapes the service every second, with the shipped rules; has done so a few times."""
    if PROMETHEUS is None:
        pytest.skip("prometheus is not installed: apt-get install prometheus")
    need_machine_clock("Prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "token").write_text(service[1])
    (folder / "prometheus.yml").write_text(yaml.safe_dump(scrape_config(service[0], folder)))
    port = free_port()
    command = [
        PROMETHEUS,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    with (
        subprocess.Popen(command) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE_SECONDS) as client,
    ):
        try:
            wait_for_scrapes(Prometheus(client), process)
            yield Prometheus(client)
        finally:
            process.terminate()
            process.wait(DEADLINE_SECONDS)


def scrape_config(client: httpx.Client, folder: Path) -> dict[str, Any]:
    shipped = yaml.safe_load((DEPLOY / "prometheus" / "scrape.yaml").read_text(encoding="utf-8"))
    for job in shipped["scrape_configs"]:
        job["authorization"]["credentials_file"] = str(folder / "token")
        job["static_configs"] = [{"targets": [str(client.base_url).rpartition("/")[2]]}]
        job["scrape_interval"], job["scrape_timeout"] = "1s", "1s"
        if job["job_name"] == "tierscope-fleet":
            job["scrape_interval"], job["scrape_timeout"] = "15s", "15s"
    found: dict[str, Any] = shipped | {"rule_files": [str(RULES)], "global": {"evaluation_interval": "1s"}}
    return found


def wait_for_scrapes(prometheus: Prometheus, process: subprocess.Popen[bytes]) -> None:
    asked = f"count(count_over_time(tierscope_build_info[10m]) >= {SCRAPES}) and on () count(tierscope_host_info)"

    def has_scraped() -> bool:
        try:
            return bool(prometheus.ask(asked))
        except (httpx.TransportError, ValueError):
            return False  # it is starting

    until(has_scraped, "Prometheus has scraped the service", alive={"Prometheus": process})


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_panel_gets_an_answer(prometheus: Prometheus) -> None:
    empty = [
        f"{board}, {panel}: {expression}"
        for board, panel, expression in expressions()
        if not prometheus.ask(expression)
    ]
    assert empty == []


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_panel_of_history_is_answered_by_the_service(service: tuple[httpx.Client, str]) -> None:
    client, token = service
    now = utc_now().timestamp()
    empty = []
    for panel, expression in asked_by(HISTORY, VARIABLES | MINUTELY):
        answer = client.get(
            "/prometheus/api/v1/query_range",
            params={"query": expression, "start": now - 1800, "end": now, "step": "60"},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 200, f"{panel}: {expression}: {answer.text}"
        if not answer.json()["data"]["result"]:
            empty.append(f"{panel}: {expression}")
    assert empty == []


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_variables_of_history_have_values(service: tuple[httpx.Client, str]) -> None:
    client, token = service
    headers = {"Authorization": f"Bearer {token}"}
    queries = [one["query"]["query"] for one in BOARDS[HISTORY]["templating"]["list"] if one["type"] == "query"]
    for query in queries:
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups()  # type: ignore[union-attr]
        answer = client.get(f"/prometheus/api/v1/label/{label}/values", params={"match[]": metric}, headers=headers)
        assert answer.json()["data"], query
    assert len(queries) == 2


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_dashboards_and_rules_name_metrics_that_exist(prometheus: Prometheus) -> None:
    known = prometheus.names()
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    asked = [expression for _, _, expression in expressions()] + [rule["expr"] for rule in rules]
    named = {name for expression in asked for name in re.findall(r"\b(?:tierscope|process)_[a-z_]+\b", expression)}
    assert named - known == set()
    loaded = prometheus.client.get("/api/v1/rules").json()["data"]["groups"][0]["rules"]
    assert {rule["name"]: rule["health"] for rule in loaded} == {rule["alert"]: "ok" for rule in rules}


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_a_dashboard_is_one_that_grafana_reads(name: str) -> None:
    board = BOARDS[name]
    assert board["uid"] == name
    assert board["title"].startswith("Tierscope: ")
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    assert {variable["name"] for variable in board["templating"]["list"]} >= {"datasource"}
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, f"{panel['title']} lies over another panel"
        taken |= cells
    for panel in panels(board):
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["targets"], panel["title"]


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_a_dashboard_holds_what_grafana_publishes_types_for(name: str) -> None:
    register_default_plugins()
    kept = json.loads(json.dumps(Dashboard.from_json(BOARDS[name]), cls=JSONEncoder))
    # `definition` is the query again in words; Grafana writes it, its published types leave it out.
    assert [path for path in lost(BOARDS[name], kept) if not path.endswith(".definition")] == []


def lost(ours: object, kept: object, path: str = "") -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(kept, dict):
        for key, value in ours.items():
            yield from lost(value, kept.get(key), f"{path}.{key}") if key in kept else [f"{path}.{key}"]
    elif isinstance(ours, list) and isinstance(kept, list) and len(ours) == len(kept):
        for place, (value, other) in enumerate(zip(ours, kept, strict=True)):
            yield from lost(value, other, f"{path}[{place}]")
    elif ours != kept:
        yield path


@needs_promtool
@pytest.mark.parametrize(
    "arguments", [("check", "rules", RULES), ("test", "rules", RULES.with_suffix(".test.yaml"))], ids=["check", "test"]
)
def test_promtool_takes_the_rules(arguments: tuple[object, ...]) -> None:
    done = subprocess.run(
        [str(PROMTOOL), *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_promtool_takes_the_alert_rules_that_the_service_hands_out(
    service: tuple[httpx.Client, str], tmp_path: Path
) -> None:
    client, token = service
    exported = client.get(
        "/v1/rules/export", params={"format": "prometheus"}, headers={"Authorization": f"Bearer {token}"}
    )
    path = tmp_path / "exported.yaml"
    path.write_text(exported.text)
    done = subprocess.run(
        [str(PROMTOOL), "check", "rules", str(path)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert yaml.safe_load(exported.text)["groups"]
