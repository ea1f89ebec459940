"""Which service a command asks, and as whom: this machine's, that of a login, or the one that a script names."""

import json
import os
import pwd
import socket
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner, Result

import tierscope
from factories.loopback import LOOPBACK, QuietHandler, listening
from tierscope.cli.base.logins import logins_file, read_logins
from tierscope.cli.main import app
from tierscope.core.database import Database
from tierscope.usecases.access.tokens import Access

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SCRIPT = ("TIERSCOPE_URL", "TIERSCOPE_TOKEN")


def run(*words: str, typed: str | None = None) -> Result:
    """Runs a command; what is `typed` comes from standard input."""
    return CliRunner().invoke(app, list(words), input=typed)


@pytest.fixture
def named(asked: Database, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """What a script would name, where none does."""
    del asked
    kept = {name: os.environ[name] for name in SCRIPT}
    for name in SCRIPT:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TIERSCOPE_PORT", "1")
    return kept


@native
def test_a_login_by_token_holds_until_the_logout(named: Mapping[str, str]) -> None:
    url, token = (named[name] for name in SCRIPT)
    done = run("login", url, typed=f"{token}\n")
    assert done.exit_code == 0, done.output
    assert "as token:tests (admin)" in done.stdout
    assert logins_file().stat().st_mode & 0o777 == 0o600
    assert run("silences", "list").stdout == "There are no silences.\n"
    assert run("logout").exit_code == 0
    assert not logins_file().exists()
    away = run("silences", "list")
    assert away.exit_code == 1
    assert "http://127.0.0.1:1 does not answer" in away.output


@native
def test_a_one_time_link_is_traded_for_a_token_once(named: Mapping[str, str], asked: Database) -> None:
    link = f"{named['TIERSCOPE_URL']}/login?link={Access(asked).create_link(role='admin', actor='test').secret}"
    done = run("login", link, "--days", "7")
    assert done.exit_code == 0, done.output
    assert run("agents", "pauses").stdout == "No agent is paused.\n"
    newest = Access(asked).list_tokens()[0]
    assert (newest.kind, newest.note[:4]) == ("api", "cli:")
    again = run("login", link)
    assert again.exit_code == 1
    assert "this login link was used or has expired" in again.output


@native
def test_whoever_reads_the_database_of_this_machine_needs_no_login(
    named: Mapping[str, str], asked: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_PORT", str(urlsplit(named["TIERSCOPE_URL"]).port))
    unknown = run("silences", "list")
    assert unknown.exit_code == 1, "no login, and no database"
    monkeypatch.setenv("TIERSCOPE_DATABASE_URL", database_url)
    for _ in range(2):
        assert run("silences", "list").stdout == "There are no silences.\n"
    made = [row for row in Access(asked).list_tokens() if row.note.startswith("cli:")]
    assert len(made) == 1, "one token serves the commands of half a day"
    assert made[0].expires_at is not None
    assert logins_file().stat().st_mode & 0o777 == 0o600
    Access(asked).revoke_token(made[0].id, actor="test")
    assert run("silences", "list").exit_code == 0, "another one is made"
    assert read_logins().url is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket to another user")
def test_a_port_that_another_user_took_is_sent_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SCRIPT:
        monkeypatch.delenv(name, raising=False)
    for name in ("TIERSCOPE_DATA_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with socket.create_server((LOOPBACK, 0)) as taken:
        nobody = pwd.getpwnam("nobody")
        os.fchown(taken.fileno(), nobody.pw_uid, nobody.pw_gid)
        monkeypatch.setenv("TIERSCOPE_PORT", str(taken.getsockname()[1]))
        refused = run("silences", "list")
        taken.settimeout(0)
        with pytest.raises(BlockingIOError):
            taken.accept()
    assert refused.exit_code == 1
    assert "a program of the user nobody, not by the service of this machine" in refused.output


@native
def test_a_refusal_says_what_to_do(asked: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = Access(asked).create_api_token(role="viewer", note="reads", lifetime=None, actor="test").secret
    for token, cause in ((viewer, "`token:reads` (viewer) does not have"), ("tsa_none", "unknown, expired or revoked")):
        monkeypatch.setenv("TIERSCOPE_TOKEN", token)
        refused = run("agents", "pause", "--all")
        assert refused.exit_code == 1
        assert cause in refused.output
        assert "log in with `tierscope login URL`" in refused.output


class _Older(QuietHandler):
    """A service that lacks what is asked for."""

    def do_GET(self) -> None:  # noqa: N802 - the name that the base class calls
        known = self.path == "/v1/status"
        body = json.dumps({"version": "0.0.1"} if known else {"detail": "no such route"}).encode()
        self.send_response(HTTPStatus.OK if known else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_service_of_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(_Older) as port:
        monkeypatch.setenv("TIERSCOPE_URL", f"http://{LOOPBACK}:{port}")
        refused = run("agents", "pauses")
    assert refused.exit_code == 1
    assert f"is Tierscope 0.0.1, this command {tierscope.__version__}: use the same." in refused.output
