"""`tierscope recommend`: the same document as the API, text for people, and exit statuses that scripts can go by."""

import json

import pytest
from typer.testing import CliRunner, Result

from factories.ratio_services import send_history
from factories.services import running
from tierscope.cli.main import app
from tierscope.core.database import Database
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def recommend(*words: str) -> Result:
    """Runs the command."""
    return CliRunner().invoke(app, ["recommend", *words])


def test_answers_refusals_and_bad_usage_have_their_exit_statuses(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_DATABASE_URL", database_url)
    database = Database(database_url)
    send_history(database)
    database.close()
    answered = recommend("--service", "demo/cache", "--json")
    assert answered.exit_code == 0, answered.output
    document = json.loads(answered.stdout)
    assert document["answer"] == "ratio"
    with running(Settings(database_url=database_url)) as (_, client):
        path = f"/v1/services/{document['service_id']}/ratio"
        by_api = client.get(path, params={"to": document["window"]["end"]}).json()
    assert by_api.keys() == document.keys()
    assert by_api["chosen"] == document["chosen"]
    text = recommend("--service", document["service_id"])
    assert text.exit_code == 0
    assert text.stdout.startswith(document["sentence"])
    assert "What was assumed" in text.stdout
    refused = recommend("--service", "demo/cache", "--loss-target", "0.01")
    assert refused.exit_code == 3
    assert "What is missing" in refused.stdout
    assert recommend("--service", "demo/none").exit_code == 1
    assert recommend("--service", "demo/cache", "--loss-target", "5").exit_code == 2
