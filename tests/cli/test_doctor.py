"""`tierscope doctor` of a service: every part by the settings that the service uses, and what is wrong with it."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from cli.commands import call
from factories import batches
from factories.installations import enrol, store
from factories.workers import Worker
from tierscope.core.database import Database
from tierscope.storage.base.schema import downgrade

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def doctor(folder: Path, **settings: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Exit status and checks by name."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TIERSCOPE_")}
    env |= {"TIERSCOPE_DATA_DIR": str(folder), **{f"TIERSCOPE_{key.upper()}": value for key, value in settings.items()}}
    done = call("doctor", "--json", env=env)
    document: dict[str, Any] = json.loads(done.stdout)
    return done.status, {check["name"]: check for check in document["checks"]}


@pytest.fixture
def worker(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Worker]:
    found = Worker(database_url, redis_url, tmp_path)
    found.start()
    yield found
    found.kill()


def test_a_service_that_is_well_has_nothing_to_do(
    database_url: str, redis_url: str, worker: Worker, tmp_path: Path
) -> None:
    with closing(Database(database_url)) as database:
        host = enrol(database)
        store(database, host, [batches.full_batch(host_id=host.id)])

        def has_worked() -> bool:
            with database.read() as session:
                statement = text("SELECT count(*) FROM task_runs WHERE task IN ('rebuild.drain', 'purges.work')")
                return bool(session.execute(statement).scalar_one() == 2)

        worker.wake("purges.work")
        worker.until(has_worked)
    secret = tmp_path / "password"
    secret.write_text("secret")
    secret.chmod(0o600)
    status, checks = doctor(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        mail__password_file=str(secret),
        objects__store="directory",
        objects__directory=str(tmp_path / "objects"),
    )
    parts = {"database", "encoding", "clock", "schema", "storage", "workers", "schedule", "lag", "agents", "queue"}
    assert parts | {"data directory", "database size", "secrets", "connections"} <= checks.keys()
    failed = {name: check for name, check in checks.items() if check["result"] == "failed"}
    assert (status, failed) == (0, {})
    assert "1 with 0.1.0" in checks["agents"]["detail"]
    assert "native" in checks["storage"]["detail"]
    assert checks["secrets"]["result"] == "ok"
    assert checks["objects"]["detail"].startswith("the directory store takes")
    assert not [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]


def test_what_is_wrong_is_named_with_the_next_step(database_url: str, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("secret")
    secret.chmod(0o644)
    with closing(Database(database_url)) as database:
        host = enrol(database)
        with database.write() as transaction:
            transaction.execute(
                text("UPDATE hosts SET agent_version = '7.0.0', refused_protocol = 9 WHERE id = :id"),
                {"id": host.identity.id},
            )
    status, checks = doctor(
        tmp_path,
        database_url=database_url,
        redis_url="redis://127.0.0.1:9",
        mail__password_file=str(secret),
        objects__store="directory",
        objects__directory=str(secret),
    )
    assert status == 1
    assert {name for name, check in checks.items() if check["result"] == "failed"} == {
        "workers",
        "schedule",
        "agents",
        "queue",
        "objects",
    }
    assert "chmod 600" in checks["secrets"]["next_step"]
    assert "beat" in checks["workers"]["next_step"]
    assert "upgrade the service" in checks["agents"]["next_step"]


def test_a_task_that_never_ran_is_told_once_others_ran_for_long(database_url: str, tmp_path: Path) -> None:
    ran = text(
        "INSERT INTO task_runs (task, runs, failures, seconds, buckets, last_at)"
        " VALUES ('rebuild.drain', :runs, 0, 1, '{}', now())"
        " ON CONFLICT (task) DO UPDATE SET runs = excluded.runs, last_at = now()"
    )
    found = []
    for runs in (2, 1000):
        with closing(Database(database_url)) as database, database.write() as transaction:
            transaction.execute(ran, {"runs": runs})
        _, checks = doctor(tmp_path, database_url=database_url)
        assert checks["workers"]["result"] == "ok"
        found.append(checks["schedule"])
    assert found[0]["result"] == "ok"
    assert found[1]["result"] == "warning"
    assert "not ended for long: " in found[1]["detail"]


def test_a_schema_of_an_older_release_and_a_database_that_is_gone_are_told(database_url: str, tmp_path: Path) -> None:
    downgrade(database_url, "0013")
    status, checks = doctor(tmp_path, database_url=database_url)
    assert (status, checks["schema"]["result"]) == (1, "failed")
    assert "tierscope migrate" in checks["schema"]["next_step"]
    status, checks = doctor(tmp_path, database_url="postgresql://nobody@127.0.0.1:9/none")
    assert (status, checks["database"]["result"]) == (1, "failed")
