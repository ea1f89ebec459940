"""`tierscope objects`: what is in object stores, and back again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tierscope.cli.base.exits import fail, print_json, say
from tierscope.cli.base.options import AsJson, Demo
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from tierscope.core.objects.store import ObjectStore

app = typer.Typer(help="Heat tiles and page samples in an object store; closed days as Parquet.", no_args_is_help=True)


@app.command()
def status(demo: Demo = False, as_json: AsJson = False) -> None:
    """Print how many objects there are and their size, and how many wait to be deleted."""
    from tierscope.cli.base.database import open_database
    from tierscope.domain.base.words import bytes_text, counted
    from tierscope.storage.objects.rows import count_objects

    settings = Settings()
    with open_database(settings, demo=demo) as database, database.read() as session:
        there = count_objects(session)
    store = settings.objects.store
    if as_json:
        print_json({"store": store, **{name: int(value) for name, value in there.items()}})
        return
    objects = f"{counted(there['stored'], 'object')} ({bytes_text(float(there['size_bytes']))})"
    typer.echo(f"{objects} in the store, {there['due']} to be deleted; new ones go to {store}")


@app.command()
def move(demo: Demo = False) -> None:
    """Move all bodies of finished hours to the object store now, as the workers do by themselves."""
    from datetime import timedelta

    from tierscope.cli.base.database import open_database
    from tierscope.core.clock import utc_now
    from tierscope.usecases.objects.by_node import ObjectsByNode

    settings = Settings()
    store = _store(settings)
    with open_database(settings, demo=demo) as database:
        _become_owner(_objects(settings))
        done, left = ObjectsByNode(database, store, utc_now).move(at_most=timedelta(hours=1))
    say(f"{done.objects} objects made ({done.size_bytes} bytes), {done.deleted} deleted")
    _end(left)


@app.command("bring-back")
def bring_back(demo: Demo = False) -> None:
    """Move all bodies back into rows, before the store is switched off. Stop the workers meanwhile."""
    from tierscope.cli.base.database import open_database
    from tierscope.core.clock import utc_now
    from tierscope.usecases.objects.by_node import ObjectsByNode

    settings = Settings()
    store = _store(settings)
    with open_database(settings, demo=demo) as database:
        _become_owner(_objects(settings))
        count, left = ObjectsByNode(database, store, utc_now).bring_back()
    say(f"{count} objects brought back")
    _end(left)


@app.command("publish")
def publish_history(demo: Demo = False, as_json: AsJson = False) -> None:
    """Publish closed days as Parquet now, as the workers do by themselves, after a look at all files."""
    from datetime import timedelta

    from tierscope.cli.base.database import open_database
    from tierscope.core.clock import utc_now
    from tierscope.core.errors import ConfigurationError
    from tierscope.core.objects.open import history_directory, open_history
    from tierscope.core.tabular import load_parquet
    from tierscope.usecases.operate.history import PublishHistory

    settings = Settings()
    store = open_history(settings)
    if store is None:
        raise ConfigurationError(
            "there is no place for published days", next_step="Set TIERSCOPE_HISTORY__STORE; see docs/howto/export.md."
        )
    load_parquet()
    with open_database(settings, demo=demo) as database:
        _become_owner(history_directory(settings))
        keep = timedelta(days=settings.history.keep_days)
        done = PublishHistory(database, store, utc_now, keep=keep).run(full=True, at_most=timedelta(hours=12))
    if as_json:
        print_json({"made": done.made, "same": done.same, "removed": done.removed, "waiting": done.waiting})
        return
    typer.echo(f"{done.made} files made, {done.same} as they were, {done.removed} removed, {done.waiting} wait")


def _become_owner(directory: Path | None) -> None:
    """As root, become the account that a directory of files belongs to: what is made there has to be its own."""
    from tierscope.core.embedded.account import become_owner

    if directory is not None:
        become_owner(directory)


def _objects(settings: Settings) -> Path | None:
    from tierscope.core.objects.open import store_directory

    return store_directory(settings)


def _end(left: tuple[str, ...]) -> None:
    """End with status 1 where servers were left out."""
    if left:
        fail(
            f"{', '.join(left)} does not answer: its objects stay as they are", next_step="run this again once it does"
        )


def _store(settings: Settings) -> ObjectStore:
    from tierscope.core.errors import ConfigurationError
    from tierscope.core.objects.open import open_store

    store = open_store(settings)
    if store is None:
        raise ConfigurationError(
            "no object store is set", next_step="Set TIERSCOPE_OBJECTS__STORE; see docs/operating/object-store.md."
        )
    return store
