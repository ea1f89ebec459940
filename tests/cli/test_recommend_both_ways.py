"""One trace, one answer: `recommend PATH`, and `recommend --service` of the same trace after its import."""

import json
import os
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from factories.derived import drain
from factories.services import running
from fixtures.page_traces import TRACES
from tierscope.cli.base.source_tree import find_agent
from tierscope.cli.main import app
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
# An import ends at the minute of the agent's clock: the service asks by one that goes on, too.
pytestmark = [pytest.mark.running_clock, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]

SAME = ("sentence", "answer", "grade", "range", "binding", "sweep", "posterior", "sensitivity", "uncertainty")
"""What must agree to the digit; the memory of the host comes from minutes there and from intervals here."""


def recommend(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["recommend", *words, "--loss-target", "0.02", "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "policy"),
    [("sqlite.miss", None), ("sqlite.miss", "tpp")],
)
def test_a_trace_and_the_service_of_its_import_get_one_answer(
    name: str, policy: str | None, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = os.environ.get("TIERSCOPE_AGENT_BINARY") or find_agent()
    if agent is None:
        pytest.skip("the agent's program is not built: run `make agent`")
    monkeypatch.setenv("TIERSCOPE_AGENT_BINARY", str(agent))
    monkeypatch.setenv("TIERSCOPE_DATABASE_URL", database_url)
    monkeypatch.setenv("TIERSCOPE_DATA_DIR", str(tmp_path))
    trace = TRACES / f"{name}.parquet"
    with running(Settings(database_url=database_url)) as (_, client):
        words = ["--service", "demo/cache", "--host", "lab-1", "--server", str(client.base_url)]
        done = CliRunner().invoke(app, ["import", "page-trace", str(trace), *words])
        assert done.exit_code == 0, done.output
    with closing(Database(database_url)) as database:
        drain(database, utc_now() + timedelta(hours=2))
    asked = [] if policy is None else ["--policy", policy]
    of_path = recommend(str(trace), *asked)
    of_service = recommend("--service", "demo/cache", "--replay", *asked)
    assert {name: of_path[name] for name in SAME} == {name: of_service[name] for name in SAME}
    for one, other in zip(of_path["candidates"], of_service["candidates"], strict=True):
        figures = ("share_on_slow", "share_on_slow_best_static", "loss_median", "loss_upper")
        assert [one[figure]["value"] for figure in figures] == pytest.approx(
            [other[figure]["value"] for figure in figures], rel=1e-12
        )
    expected = ("Hot-page selection, automatic threshold", "assumed") if policy is None else ("TPP", "asked")
    for answer in (of_path, of_service):
        assert (answer["placement"]["policy"], answer["placement"]["policy_from"]) == expected
    text = CliRunner().invoke(app, ["recommend", str(trace), *asked]).stdout
    assert expected[0] in text.splitlines()[0], "which policy was replayed stands in the first line"
    assert {"assumed": "assumed", "asked": "as asked for"}[expected[1]] in text.splitlines()[0]
