"""An instance by its data directory."""

import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tierscope.core.embedded.account import Account
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.places import Places, find_places
from tierscope.core.embedded.private_files import write_private
from tierscope.core.embedded.state import load
from tierscope.core.settings import Settings

_ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance: live or demo."""

    places: Places
    demo: bool

    @property
    def name(self) -> str:
        """`live` or `demo`, as commands print it."""
        return "demo" if self.demo else "live"

    @property
    def database_url_file(self) -> Path:
        """Holds the database address with its password, for the processes of this instance."""
        return self.places.data / "database-url"

    @property
    def log(self) -> Path:
        """Where a detached supervisor writes its progress."""
        return self.places.logs / "supervisor.log"

    @property
    def heat_pids_file(self) -> Path:
        """Processes of this instance, the only ones whose heat its agent measures unless others are named."""
        return self.places.data / "heat-pids"

    @property
    def heat_programs_file(self) -> Path:
        """Programs that `up --heat` named, as JSON; they hold for later starts too."""
        return self.places.data / "heat-programs.json"

    def write_database_url(self, url: str, *, account: Account) -> None:
        """Keep the database address for the processes of this instance, readable by `account` and root alone."""
        write_private(self.database_url_file, url + "\n", account=account)

    def read_database_url(self) -> str:
        """Return the address kept by `write_database_url`. Raises EmbeddedError."""
        try:
            return self.database_url_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise EmbeddedError(
                cause=f"{self.database_url_file} cannot be read: {error.strerror}",
                next_step="run this command as the user who ran `tierscope up`",
            ) from error


def find_instance(settings: Settings, *, demo: bool = False) -> Instance:
    """Return the live or the demo instance of the settings' data directory, whether it runs or not."""
    return Instance(places=find_places(settings.data_dir, demo=demo), demo=demo)


def listening_address(settings: Settings, *, demo: bool = False) -> str:
    """Return where the service of this machine answers: the running instance, else where one would listen."""
    state = load(find_instance(settings, demo=demo).places.state_file)
    if state is not None and state.url:
        return state.url
    host = "localhost" if settings.host in _ANYWHERE else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def stranger_on(address: str, settings: Settings, *, demo: bool = False) -> str | None:
    """Whose program answers at an address of this machine, where it can be no instance of ours; None where it may be.

    While the service is down, anybody may listen on its port, and would be sent a token of an administrator. Instances
    run as root, as the caller, as the account of the settings, or as the owner of the data directory.
    """
    trusted = {0, os.geteuid()}
    with suppress(KeyError):
        trusted.add(pwd.getpwnam(settings.account).pw_uid)
    with suppress(OSError):
        trusted.add(find_instance(settings, demo=demo).places.data.stat().st_uid)
    strangers = _owners_of(urlsplit(address).port or 80) - trusted
    if not strangers:
        return None
    uid = min(strangers)
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _owners_of(port: int) -> set[int]:
    """Users with a socket that listens on a TCP port (Documentation/networking/proc_net_tcp.rst: state 0A, uid)."""
    owners = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", name).read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state, _, _, _, uid, *_ = line.split()
                if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                    owners.add(int(uid))
    return owners
