"""The database that a command works on: the configured one, else that of the running instance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from typing import TYPE_CHECKING

from tierscope.cli.base.exits import say
from tierscope.cli.base.instance import find_instance
from tierscope.core.embedded.state import load
from tierscope.core.errors import ConfigurationError
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.core.database import Database


def resolve_url(settings: Settings, *, demo: bool = False) -> str:
    """Return the database address.

    Raises:
        ConfigurationError: none is configured and no instance runs here.
    """
    configured = None if demo else settings.resolve_database_url()
    if configured is not None:
        return configured
    instance = find_instance(settings, demo=demo)
    state = load(instance.places.state_file)
    if state is None or not state.supervised:
        raise ConfigurationError(
            "no database is configured and no instance runs here",
            next_step=f"run `tierscope up{' --demo' if demo else ''}`, or set TIERSCOPE_DATABASE_URL",
        )
    return instance.read_database_url()


@contextmanager
def open_database(settings: Settings, *, demo: bool = False) -> Iterator[Database]:
    """Yield the database that a command works on."""
    from tierscope.core.database import Database

    database = Database(resolve_url(settings, demo=demo), pool_size=2)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def open_fleet(settings: Settings, *, demo: bool = False) -> Iterator[Database]:
    """Yield the database of a command that answers for hosts, and say which of its servers are away."""
    from tierscope.usecases.nodes.fleet import tell_away_now

    with open_database(settings, demo=demo) as database:
        away = tell_away_now(database)
        if away is not None:
            say(f"Answers leave out hosts: {away}.")
        yield database


def actor() -> str:
    """Return the name that changes made from the command line carry in the audit trail."""
    try:
        return f"cli:{getuser()}"
    except (KeyError, OSError):
        return "cli"
