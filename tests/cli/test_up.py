"""`up`, `status`, `down` on the real servers: coming up, crashes, stale state, nothing left behind."""

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import START_SECONDS, Tierscope, call, fresh_tierscope
from factories.waiting import DEADLINE_SECONDS
from fixtures.elsewhere import long
from tierscope.core.embedded.process import identify, wait_gone

pytestmark = pytest.mark.running_clock
UP = ("up", "--detach", "--no-agent", "--port", "0")


@pytest.fixture
def fresh() -> Iterator[Tierscope]:
    with fresh_tierscope() as tierscope:
        yield tierscope


@pytest.fixture(scope="module")
def made() -> Iterator[Tierscope]:
    with fresh_tierscope() as tierscope:
        yield tierscope


@pytest.fixture
def running(made: Tierscope) -> Tierscope:
    """The instance that the tests share, started where one before has ended it."""
    if made.status(expect=None)["phase"] != "up":
        made.run(*UP)
    return made


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=DEADLINE_SECONDS) as answer:  # noqa: S310 - an address of our own service
        return str(answer.read().decode())


def test_all_components_are_healthy_and_the_api_answers(running: Tierscope) -> None:
    status = running.status()
    assert status["healthy"] is True
    assert status["phase"] == "up"
    for name in ("database", "queue", "api", "worker"):
        assert status["components"][name]["status"] == "healthy", name
    assert status["components"]["agent"]["status"] == "absent"
    assert json.loads(_get(f"{status['url']}/readyz"))["ready"] is True


def test_a_second_up_says_that_it_already_runs(running: Tierscope) -> None:
    assert "already running" in running.run(*UP)
    assert running.status()["url"] in running.run("up", "--detach")


def test_a_killed_api_comes_back_at_the_same_address(running: Tierscope) -> None:
    before = running.status()
    os.kill(before["components"]["api"]["pid"], signal.SIGKILL)
    process = identify(before["components"]["api"]["pid"])
    assert process is None or wait_gone(process, timeout_seconds=DEADLINE_SECONDS)
    after = running.status()
    assert after["url"] == before["url"]
    assert after["components"]["api"]["restarts"] == before["components"]["api"]["restarts"] + 1


@pytest.mark.parametrize("name", ["queue", "worker"])
def test_a_killed_part_of_the_background_work_comes_back(running: Tierscope, name: str) -> None:
    before = running.status()["components"][name]
    os.kill(before["pid"], signal.SIGKILL)
    process = identify(before["pid"])
    assert process is None or wait_gone(process, timeout_seconds=DEADLINE_SECONDS)
    after = running.status()
    assert after["healthy"] is True
    assert after["components"][name]["restarts"] == before["restarts"] + 1


def test_a_killed_database_comes_back_with_its_data(running: Tierscope) -> None:
    made = json.loads(running.run("token", "join", "--json"))
    pid = running.status()["components"]["database"]["pid"]
    os.kill(pid, signal.SIGKILL)
    process = identify(pid)
    assert process is None or wait_gone(process, timeout_seconds=DEADLINE_SECONDS)
    assert running.status()["components"]["database"]["restarts"] >= 1
    assert made["id"] in [token["id"] for token in json.loads(running.run("token", "list", "--json"))]


def test_operating_commands_work_on_the_running_instance(running: Tierscope, tmp_path: Path) -> None:
    assert "/login?link=tsl_" in running.run("token", "link")
    event = json.loads(running.run("event", "deployed checkout 1.2", "--json"))
    assert event["text"] == "deployed checkout 1.2"
    assert json.loads(running.run("migrate", "--json")) == {"storage": "native"}
    named = ("database_password_file", "mail.password_file", "password_login")
    shown = [line for line in running.run("config").splitlines() if not line.startswith(named)]
    assert not [line for line in shown if "password" in line.lower()]
    copy = tmp_path / "copy.dump"
    running.run("backup", str(copy))
    assert copy.stat().st_mode & 0o777 == 0o600
    running.run("backup", str(copy), expect=2)
    running.run("event", "made after the backup")
    running.run("restore", str(copy), expect=2)
    running.run("restore", str(copy), "--replace")
    running.run("token", "revoke", "no-such-token", expect=1)
    url = running.status()["url"]
    texts = [item["text"] for item in json.loads(_get(f"{url}/v1/events"))["items"]]
    assert texts == ["deployed checkout 1.2"]


@long
def test_a_killed_supervisor_leaves_nothing_running_and_up_recovers(running: Tierscope) -> None:
    state = json.loads((running.data_dir / "state.json").read_text(encoding="utf-8"))
    children = [identify(part["process"]["pid"]) for part in state["components"].values() if part["process"]]
    os.kill(state["supervisor"]["pid"], signal.SIGKILL)
    for child in children:
        assert child is None or wait_gone(child, timeout_seconds=DEADLINE_SECONDS)
    status = running.status(expect=1)
    assert status["phase"] == "failed"
    assert "supervisor is gone" in status["note"]
    running.run(*UP, "--no-wait")
    assert running.status()["healthy"] is True


@long
def test_down_and_ctrl_c_leave_nothing_running_and_keep_the_data(running: Tierscope) -> None:
    token = json.loads(running.run("token", "join", "--json"))["id"]
    assert len(running.leftovers()) > 0
    assert "Stopped: live" in running.run("down")
    assert running.leftovers() == []
    assert running.status(expect=1)["phase"] == "stopped"
    assert "Nothing was running" in running.run("down")
    with subprocess.Popen(
        running.command("up", "--no-agent", "--port", "0"),
        env=running.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as foreground:
        assert foreground.stdout is not None
        lines, tokens = [], ""
        for line in foreground.stdout:
            lines.append(line)
            if "Tierscope is up" in line:
                tokens = running.run("token", "list")
                foreground.send_signal(signal.SIGINT)
        assert foreground.wait(timeout=START_SECONDS) == 0, "".join(lines)
    assert token in tokens
    assert "stopping" in lines[-1]
    assert running.leftovers() == []


def test_a_state_file_that_names_a_stranger_harms_nobody(fresh: Tierscope) -> None:
    own = identify(os.getpid())
    assert own is not None
    stranger = {"pid": own.pid, "start_ticks": own.start_ticks + 1}
    component = {"status": "healthy", "detail": "", "since": "2026-01-01T00:00:00+00:00", "restarts": 0}
    document = {
        "schema": 1,
        "phase": "up",
        "supervisor": stranger,
        "url": "http://127.0.0.1:1",
        "note": "",
        "storage": "native",
        "components": {"api": {**component, "process": stranger}},
    }
    (fresh.data_dir / "state.json").write_text(json.dumps(document), encoding="utf-8")
    assert fresh.status(expect=1)["components"]["api"]["status"] == "down"
    fresh.run("down")
    assert not (fresh.data_dir / "state.json").exists()


def test_commands_without_an_instance_say_what_to_do(fresh: Tierscope) -> None:
    done = call("token", "join", env=fresh.env)
    assert done.status == 1
    assert "no instance runs here" in done.stderr
    assert "tierscope up" in done.stderr


def test_servers_of_the_demo_are_not_started_for_real_data(fresh: Tierscope) -> None:
    done = call("up", "--nodes", "3", env=fresh.env)
    assert done.status == 2
    assert "add --demo; `tierscope nodes add`" in done.stderr


def test_a_wrong_setting_is_named_as_bad_usage(fresh: Tierscope) -> None:
    done = call("config", env={**fresh.env, "TIERSCOPE_PORT": "lots"})
    assert done.status == 2
    assert "setting port" in done.stderr
