"""Users and teams of a service elsewhere, tokens and the link of the first start on a database of the test's own."""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from typer.testing import CliRunner, Result

from factories.loopback import free_port
from factories.prometheus import answers
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.cli.access.first_link import first_link
from tierscope.cli.main import app
from tierscope.core.database import Database

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture(autouse=True)
def _settings(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_DATABASE_URL", database_url)
    monkeypatch.setenv("TIERSCOPE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TIERSCOPE_PUBLIC_URL", "https://tiers.example/")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.usefixtures("asked")
def test_a_user_is_added_changed_and_kept_out() -> None:
    added = run("user", "add", "Ann", "--role", "operator", "--email", "ann@example.org", "--json")
    assert added.exit_code == 0, added.output
    made = json.loads(added.stdout)
    assert (made["name"], made["role"], made["source"], made["last_login_at"]) == ("ann", "operator", "local", None)
    assert made["password_link"].startswith("https://tiers.example/login/password?link=tsp_")
    assert "the name ann is taken" in run("user", "add", "ann").output
    again = run("user", "password-link", "ann").stdout.strip()
    assert again.startswith("https://tiers.example/login/password?link=tsp_")
    assert again != made["password_link"]
    assert run("user", "role", "ann", "admin").stdout == "ann is admin now.\n"
    assert run("user", "disable", "ann").stdout == "ann is disabled.\n"
    assert run("user", "password-link", "ann").exit_code == 1
    (listed,) = json.loads(run("user", "list", "--json").stdout)
    assert (listed["role"], listed["disabled"], listed["email"]) == ("admin", True, "ann@example.org")
    assert "disabled" in run("user", "list").stdout
    assert run("user", "enable", "ann").exit_code == 0
    assert "disabled" not in run("user", "list").stdout
    assert "there is no user 'nobody'" in run("user", "role", "nobody", "viewer").output


def test_a_team_is_added_filled_and_removed(asked: Database) -> None:
    with asked.write() as transaction:
        transaction.execute(
            text("INSERT INTO services (public_id, namespace, name, origin) VALUES ('s1','a','b','live')")
        )
    for name in ("ann", "bob"):
        run("user", "add", name)
    made = run("team", "add", "storage", "--member", "ann", "--service", "s1")
    assert made.exit_code == 0, made.output
    assert run("team", "set", "storage", "--member", "bob").stdout == "storage: 1 members, 1 services\n"
    assert "storage: bob; 1 services" in run("team", "list").stdout
    (listed,) = json.loads(run("team", "list", "--json").stdout)
    assert (listed["name"], listed["services"], len(listed["members"])) == ("storage", ["s1"], 1)
    assert run("team", "remove", "search").exit_code == 1
    assert run("team", "remove", "storage").exit_code == 0
    assert json.loads(run("team", "list", "--json").stdout) == []


def test_a_token_is_made_for_scopes_alone() -> None:
    words = ("token", "api", "--role", "operator", "--scope", "write:samples", "--note", "prometheus", "--json")
    assert json.loads(run(*words).stdout)["token"].startswith("tsa_")
    (listed,) = json.loads(run("token", "list", "--json").stdout)
    assert (listed["scopes"], listed["role"], listed["user_name"]) == (["write:samples"], "operator", None)
    assert run("token", "api", "--scope", "write:own").exception is not None


@contextmanager
def serving(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yields the address of `tierscope serve` as its own process once it is ready, and its standard error."""
    port, log = free_port(), directory / f"serve-{secrets.token_hex(4)}.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tierscope.cli", "serve", "--port", str(port)],
            env=dict(os.environ),
            stdout=errors,
            stderr=errors,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        until(lambda: answers(f"{address}/readyz"), "the service is ready", log=log, alive={"it": process})
        yield address, log
    finally:
        process.terminate()
        process.wait(DEADLINE_SECONDS)


def test_the_first_start_says_a_link_on_a_terminal_alone(database_url: str, tmp_path: Path) -> None:
    with serving(tmp_path) as (address, log):
        written = log.read_text(encoding="utf-8")
        assert "`tierscope token link`" in written
        assert "link=" not in written, "a log is read by more people than a terminal"
        said = first_link(database_url, "https://tiers.example", private=True)
        (link,) = re.findall(r"https://tiers\.example/login\?link=(tsl_\S+)", "\n".join(said))
        told = httpx.post(f"{address}/v1/session", json={"link": link}).json()
        assert (told["kind"], told["role"]) == ("session", "admin")
        assert first_link(database_url, address, private=True) == []
        assert first_link(database_url, address, private=False) == []


def test_a_database_without_a_schema_says_nothing(empty_database_url: str) -> None:
    assert first_link(empty_database_url, "http://127.0.0.1:1", private=True) == []
    assert first_link("postgresql://nobody@127.0.0.1:1/none", "http://127.0.0.1:1", private=True) == []
