"""`tierscope export`: a fleet as a folder of Parquet, complete days kept, the rest written anew."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli.commands import call
from factories.populated import Populated, populate
from factories.services import running
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
HEAT_CLASSES = ["hot [bytes]", "warm [bytes]", "cold [bytes]", "unknown [bytes]"]
native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[tuple[str, Populated]]:
    name = template.make_database(schema=True, mode=storage_mode)
    url = template.cluster.url(name)
    chosen = Settings.model_validate({"database_url": url, "rate_limits": {"enabled": False}, "anonymous_reads": False})
    with closing(Database(url)) as database, running(chosen) as (_, client):
        made = populate(database)
        client.headers["Authorization"] = f"Bearer {made.token}"
        made.note("service_id", client.get("/v1/services").json()["items"][0]["id"])
        yield str(client.base_url), made
    template.drop_database(name)


def export(service: tuple[str, Populated], *words: str | Path, token: str | None = None) -> dict[str, Any]:
    environment = {**os.environ, "TIERSCOPE_TOKEN": token or service[1].token}
    ended = call("export", *words, "--url", service[0], "--json", env=environment)
    assert ended.status == 0, ended.stderr
    said: dict[str, Any] = json.loads(ended.stdout)
    return said


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    return found


@native
def test_a_fleet_becomes_tables_by_subject_and_day(service: tuple[str, Populated], tmp_path: Path) -> None:
    days = [(utc_now() - timedelta(days=back)).date() for back in (2, 1, 0)]
    said = export(service, tmp_path, "--from", str(days[0]))
    files = manifest(tmp_path)
    assert said == {"directory": str(tmp_path), "written": len(files), "kept": 0, "away": []}
    assert {path for path in files if path.startswith("lists/")} >= {"lists/hosts.parquet", "lists/services.parquet"}
    for path, told in files.items():
        body = (tmp_path / path).read_bytes()
        assert (len(body), sha256(body).hexdigest()) == (told["bytes"], told["sha256"]), path
        assert told["origin"] in ("measured", "unknown")
    complete = {told["day"] for told in files.values() if told["complete"]}
    assert str(days[0]) in complete
    assert not complete & {None, str(days[2])}, "lists and today change"
    hosts = pd.read_parquet(tmp_path / "lists" / "hosts.parquet")
    assert sorted(hosts["id"]) == sorted(service[1].ids["host_id"])
    ledger = pd.read_parquet(tmp_path / "series" / "hosts-ledger")
    assert set(ledger["host"]) == set(service[1].ids["host_id"])
    assert str(ledger["time"].dtype).endswith("UTC]")
    moved = ledger["promoted_pages [pages_per_s]"]
    assert moved.notna().any()
    assert moved.isna().any(), "a day without data has no values, not zeroes"
    heat = pd.read_parquet(tmp_path / "series" / "services-heat")
    assert set(HEAT_CLASSES) < set(heat.columns)


@long
def test_an_example_for_dask_sums_services_and_bounds_what_is_not_known(tmp_path: Path) -> None:
    heat = tmp_path / "series" / "services-heat"
    absent = float("nan")
    days = {
        ("a", "2026-11-01"): [[10, 0, 70, 20], [30, 0, 50, 20]],
        ("b", "2026-11-01"): [[100, 100, 100, 0]],
        ("a", "2026-11-02"): [[1, 1, 2, 0], [absent] * 4],
        ("b", "2026-11-02"): [[absent] * 4],
    }
    for (name, day), rows in days.items():
        folder = heat / f"service={name}" / f"day={day}"
        folder.mkdir(parents=True)
        pd.DataFrame(rows, columns=HEAT_CLASSES, dtype="float64").to_parquet(folder / "series.parquet")
    files = {"series/services-heat/a": {"origin": "simulated"}, "lists/hosts.parquet": {"origin": "measured"}}
    (tmp_path / "manifest.json").write_text(json.dumps({"files": files}), encoding="utf-8")
    program = ROOT / "docs" / "examples" / "fleet_cold_memory.py"
    ended = subprocess.run([sys.executable, program, tmp_path], check=True, capture_output=True, text=True, timeout=300)
    printed = [line.split() for line in ended.stdout.splitlines()]
    assert printed[0][-1] == "simulated"
    assert printed[3:] == [["2026-11-01", "2", "400.0", "0.4", "0.45"], ["2026-11-02", "1", "4.0", "0.5", "0.50"]]


@native
def test_a_second_run_keeps_what_is_complete_and_mends_what_is_not(
    service: tuple[str, Populated], tmp_path: Path
) -> None:
    words = (tmp_path, "--service", service[1].ids["service_id"][0])
    first, last = (utc_now() - timedelta(days=3)).date(), (utc_now() - timedelta(days=2)).date()
    whole = export(service, *words, "--from", str(first), "--to", str(last))
    before = manifest(tmp_path)
    assert whole["written"] == len(before)
    assert not (tmp_path / "lists").exists(), "those are the fleet's"
    damaged, lost = sorted(before)[:2]
    (tmp_path / damaged).write_bytes(b"half")
    # What was longer than one file and no longer is: its second file is not left for whoever reads the folder.
    longer = tmp_path / damaged.replace(".parquet", "-1.parquet")
    longer.write_bytes((tmp_path / lost).read_bytes())
    listed = tmp_path / "manifest.json"
    document = json.loads(listed.read_text(encoding="utf-8"))
    document["files"][str(longer.relative_to(tmp_path))] = before[lost]
    listed.write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / lost).unlink()
    again = export(service, *words, "--from", str(first), "--to", str(last))
    assert (again["written"], again["kept"]) == (2, len(before) - 2)
    assert all((tmp_path / path).stat().st_size == told["bytes"] for path, told in manifest(tmp_path).items())
    assert not longer.exists()
    assert manifest(tmp_path).keys() == before.keys()
    more = export(service, *words, "--from", str(first), "--to", str(utc_now().date()))
    assert more["kept"] == len(before)
    assert more["written"] == len(before), "two days more"


@native
def test_refusals_say_cause_and_next_step(service: tuple[str, Populated], tmp_path: Path) -> None:
    url = ("--url", service[0])
    refused = call("export", tmp_path / "a", *url, env={**os.environ, "TIERSCOPE_TOKEN": "forged"})
    assert refused.status == 1
    assert "TIERSCOPE_TOKEN" in refused.stderr
    unknown = call(
        "export", tmp_path / "b", *url, "--service", "s0", env={**os.environ, "TIERSCOPE_TOKEN": service[1].token}
    )
    assert unknown.status == 1
    assert "s0" in unknown.stderr
    nobody = call("export", tmp_path / "c", "--url", "http://127.0.0.1:1")
    assert nobody.status == 1
    assert "http://127.0.0.1:1 does not answer" in nobody.stderr


def test_a_directory_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[]", encoding="utf-8")
    ended = call("export", tmp_path)
    assert ended.status == 1
    assert "Name another directory" in ended.stderr
    swapped = call("export", tmp_path / "new", "--from", "2026-11-02", "--to", "2026-11-01")
    assert swapped.status == 2
