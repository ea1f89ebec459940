"""Knob advice over HTTP: the whole answer, hosts that are not there, and the plan of all hosts with its files."""

import json
from contextlib import closing

import pytest
from sqlalchemy import text

from factories import batches
from factories.installations import enrol, store
from factories.services import running
from tierscope.core.database import Database
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
ZONE_RECLAIM = "/proc/sys/vm/zone_reclaim_mode"


def test_the_answer_has_files_to_apply_and_says_what_is_not_known(database_url: str) -> None:
    with running(Settings(database_url=database_url)) as (_, client), closing(Database(database_url)) as database:
        host = enrol(database)
        batch = batches.make_batch(host_id=host.id)
        batches.add_inventory(batch)
        batch.inventory.tiers.add(rank=0, kernel_number=4, nodes=[0])
        batch.inventory.tiers.add(rank=1, kernel_number=22, nodes=[1])
        batch.inventory.knobs.add(path=ZONE_RECLAIM, value="1")
        batches.add_counters(batch, [[100 * row] for row in range(10)], keys=["host|vmstat|allocstall_normal"])
        assert store(database, host, [batch])
        answered = client.get(f"/v1/hosts/{host.id}/knob-advice", params={"from": "-1h"})
        assert answered.status_code == 200
        body = answered.json()
        again = client.get(
            f"/v1/hosts/{host.id}/knob-advice",
            params={"from": body["window"]["start"], "to": body["window"]["end"]},
        )
        assert again.json()["advice"] == body["advice"]
        with database.write() as transaction:
            transaction.connection.execute(
                text(
                    "INSERT INTO advice (public_id, kind, key, host_id, title, body, status, created_at, refreshed_at,"
                    " expires_at) SELECT 'card-' || id, 'knob', 'F10', id, 't', '{}', 'open', now(), now(), now()"
                    " FROM hosts"
                )
            )
        carded = client.get(f"/v1/hosts/{host.id}/knob-advice").json()["advice"][0]["advice_id"]
        missing = client.get("/v1/hosts/nobody/knob-advice")
    assert body["verdict"] == "not_known"
    assert body["leading"]["hot_outside_dram_bytes"]["status"] == "not_collected"
    (piece,) = body["advice"]
    assert piece["rule"] == "F10"
    assert piece["changes"] == [{"path": ZONE_RECLAIM, "current": "1", "proposed": "0", "rollback": "1"}]
    assert piece["files"]["sysctl"] == "vm.zone_reclaim_mode = 0\n"
    assert piece["files"]["rollback_commands"] == f"echo 1 > {ZONE_RECLAIM}\n"
    assert piece["effect_figure"] is None
    assert piece["files"]["destinations"] == [{"form": "sysctl", "path": "/etc/sysctl.d/99-z-tierscope-f10.conf"}]
    assert "/etc/sysctl.conf" in piece["files"]["check_commands"]
    assert piece["rules"] == ["F10"]
    assert bool(piece["sources"])
    assert body["withheld"] == []
    assert body["notices"] == []
    assert piece["advice_id"] is None
    assert carded.startswith("card-")
    assert {row["path"] for row in body["knobs"]} == {ZONE_RECLAIM}
    assert missing.status_code == 404
    assert missing.json()["next_step"]


def test_the_plan_its_files_canaries_and_drift_are_served_beside_the_cards(database_url: str) -> None:
    with running(Settings(database_url=database_url)) as (_, client), closing(Database(database_url)) as database:
        for number in range(2):
            host = enrol(database, name=f"node-{number}")
            batch = batches.make_batch(host_id=host.id)
            batches.add_inventory(batch)
            batch.inventory.knobs.add(path=ZONE_RECLAIM, value="1")
            assert store(database, host, [batch])
        changes = [{"path": ZONE_RECLAIM, "current": "1", "proposed": "0", "rollback": "1"}]
        body = {"answer": {"rule": "F10", "title": "Do not reclaim", "changes": changes, "files": {"ansible": "x"}}}
        with database.write() as transaction:
            transaction.connection.execute(
                text(
                    "INSERT INTO advice (public_id, kind, key, host_id, title, body, status, created_at, refreshed_at,"
                    " expires_at) SELECT 'card-' || id, 'knob', 'F10', id, 't', CAST(:body AS jsonb), 'open', now(),"
                    " now(), now() FROM hosts"
                ),
                {"body": json.dumps(body)},
            )
        plan = client.get("/v1/advice/plan").json()
        (change,) = plan["changes"]
        query = {"change": change["id"], "host": change["hosts"][0]["host_id"]}
        bundle = client.get("/v1/advice/plan/bundle", params=query).json()
        nobody = client.get("/v1/advice/plan/bundle", params={**query, "without_host": query["host"]})
        unknown = client.get("/v1/advice/plan/bundle", params={"change": "rm_rf"})
        canaries = client.get("/v1/advice/plan/canaries", params={"change": change["id"]}).json()
        drift = client.get("/v1/advice/drift").json()
    assert change["setting"] == "vm.zone_reclaim_mode"
    assert change["proposed"] == "0"
    assert change["values"] == [{"value": "1", "hosts": 2}]
    assert change["stake_bytes"]["status"] == "not_collected"
    assert bundle["host_count"] == 1
    assert bundle["change_ids"] == [change["id"]]
    names = [file["name"] for file in bundle["files"]]
    assert names[:4] == ["README.txt", "inventory.yml", "apply.yml", "rollback.yml"]
    assert nobody.status_code == 422
    assert unknown.status_code == 404
    assert len(canaries["canary"]) == 1
    assert len(canaries["control"]) == 1
    assert drift["hosts"] == []
    assert drift["hosts_without_peers"] == 2
