"""How an instance judges its parts."""

import errno
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fixtures.memory import data_parent
from tierscope.cli.base.instance import find_instance
from tierscope.cli.instance import agent
from tierscope.cli.instance.agent import AgentFiles, Deliveries
from tierscope.cli.instance.claim import choose_port, find_port
from tierscope.cli.instance.components import Runtime
from tierscope.cli.instance.options import Options
from tierscope.cli.instance.run import InstanceRun
from tierscope.cli.main import app
from tierscope.core.clock import clock_set
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.places import find_places, prepare
from tierscope.core.embedded.process import ProcessId, identify
from tierscope.core.embedded.program import Program
from tierscope.core.embedded.state import InstanceState, load
from tierscope.core.settings import Settings

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A directory that every account can enter."""
    with tempfile.TemporaryDirectory(prefix="tsc-", dir=data_parent()) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def test_a_port_that_was_asked_for_is_taken_or_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(EmbeddedError, match=f"port {taken} of 127.0.0.1 is taken"):
            find_port(taken, exact=True)
        assert find_port(taken) > taken, "the default one is a wish"
    assert find_port(taken, exact=True) == taken


def test_a_program_that_polls_does_not_wait_for_the_text_of_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("tierscope.cli.instance.status.describe", lambda *_: pytest.fail("nobody reads it"))
    done = CliRunner().invoke(app, ["status", "--json"])
    assert json.loads(done.stdout)["phase"] == "stopped"


def test_an_instance_keeps_the_port_that_people_have_its_address_with(tmp_path: Path) -> None:
    instance, account = find_instance(Settings(data_dir=tmp_path), demo=False), choose_account()

    def choose(port: int, *, exact: bool = False) -> int:
        return choose_port(instance, Options(port, exact=exact), account)

    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        first = choose(taken)
        assert first > taken
    assert choose(taken) == first
    assert choose(taken, exact=True) == taken, "it was asked for"
    with (
        socket.create_server(("127.0.0.1", first)),
        pytest.raises(EmbeddedError, match=f"port {first} of 127.0.0.1 is taken"),
    ):
        choose(taken)
    with socket.create_server(("127.0.0.1", 0)) as other:
        demo = find_instance(Settings(data_dir=tmp_path), demo=True)
        for _ in range(2):
            assert choose_port(demo, Options(other.getsockname()[1]), account) > other.getsockname()[1]


def _say(files: AgentFiles, at: datetime | None) -> None:
    files.status.write_text(json.dumps({"last_delivered_at": at and at.isoformat()}), encoding="utf-8")


def test_clocks_that_are_set_do_not_make_an_agent_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(agent, "monotonic", lambda: now[0])
    files = AgentFiles(tmp_path)
    delivers = Deliveries(files)
    assert not delivers(), "there is no file"
    _say(files, None)
    assert not delivers()
    with clock_set(lambda: NOON):
        _say(files, NOON)
        assert delivers()
    for leap in (timedelta(days=-400), timedelta(days=400)):
        with clock_set(lambda leap=leap: NOON + leap):  # type: ignore[misc]
            assert delivers()
    now[0] += 3 * agent.INTERVAL_SECONDS
    assert not delivers(), "nothing came for three intervals"
    _say(files, NOON - timedelta(days=400))
    assert delivers()


def test_what_an_earlier_agent_left_does_not_count(tmp_path: Path) -> None:
    files = AgentFiles(tmp_path)
    _say(files, NOON - timedelta(days=1))
    with clock_set(lambda: NOON):
        assert not Deliveries(files)()


def test_a_supervisor_outlives_a_state_file_that_cannot_be_written(
    reachable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    settings = Settings(data_dir=reachable / "data")
    instance = find_instance(settings)
    prepare(instance.places, choose_account(settings.account))
    run = InstanceRun(instance, settings, Options(port=0, agent=False), said.append)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _no_space)
        for _ in range(3):
            run.publish("setting-up")
    assert len(said) == 1, "it is said once"
    assert "No space left on device" in said[0]
    assert [path.name for path in instance.places.data.glob("state.json*")] == []
    run.publish("up")
    kept = load(instance.places.state_file)
    assert kept is not None
    assert kept.phase == "up"
    assert "can be written again" in said[1]


def _no_space(*_: object, **__: object) -> int:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("demo", "setting", "reads"), [(True, None, True), (True, False, False), (False, None, None), (False, True, True)]
)
def test_a_demonstration_needs_no_login_unless_that_is_set(
    reachable: Path,
    demo: bool,  # noqa: FBT001 - a parameter
    setting: bool | None,  # noqa: FBT001 - a parameter
    reads: bool | None,  # noqa: FBT001 - a parameter
) -> None:
    settings = Settings(_env_file=None, data_dir=reachable, anonymous_reads=setting)
    instance = find_instance(settings, demo=demo)
    run = InstanceRun(instance, settings, Options(port=0), say=lambda _: None)
    assert run.anonymous_reads is reads
    runtime = Runtime(
        instance, Program(python="python"), choose_account(), "", "http://127.0.0.1:1", run.anonymous_reads
    )
    said = {None: None, True: "true", False: "false"}[reads]
    assert runtime.environment().get("TIERSCOPE_ANONYMOUS_READS") == said


def test_an_instance_whose_disk_can_no_longer_be_written_is_taken_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = identify(os.getpid())
    assert own is not None
    over = ProcessId(own.pid, own.start_ticks + 1)
    file = find_places(tmp_path).state_file
    InstanceState(phase="up", supervisor=over, url="http://127.0.0.1:1").save(file)

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path), missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setenv("TIERSCOPE_DATA_DIR", str(tmp_path))
    told = CliRunner().invoke(app, ["down"])
    assert (told.exit_code, told.output) == (0, "Nothing was running.\n")
    assert load(file) is not None
