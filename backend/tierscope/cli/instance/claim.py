"""Claiming what an instance needs for itself: its data directory and a port."""

import fcntl
import socket
from typing import IO

from tierscope.cli.base.instance import Instance
from tierscope.cli.instance.options import Options
from tierscope.core.embedded.account import Account
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.private_files import write_private

_PORTS_TRIED = 100


class AlreadyRunningError(EmbeddedError):
    """Another supervisor looks after this data directory."""

    def __init__(self) -> None:
        super().__init__(cause="it is already running", next_step="see `tierscope status`")


def hold_lock(instance: Instance) -> IO[str]:
    """Return the locked lock file of an instance. Raises AlreadyRunningError when another supervisor holds it."""
    file = instance.places.lock_file.open("a", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise AlreadyRunningError from error
    return file


def choose_port(instance: Instance, options: Options, account: Account) -> int:
    """Return the port that was asked for; else the one that the instance keeps, at first the first free one.

    The demonstration keeps none: its data is simulated, and beside the instance itself it goes elsewhere.

    Raises:
        EmbeddedError: it is taken, or none is free.
        OSError: a first one cannot be kept.
    """
    if options.exact or instance.demo:
        return find_port(options.port, exact=options.exact)
    try:
        return find_port(int(instance.places.port_file.read_text(encoding="ascii")), exact=True)
    except (FileNotFoundError, ValueError):
        port = find_port(options.port)
        write_private(instance.places.port_file, f"{port}\n", account=account)
        return port


def find_port(first: int, *, exact: bool = False) -> int:
    """Return the first free TCP port on loopback from `first` on, `first` alone where `exact`; 0 asks for any.

    Raises:
        EmbeddedError: none is free. Who holds a port that was asked for gets its bookmarks, cookies and tokens: the
            service does not go elsewhere in silence.
    """
    tried = 1 if exact else _PORTS_TRIED
    for port in range(first, first + tried) if first else [0]:
        with socket.socket() as probe:
            # As the server will, so that connections of an earlier one that are still closing do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    if exact:
        raise EmbeddedError(
            cause=f"port {first} of 127.0.0.1 is taken by another program",
            next_step=f"end it (`ss -ltnp 'sport = :{first}'` names it), or name another port with --port",
        )
    raise EmbeddedError(cause=f"no free port in {first}-{first + tried - 1}", next_step="name another one with --port")
