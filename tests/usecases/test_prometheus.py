"""Real Prometheus and node_exporter: what they send becomes the ledger, with the recording's own totals and verdict."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from factories.derived import drain
from factories.prometheus import exporter, prometheus, require
from factories.services import SignedIn, signed_in
from factories.snapshot_trees import unpack
from factories.waiting import until
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now

pytestmark = [long, pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.running_clock]
RECORDING = "04-pingpong"
EVERY = 6
"""One snapshot in so many is shown, for a scrape each."""
INSTANCE = "lab-1"
COLUMNS = {
    "promoted_pages": "pgpromote_success",
    "promotion_candidates_pages": "pgpromote_candidate",
    "demoted_kswapd_pages": "pgdemote_kswapd",
    "demoted_direct_pages": "pgdemote_direct",
    "hint_faults": "numa_hint_faults",
    "pte_updates": "numa_pte_updates",
}
CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ['{target}'], labels: {{instance: '{instance}:9100'}}}}]
remote_write:
  - url: {service}/api/v1/write
    authorization: {{credentials: '{token}'}}
    queue_config: {{batch_send_deadline: 500ms, min_shards: 3}}
"""


class Service(SignedIn):
    def values(self, metric: str) -> list[float]:
        return [float(value) for series in self.stored(metric) for value in series["values"]]

    def wait_for_scrapes(self, metric: str, count: int) -> None:
        """Waits until so many more scrapes are stored."""
        before = len(self.values(metric))
        until(lambda: len(self.values(metric)) >= before + count, "Prometheus scrapes on")

    def get(self, path: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - query parameters
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with signed_in(database_url) as service:
        yield Service(*service)


def read_vmstat(snapshot: Path) -> dict[str, int]:
    lines = (line.split() for line in (snapshot / "proc" / "vmstat").read_text().splitlines())
    return {name: int(value) for name, value in lines}


def test_a_fleet_without_our_agent_gets_its_ledger(service: Service, tmp_path: Path) -> None:
    require("prometheus", "prometheus-node-exporter")
    tree = unpack(RECORDING, tmp_path, step=EVERY)
    snapshots = sorted((path for path in tree.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    first, last = read_vmstat(snapshots[0]), read_vmstat(snapshots[-1])
    with exporter(tmp_path, snapshots[0]) as machine:
        configuration = CONFIGURATION.format(
            target=machine.address, instance=INSTANCE, service=service.address, token=service.token
        )
        with prometheus(tmp_path, configuration):
            metric = "node_vmstat_pgdemote_kswapd"
            until(lambda: first["pgdemote_kswapd"] in service.values(metric), "the first sample")
            for snapshot in snapshots[1:]:
                machine.show(snapshot)
                service.wait_for_scrapes(metric, 1)
            until(lambda: last["pgdemote_kswapd"] in service.values(metric), "the last sample")
            # A whole scrape of the last snapshot follows: the one that is under way may have begun before it.
            service.wait_for_scrapes(metric, 2)
    # Remote write of Prometheus ends with its queue flushed; the minute is worked once it has closed.
    drain(service.database, utc_now() + timedelta(minutes=2))
    (host,) = service.get("/v1/hosts")["items"]
    assert (host["name"], host["origin"]) == (INSTANCE, "live")
    ledger = service.get(f"/v1/hosts/{host['id']}/ledger", **{"from": "-1h"})
    totals = {column["key"]: column["total"]["value"] for column in ledger["columns"] if column["key"] in COLUMNS}
    assert ledger["resets"] == []
    assert totals == {key: last[name] - first[name] for key, name in COLUMNS.items()}
    assert ledger["ping_pong"]["verdict"] == "futile_ping_pong"
    detail = service.get(f"/v1/hosts/{host['id']}")
    assert [node["tier_class"] for node in detail["nodes"]] == ["dram", "unknown"]
