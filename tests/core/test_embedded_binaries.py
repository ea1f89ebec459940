"""Finding PostgreSQL: its version, and how far that is behind."""

import json
import os
from pathlib import Path

import pytest

from cli.commands import call
from tierscope.core.embedded.binaries import NEWEST_MINORS, find_postgres


def install(folder: Path, patch: pytest.MonkeyPatch, banner: str) -> None:
    """Puts programs of that version on PATH, before those of the machine."""
    folder.mkdir()
    for name in ("initdb", "pg_dump", "pg_restore", "psql"):
        (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / "postgres").write_text(f"#!/bin/sh\necho 'postgres ({banner}'\n", encoding="utf-8")
    (folder / "pg_config").write_text(f"#!/bin/sh\necho {folder}\n", encoding="utf-8")
    for program in folder.iterdir():
        program.chmod(0o755)
    patch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("banner", "version", "missing"),
    [
        (f"PostgreSQL) 15.{NEWEST_MINORS[15]} (Debian 15.20-0+deb12u1)", f"15.{NEWEST_MINORS[15]}", 0),
        (f"PostgreSQL) 15.{NEWEST_MINORS[15] - 2}", f"15.{NEWEST_MINORS[15] - 2}", 2),
        (f"PostgreSQL) 18.{NEWEST_MINORS[18] + 1}", f"18.{NEWEST_MINORS[18] + 1}", 0),
        ("PostgreSQL) 99.0", "99.0", 0),
        ("PostgreSQL) 19beta1", "19", 0),
    ],
)
def test_old_minor_releases_are_told_and_unknown_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, banner: str, version: str, missing: int
) -> None:
    install(tmp_path / "bin", monkeypatch, banner)
    found = find_postgres()
    assert (found.bin_dir, found.version, found.missing_minors) == (tmp_path / "bin", version, missing)


def programs(folder: Path) -> dict[str, str]:
    """What `tierscope doctor` says of the programs, for an instance with its data in that folder."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TIERSCOPE_")}
    done = call("doctor", "--json", env={**env, "TIERSCOPE_DATA_DIR": str(folder)})
    checks: dict[str, dict[str, str]] = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    return checks["programs"]


def test_doctor_warns_of_an_old_minor_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, f"PostgreSQL) 15.{NEWEST_MINORS[15] - 2}")
    found = programs(tmp_path / "data")
    assert found["result"] == "warning"
    assert f"2 minor releases behind 15.{NEWEST_MINORS[15]}" in found["detail"]
    assert found["next_step"].startswith("upgrade")


def test_data_of_another_major_version_is_told_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, "PostgreSQL) 18.6")
    cluster = tmp_path / "data" / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("14\n", encoding="utf-8")
    found = programs(tmp_path / "data")
    assert found["result"] == "failed"
    assert "made by PostgreSQL 14" in found["detail"]
    assert "tierscope backup" in found["next_step"] or "back up" in found["next_step"]
    assert (cluster / "PG_VERSION").read_text(encoding="utf-8") == "14\n"
