"""The service that a command asks over HTTP: the one that is named, that of `tierscope login`, or this machine's.

On this machine whoever may read the address of the database may do what admins may: where the service wants a login,
a token is made there, valid for half a day.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

import httpx

import tierscope
from tierscope.cli.base.database import actor, open_database
from tierscope.cli.base.exits import BAD_USAGE, FAILED, fail, say
from tierscope.cli.base.instance import listening_address, stranger_on
from tierscope.cli.base.logins import read_logins
from tierscope.core.settings import Settings
from tierscope_client import Client, ProblemError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

URL_VARIABLE, TOKEN_VARIABLE = "TIERSCOPE_URL", "TIERSCOPE_TOKEN"
LOCAL_LIFETIME = timedelta(hours=12)
TIMEOUT_SECONDS = 300.0
"""Advice on a large service takes longer than most answers."""
_LOG_IN = f"log in with `tierscope login URL`, or set {TOKEN_VARIABLE}; `tierscope token api` makes a token"
_UNLIKE = frozenset({404, 405, 422})
"""What a service of another version answers to a request that it does not know."""
_ARGUMENTS = frozenset({400, 422})
"""What a service answers to arguments that it does not take."""


class Credentials(httpx.Auth):
    """Sends a token, asks for another one where it is refused, and says once which nodes are away."""

    def __init__(self, token: str | None, renew: Callable[[], str] | None) -> None:
        self._token = token
        self._renew = renew
        self._said = False

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request, and once more with a new token where it is refused."""
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED and self._renew is not None:
            self._token, self._renew = self._renew(), None
            request.headers["Authorization"] = f"Bearer {self._token}"
            response = yield request
        away = response.headers.get("X-Nodes-Away")
        if away and not self._said:
            self._said = True
            say(f"Answers leave out hosts: {response.headers['X-Nodes']} nodes answer; away: {away}.")


@contextmanager
def open_service(*, demo: bool = False, url: str | None = None) -> Iterator[Client]:
    """Yield a client of the service; end the command with cause and next step where it does not answer, or refuses."""
    logins = read_logins()
    named = url or (None if demo else os.environ.get(URL_VARIABLE) or logins.url)
    settings = Settings()
    address = (named or listening_address(settings, demo=demo)).rstrip("/")
    if not named and (stranger := stranger_on(address, settings, demo=demo)):
        fail(
            f"{address} is answered by a program of the user {stranger}, not by the service of this machine",
            next_step=f"run `tierscope up`, or name a service with `tierscope login URL` or {URL_VARIABLE}",
        )
    token = None if demo else os.environ.get(TOKEN_VARIABLE)
    credentials = Credentials(
        token or logins.tokens.get(address), None if named or token else lambda: _local_token(address, demo=demo)
    )
    with open_client(address, credentials) as client:
        yield client


@contextmanager
def open_client(address: str, auth: httpx.Auth | Callable[[httpx.Request], httpx.Request]) -> Iterator[Client]:
    """Yield a client of an address, whose refusals end the command."""
    try:
        # Authorities of certificates take longer to load than most answers take.
        with Client(address, auth=auth, timeout_seconds=TIMEOUT_SECONDS, verify=address.startswith("https")) as client:
            try:
                yield client
            except ProblemError as problem:
                _refused(client, address, problem)
    except (UnreachableError, httpx.InvalidURL) as error:
        fail(
            f"{address} does not answer: {error}",
            next_step=f"run `tierscope up`, or name a service with `tierscope login URL` or {URL_VARIABLE}",
        )


def service_id(client: Client, name: str) -> str:
    """The id of a service given by its id or by namespace/name; live ones come before recorded ones."""
    if "/" not in name:
        return name
    rows = (row for row in client.iter_services(limit=1000) if f"{row['namespace']}/{row['name']}" == name)
    return _first(rows, f"service {name!r}", "open the Services page, or GET /v1/services")


def host_id(client: Client, name: str) -> str:
    """The id of a host given by its id or its name; live ones come before recorded ones."""
    rows = client.list_hosts(host=[name], limit=1)["items"]
    named = (row for row in client.iter_hosts(q=name, limit=1000) if row["name"] == name)
    return _first(iter(rows) if rows else named, f"host {name!r}", "open the Hosts page, or GET /v1/hosts")


def _first(rows: Iterator[Any], what: str, next_step: str) -> str:
    found = sorted(rows, key=lambda row: (row["origin"] != "live", row["id"]))
    if not found:
        fail(f"there is no {what}", next_step=next_step)
    return str(found[0]["id"])


def _local_token(address: str, *, demo: bool) -> str:
    """A token made in the database, kept for the commands that follow where that can be written."""
    from tierscope.usecases.access.tokens import Access

    with open_database(Settings(), demo=demo) as database:
        made = Access(database).create_api_token(role="admin", note=actor(), lifetime=LOCAL_LIFETIME, actor=actor())
    logins = read_logins()
    logins.tokens[address] = made.secret
    with suppress(OSError):
        logins.save()
    return made.secret


def _refused(client: Client, address: str, problem: ProblemError) -> NoReturn:
    next_step = problem.next_step or "read the log of the service"
    if problem.status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        next_step = _LOG_IN
    elif problem.status in _UNLIKE:
        with suppress(ProblemError, UnreachableError, KeyError):
            version = client.read_status()["version"]
            if version != tierscope.__version__:
                next_step += f" {address} is Tierscope {version}, this command {tierscope.__version__}: use the same."
    status = BAD_USAGE if problem.status in _ARGUMENTS else FAILED
    fail(problem.cause or problem.title, next_step=next_step, status=status)
