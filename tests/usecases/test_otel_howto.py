"""The collector of the how-to, as it is written: `otelcol-contrib` beside a real node_exporter of a recorded host."""

import re
import socket
from contextlib import closing
from pathlib import Path
from shutil import which

import pytest

from architecture.tree import ROOT
from factories.derived import drain
from factories.prometheus import exporter, process
from factories.sampled_hosts import AFTER
from factories.services import running
from factories.snapshot_trees import unpack
from factories.waiting import until
from fixtures.shifted_clock import need_machine_clock
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.access.tokens import Access

HOWTO = ROOT / "docs" / "howto" / "opentelemetry.md"
PROGRAM = "otelcol-contrib"
pytestmark = [
    pytest.mark.parametrize("storage_mode", ["native"], indirect=True),
    pytest.mark.running_clock,
    pytest.mark.skipif(which(PROGRAM) is None, reason=f"{PROGRAM} is not installed: https://opentelemetry.io"),
]


def configuration(service: str, node_exporter: str) -> str:
    """The how-to's, with addresses of the test, and with scrapes that need not be waited for."""
    found: list[str] = re.findall(
        r"```yaml\n(receivers:\n  hostmetrics:.*?)```", HOWTO.read_text(encoding="utf-8"), re.DOTALL
    )
    (written,) = found
    changes = {
        "https://tierscope.example.org/": f"{service}/",
        '"localhost:9100"': f'"{node_exporter}"',
        "- job_name: node\n": "- job_name: node\n          scrape_interval: 1s\n",
    }
    for old, new in changes.items():
        assert written.count(old) == 1, old
        written = written.replace(old, new)
    return written


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    whole = unpack("04-pingpong", tmp_path, step=12)
    return min(path for path in whole.iterdir() if path.is_dir())


def test_the_collector_of_the_how_to_gives_one_host_its_memory_and_its_moves(
    database_url: str, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_machine_clock("the collector")
    log, file = tmp_path / "collector.log", tmp_path / "collector.yaml"
    with (
        running(Settings(database_url=database_url)) as (_, client),
        closing(Database(database_url)) as database,
        exporter(tmp_path, snapshot) as machine,
    ):
        token = Access(database).create_api_token(role="operator", note="", lifetime=None, actor="test").secret
        monkeypatch.setenv("TIERSCOPE_TOKEN", token)
        client.headers["Authorization"] = f"Bearer {token}"
        file.write_text(configuration(str(client.base_url).rstrip("/"), machine.address))

        def came(match: str) -> int:
            (found,) = client.get("/v1/series/samples", params={"match": match, "from": "-1h"}).json()["series"] or [{}]
            return len(found.get("values", ()))

        def all_came() -> bool:
            return came("node_vmstat_pgpromote_success") > 2 and came("system_memory_limit_bytes") > 0

        with process([PROGRAM, f"--config={file}"], log):
            until(all_came, "both receivers have sent", seconds=120, log=log)
        drain(database, utc_now() + AFTER)
        (host,) = client.get("/v1/hosts").json()["items"]
        (series,) = client.get("/v1/series", params={"match": "node_vmstat_pgpromote_success"}).json()["items"]
    assert host["name"] == series["labels"]["host_name"] == socket.gethostname()
    assert host["memory_bytes"]["value"] > 0
    assert host["promotion_pages_per_s"]["status"] == "ok"
