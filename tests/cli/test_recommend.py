"""`tierscope recommend`: the same document as the API, text for people, and exit statuses that scripts can go by."""

import json
import os

import httpx
import pytest
from typer.testing import CliRunner, Result

from factories.ratio_services import send_history
from factories.waiting import DEADLINE_SECONDS
from tierscope.cli.main import app
from tierscope.core.database import Database

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def recommend(*words: str) -> Result:
    return CliRunner().invoke(app, ["recommend", *words])


def test_answers_refusals_and_bad_usage_have_their_exit_statuses(asked: Database) -> None:
    send_history(asked)
    answered = recommend("--service", "demo/cache", "--json")
    assert answered.exit_code == 0, answered.output
    document = json.loads(answered.stdout)
    assert (document["answer"], document["grade"]) == ("range", "established")
    headers = {"Authorization": f"Bearer {os.environ['TIERSCOPE_TOKEN']}"}
    with httpx.Client(base_url=os.environ["TIERSCOPE_URL"], headers=headers, timeout=DEADLINE_SECONDS) as client:
        path = f"/v1/services/{document['service_id']}/ratio"
        until = {"to": document["window"]["end"]}
        by_api = client.get(path, params=until).json()
        slower = client.get(path, params={**until, "device": "cxl-switch"}).json()
        custom = client.get(path, params={**until, "slow_latency_ns": 420, "slow_gb_per_s": 18}).json()
        for wrong in ("device=none", "slow_gb_per_s=18", "device=pmem&slow_latency_ns=300"):
            assert client.get(f"{path}?{wrong}").status_code == 400
    assert slower["posterior"]["rho"] == custom["posterior"]["rho"] == 4.2
    losses = [answer["candidates"][-1]["loss_median"]["value"] for answer in (by_api, slower)]
    assert losses[1] > losses[0]
    assert "device" in {item["name"] for item in slower["assumptions"]}
    assert by_api == document
    text = recommend("--service", document["service_id"])
    assert text.exit_code == 0
    assert text.stdout.startswith(document["sentence"])
    assert "What was assumed" in text.stdout
    assert "Established: 8.0 days of page samples from 3 hosts." in text.stdout
    assert "recommend --service" in text.stdout, "the command that replays stands by its step"
    with asked.write() as transaction:
        transaction.connection.exec_driver_sql("DELETE FROM traces")
    refused = recommend("--service", "demo/cache")
    assert refused.exit_code == 3
    assert "What changes that" in refused.stdout
    assert "agent.toml" in refused.stdout
    assert recommend("--service", "demo/none").exit_code == 1
    assert recommend("--service", "demo/cache", "--loss-target", "5").exit_code == 2


def test_a_replay_on_request_makes_bounds_one_share(
    asked: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    monkeypatch.setenv("TIERSCOPE_DATABASE_URL", database_url)
    send_history(asked, hosts=1, days=1)
    before = json.loads(recommend("--service", "demo/cache", "--json").stdout)
    after = json.loads(recommend("--service", "demo/cache", "--replay", "--json").stdout)
    assert before["placement"]["source"] == "best_static"
    assert after["placement"]["source"].startswith("simulated:")
    assert "replay" not in {step["what"] for step in after["next_steps"]}
