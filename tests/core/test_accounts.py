"""Who owns what of an instance: an account of its own, whatever the umask, and nobody else."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from factories.strangers import readable_by, stranger
from fixtures.servers import temporary_places
from tierscope.cli.instance.reach import check_settings_readable
from tierscope.core.embedded.account import Account, choose_account
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.places import Places, prepare
from tierscope.core.embedded.private_files import open_log, write_private
from tierscope.core.embedded.process import run_as
from tierscope.core.embedded.queue import open_queue
from tierscope.core.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


@pytest.fixture
def places() -> Iterator[Places]:
    with temporary_places() as made:
        yield made


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A directory that every account can enter, on the disk that programs are on."""
    with tempfile.TemporaryDirectory(prefix="tsc-", dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture
def open_umask() -> Iterator[None]:
    former = os.umask(0)
    yield
    os.umask(former)


def _connected(url: str) -> redis.Redis:
    return redis.Redis.from_url(url)


def _fill(places: Places) -> None:
    """Put into an instance what it writes in its life."""
    os.close(open_log(places.logs / "api.log"))
    write_private(places.state_file, "{}")
    for directory in (places.database, places.agent_state / "layouts", places.objects, places.queue_socket.parent):
        directory.mkdir(exist_ok=True)
        (directory / "file").write_text("secret", encoding="utf-8")


@as_root
@pytest.mark.usefixtures("open_umask")
def test_another_user_reads_nothing_of_an_instance_whatever_the_umask(places: Places) -> None:
    prepare(places, choose_account())
    _fill(places)
    (places.agent_state / "status.json").write_text("{}", encoding="utf-8")
    for root in (places.data, places.run):
        assert readable_by(stranger(), root) == []
    assert stat.S_IMODE(places.logs.stat().st_mode) == 0o700
    for file in (places.logs / "api.log", places.state_file):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@as_root
@pytest.mark.usefixtures("open_umask")
def test_a_place_that_cannot_be_prepared_is_told_with_the_way_out(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(places.data))

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(EmbeddedError, match="Read-only file system; set TIERSCOPE_DATA_DIR"):
        prepare(places, choose_account())


def test_what_an_earlier_release_left_open_is_closed_at_the_start(places: Places) -> None:
    places.logs.mkdir()
    for log in (places.logs / "supervisor.log", places.data / "database-password"):
        log.write_text("secret", encoding="utf-8")
        assert os.fspath(log) in readable_by(stranger(), places.data)
    prepare(places, choose_account())
    assert readable_by(stranger(), places.data) == []
    assert stat.S_IMODE((places.logs / "supervisor.log").stat().st_mode) == 0o600


@as_root
def test_what_belonged_to_the_shared_account_is_taken_over(places: Places, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("another's", encoding="utf-8")
    cluster = places.database / "base"
    cluster.mkdir(parents=True)
    (cluster / "1").write_text("rows", encoding="utf-8")
    (cluster / "link").symlink_to(elsewhere)
    for path in (places.database, cluster, cluster / "1", elsewhere):
        os.chown(path, stranger(), stranger())
    account = choose_account()
    prepare(places, account)
    assert {path.lstat().st_uid for path in (places.database, cluster, cluster / "1")} == {account.uid}
    assert elsewhere.stat().st_uid == stranger(), "a link is not followed"
    assert places.data.stat().st_uid == 0, "the account cannot put links in the way of root"


@as_root
def test_the_account_is_made_where_it_does_not_exist() -> None:
    name = f"tsc-test-{os.getpid()}"
    try:
        assert choose_account(name, create=False).uid == -1
        account = choose_account(name)
        assert (account.name, account.drops) == (name, True)
        assert account.uid not in (0, stranger())
        assert choose_account(name) == account
    finally:
        subprocess.run(["userdel", name], check=False, capture_output=True)


@as_root
@pytest.mark.parametrize("name", ["root", "nobody"])
def test_an_account_of_others_is_refused(name: str) -> None:
    with pytest.raises(EmbeddedError, match="TIERSCOPE_ACCOUNT"):
        choose_account(name)


@as_root
def test_an_account_that_cannot_be_made_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(EmbeddedError, match="useradd --system --user-group tsc-absent"):
        choose_account("tsc-absent")


def test_a_directory_of_others_is_never_closed(places: Places) -> None:
    (places.data / "photographs").mkdir()
    before = stat.S_IMODE(places.data.stat().st_mode)
    with pytest.raises(EmbeddedError, match="not Tierscope's"):
        prepare(places, choose_account())
    assert stat.S_IMODE(places.data.stat().st_mode) == before


@as_root
def test_a_setting_that_names_a_closed_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x", encoding="utf-8")
    secret.chmod(0o600)
    settings = Settings.model_validate({"mail": {"password_file": secret}})
    account = choose_account()
    with pytest.raises(EmbeddedError, match=rf"chown -R {account.name} {secret}"):
        check_settings_readable(settings, account)
    check_settings_readable(settings, Account(account.name, 0, 0, drops=True))
    check_settings_readable(settings, Account("me", os.geteuid(), os.getegid(), drops=False))


def test_the_queue_asks_for_a_password_that_no_command_line_shows(places: Places) -> None:
    prepare(places, choose_account())
    queue = open_queue(places, choose_account())
    if queue.binary is None:
        pytest.skip("no Redis-compatible server fits this machine")
    queue.start()
    try:
        assert queue.server is not None
        password = (places.data / "queue-password").read_text(encoding="ascii").strip()
        assert password in queue.url()
        assert password not in Path(f"/proc/{queue.server.pid}/cmdline").read_text(encoding="utf-8")
        for file in (places.data / "queue-password", queue.configuration):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with _connected(queue.url().replace(password, "guess")) as client, pytest.raises(redis.AuthenticationError):
            client.ping()
        with _connected(queue.url()) as client:
            assert client.ping()
        assert open_queue(places, choose_account()).url() == queue.url()
    finally:
        queue.stop()


@as_root
@pytest.mark.parametrize("closed", ["checkout", "modules"])
def test_the_account_runs_a_copy_of_a_program_that_is_closed_to_it(reachable: Path, closed: str) -> None:
    """A clone in root's home, and one that was made with a umask of its own."""
    tree = reachable / "clone"
    shutil.copytree(ROOT / "backend" / "tierscope", tree / "backend" / "tierscope")
    shutil.copytree(ROOT / "migrations", tree / "migrations")
    (tree if closed == "checkout" else tree / "backend" / "tierscope" / "domain").chmod(0o700)
    account = choose_account()
    code = (
        "import json, sys; from pathlib import Path\n"
        "from tierscope.core.embedded.account import choose_account\n"
        "from tierscope.core.embedded.program import reachable_program\n"
        "made = reachable_program(choose_account(), cache=Path(sys.argv[1]))\n"
        "print(json.dumps([made.python, dict(made.env)]))\n"
    )
    cache = reachable / "cache"
    ask = [sys.executable, "-c", code, str(cache)]
    env = {**os.environ, "PYTHONPATH": str(tree / "backend")}
    first = subprocess.run(ask, env=env, capture_output=True, check=True, text=True).stdout
    os.utime(Path(json.__file__).parent)  # as when Python keeps there what it has compiled
    assert subprocess.run(ask, env=env, capture_output=True, check=True, text=True).stdout == first
    python, given = json.loads(first)
    imports = "import tierscope.cli.main, tierscope.storage.base.schema as s; print(s.__file__, s.migrations_dir())"
    words = ["/usr/bin/env", *(f"{name}={value}" for name, value in given.items()), python, "-c", imports]
    done = run_as(account, words, cwd=Path("/"))
    assert done.returncode == 0, done.stdout
    assert all(place.startswith(str(cache)) for place in done.stdout.split()), done.stdout
    (tree / "backend" / "tierscope" / "new.py").write_text("", encoding="utf-8")
    subprocess.run(ask, env=env, capture_output=True, check=True)
    (source,) = cache.glob("source-*")
    assert (source / "backend" / "tierscope" / "new.py").exists(), "what changed is copied anew, and the old copy goes"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_what_root_makes_in_anothers_directory_is_theirs(tmp_path: Path) -> None:
    others = tmp_path / "objects"
    others.mkdir()
    os.chown(others, 65_534, 65_534)
    for parent in (tmp_path, *tmp_path.parents):
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)
    program = (
        "import sys; from pathlib import Path\n"
        "from tierscope.core.embedded.account import become_owner\n"
        "from tierscope.core.objects.directory import DirectoryStore\n"
        "become_owner(Path(sys.argv[1])); DirectoryStore(Path(sys.argv[1])).put('a/b', b'x')"
    )
    subprocess.run([sys.executable, "-c", program, str(others)], check=True)
    assert {path.stat().st_uid for path in (others / "a", others / "a" / "b")} == {65_534}
