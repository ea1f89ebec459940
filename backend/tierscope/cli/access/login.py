"""`tierscope login` and `tierscope logout`: which service commands ask, and as whom."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, say
from tierscope.cli.base.logins import read_logins

if TYPE_CHECKING:
    import httpx

_LINK = "?link="
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(login)
    app.command()(logout)


def login(
    url: Annotated[str, typer.Argument(help="Address of the service, or a one-time link of `tierscope token link`.")],
    days: Annotated[float, typer.Option(min=0.01, max=3660, help="How long a token made by a link is valid.")] = 90,
) -> None:
    """Ask this service from now on. An API token is read from the terminal or from standard input, unless it is a link.

    It is kept in a file that you alone can read. Scripts set TIERSCOPE_URL and TIERSCOPE_TOKEN instead.
    """
    from tierscope.cli.base.service import Credentials, open_client

    address, _, link = url.partition(_LINK)
    address = address.removesuffix("/login").rstrip("/")
    if not address.startswith(("http://", "https://")):
        fail(f"{url} is no address", next_step="write https://HOST, or a one-time link", status=BAD_USAGE)
    if link:
        token = _token_by_link(address, link, days)
    elif sys.stdin.isatty():
        token = str(typer.prompt("API token", hide_input=True, err=True)).strip()
    else:
        token = sys.stdin.readline().strip()
    with open_client(address, Credentials(token, None)) as client:
        session = client.read_session()
    if session["role"] is None:
        fail(f"{address} was given no token", next_step="`tierscope token api` makes one", status=BAD_USAGE)
    if address.startswith("http://") and urlsplit(address).hostname not in _LOOPBACK:
        say(f"The token travels to {address} in the clear: use https where others can read the network.")
    logins = read_logins()
    logins.url, logins.tokens[address] = address, token
    logins.save()
    typer.echo(f"Commands ask {address} as {session['name']} ({session['role']}).")


def logout() -> None:
    """Forget the service and all tokens that are kept; commands ask the instance of this machine again."""
    from tierscope.cli.base.logins import logins_file

    with suppress(FileNotFoundError):
        logins_file().unlink()
    typer.echo("Commands ask the instance of this machine. Tokens stay valid until they are revoked or expire.")


def _token_by_link(address: str, link: str, days: float) -> str:
    """Trade a one-time link for a session, make a token of its role, and end the session."""
    from tierscope.cli.base.database import actor
    from tierscope.cli.base.service import open_client

    headers: dict[str, str] = {}

    def as_session(request: httpx.Request) -> httpx.Request:
        request.headers.update(headers)
        return request

    with open_client(address, as_session) as client:
        session = client.log_in({"link": link})
        assert session["role"] is not None
        headers["X-CSRF-Token"] = str(session["csrf_token"])
        headers["X-Session-Key"] = session["session_key"] or ""
        note = f"{actor()}@{socket.gethostname()}"
        made = client.create_token({"role": session["role"], "note": note, "days": days})
        client.log_out()
    return made["token"]
