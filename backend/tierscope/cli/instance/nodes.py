"""Further database servers of the demo on this machine: what `up --demo --nodes` starts, and `up` from then on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.cli.base.instance import Instance
from tierscope.core.embedded.account import Account
from tierscope.core.embedded.places import Places, find_places, prepare

if TYPE_CHECKING:
    from tierscope.core.embedded.postgres import PostgresCluster

MOST_NODES = 8


def node_places(instance: Instance) -> dict[str, Places]:
    """Where the servers that were made keep their files, by name."""
    made = sorted(path.name for path in _home(instance).glob("n[1-9]") if path.is_dir())
    return {name: _places(instance, name) for name in made}


def open_nodes(instance: Instance, account: Account, count: int) -> Iterator[tuple[str, PostgresCluster]]:
    """The servers n1 to n`count`, and those that were made before, each with a cluster; they do not run yet.

    Raises:
        EmbeddedError: one cannot be made.
    """
    from tierscope.core.embedded.postgres import open_cluster

    wanted = {f"n{number}": _places(instance, f"n{number}") for number in range(1, count + 1)}
    for name, places in sorted((node_places(instance) | wanted).items()):
        prepare(places, account)
        cluster = open_cluster(places, account)
        cluster.create()
        yield name, cluster


def add_nodes(database_url: str, urls: dict[str, str]) -> list[str]:
    """Let the fleet use servers by name, those that it does not use yet; their names.

    Raises:
        Conflict: a server holds something else.
        ConfigurationError: the database user may not make foreign servers.
    """
    from tierscope.core.database import Database
    from tierscope.usecases.nodes.changes import NodeChanges

    with closing(Database(database_url, pool_size=1)) as database:
        changes = NodeChanges(database)
        there = {node.name for node in changes.list()}
        new = [name for name in urls if name not in there]
        for name in new:
            changes.add(name, urls[name], actor="up")
    return new


def _home(instance: Instance) -> Path:
    return instance.places.data / "nodes"


def _places(instance: Instance, name: str) -> Places:
    return find_places(_home(instance) / name)
