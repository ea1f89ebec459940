"""Seeded fleets that are kept in a directory, to be asked again without seeding them anew."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.fleet_store import Fleet
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.places import find_places, prepare
from tierscope.core.embedded.postgres import PostgresCluster, open_cluster

_FLEET_FILE = "fleet.json"
_OF_USE = timedelta(hours=3)
"""After the last whole hour that was seeded; later, hosts are silent and newest hours empty."""


@contextmanager
def kept_cluster(directory: Path, *, settings: Mapping[str, str] | None = None) -> Iterator[PostgresCluster]:
    """A server whose files stay in a directory; it is made there where it does not exist."""
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    places, account = find_places(directory), choose_account()
    prepare(places, account)
    cluster = open_cluster(places, account)
    cluster.extra_settings = settings or {}
    cluster.create()
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def keep(directory: Path, fleet: Fleet) -> None:
    body = asdict(fleet) | {"end": fleet.end.isoformat()}
    (directory / _FLEET_FILE).write_text(json.dumps(body), encoding="utf-8")


def read_kept(directory: Path) -> Fleet | None:
    """The fleet that was kept in a directory; None: none yet.

    Raises:
        RuntimeError: it is so old that windows up to now are empty.
    """
    file = directory / _FLEET_FILE
    if not file.exists():
        return None
    body = json.loads(file.read_text(encoding="utf-8"))
    fleet = Fleet(**body | {"end": datetime.fromisoformat(body["end"])})
    if datetime.now(UTC) - fleet.end > _OF_USE:
        raise RuntimeError(f"{directory} was filled up to {fleet.end:%H:%M}, too long ago: remove it, to seed it anew")
    return fleet
