"""Reading without a login on loopback: as set, else as decided once by who has accounts on the machine."""

from contextlib import closing
from pathlib import Path

import pytest

from factories.services import running
from tierscope.cli.access.loopback_trust import say_loopback_trust
from tierscope.core.database import Database
from tierscope.core.errors import Unavailable
from tierscope.core.machine_accounts import other_people
from tierscope.core.settings import Settings
from tierscope.storage.base.facts import store_fact
from tierscope.usecases.access.loopback_trust import LoopbackTrust

PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1::/usr/sbin:/usr/sbin/nologin
postgres:x:101:101::/var/lib/postgresql:/bin/bash
ann:x:1000:1000:Ann:/home/ann:/bin/bash
bob:x:1001:1001::/home/bob:
build:x:1002:1002::/home/build:/usr/sbin/nologin
robot:x:1003:1003::/home/robot:/bin/false
nobody:x:65534:65534::/nonexistent:/bin/sh
container:x:100000:100000::/:/bin/sh
not a line
"""


@pytest.mark.parametrize(("caller", "found"), [(0, ["ann", "bob"]), (1000, ["bob"]), (1001, ["ann"])])
def test_people_are_accounts_with_a_login_shell(tmp_path: Path, caller: int, found: list[str]) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text(PASSWD)
    assert other_people(passwd, caller=caller) == found
    assert other_people(tmp_path / "none", caller=caller) == []


def test_whoever_calls_sudo_is_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text(PASSWD)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "1000")
    assert other_people(passwd) == ["bob"]


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("others", [[], ["bob"]])
def test_it_is_decided_once(database: Database, others: list[str]) -> None:
    first = LoopbackTrust(database, setting=None, people=lambda: others).decide()
    assert (first.trusted, first.is_new, list(first.others)) == (not others, True, others)
    assert ("bob" in first.describe()) is bool(others)
    assert "TIERSCOPE_ANONYMOUS_READS" in first.describe()
    later = LoopbackTrust(database, setting=None, people=lambda: ["carol"] if not others else [])
    assert (later.decide().trusted, later.decide().is_new) == (not others, False)
    assert later.holds() is not bool(others)


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_it_is_decided_anew_on_another_machine(database: Database) -> None:
    assert LoopbackTrust(database, setting=None, people=list, machine=lambda: "laptop").holds()
    moved = LoopbackTrust(database, setting=None, people=lambda: ["bob"], machine=lambda: "server").decide()
    assert (moved.trusted, moved.is_new, moved.others) == (False, True, ("bob",))
    with database.write() as transaction:
        store_fact(transaction, "loopback_trust", "true")  # of a release that did not say of which machine
    assert not LoopbackTrust(database, setting=None, people=lambda: ["bob"]).holds()


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("setting", [True, False])
def test_a_setting_overrides_and_stores_nothing(database: Database, setting: bool) -> None:  # noqa: FBT001 - a parameter
    assert LoopbackTrust(database, setting=setting, people=lambda: ["bob"]).holds() is setting
    assert LoopbackTrust(database, setting=None, people=lambda: ["bob"]).decide().is_new


def test_while_nobody_can_say_a_login_is_needed() -> None:
    with closing(Database("postgresql://nobody@/none?host=/nonexistent")) as away:
        trust = LoopbackTrust(away, setting=None, people=list)
        with pytest.raises(Unavailable):
            trust.decide()
        assert trust.holds() is False


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("others", [[], ["bob"]])
def test_the_start_says_it_and_the_service_follows(
    database_url: str, others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = {**(LoopbackTrust.__init__.__kwdefaults__ or {}), "people": lambda: others}
    monkeypatch.setattr(LoopbackTrust.__init__, "__kwdefaults__", defaults)
    (said,) = say_loopback_trust(database_url, None)
    assert ("needs a login" in said) is bool(others)
    assert say_loopback_trust(database_url, None) == []
    with running(Settings(database_url=database_url, anonymous_reads=None)) as (_, client):
        answer = client.get("/v1/hosts")
        assert answer.status_code == (401 if others else 200)
        assert client.get("/v1/session").json()["anonymous_reads"] is not bool(others)
    with running(Settings(database_url=database_url, anonymous_reads=True)) as (_, client):
        assert client.get("/v1/status").json()["anonymous_reads"] is True
