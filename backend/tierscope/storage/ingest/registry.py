"""Layouts and services: text that is stored once and then known by its id.

They are stored before the group's own transaction, in sorted order and a short one of their own, because hosts share
them: a group never waits for another group's rows. A layout or service without data does no harm.

In a fleet of several servers they have one id on all of them: storage/base/numbering.py
"""

import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import select as sql_select
from sqlalchemy import text, tuple_
from sqlalchemy.dialects.postgresql import insert

from tierscope.core import generations
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.ingest.batch import Layout, ServiceKey
from tierscope.storage.base.numbering import copy_rows, numbering
from tierscope.storage.ingest.incoming import Incoming
from tierscope.storage.tables import host_layouts, layouts, service_aliases, services

MAX_LOOKUPS = 4
"""How often ids are looked up for a request or a group before it is refused as outdated."""
MAX_KNOWN = 100_000
TOUCH_SECONDS = 60.0
NOTE_SECONDS = 300.0
"""How long the sighting of a service on a host stands before it is written again."""

OriginKey = tuple[str, ServiceKey]


@dataclass(frozen=True, slots=True)
class KnownLayout:
    """A stored layout."""

    id: int
    width: int


class Registry:
    """Ids of layouts and services, remembered in the process for as long as they are in force: core/generations.py."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._layouts: dict[bytes, KnownLayout] = {}
        self._services: dict[OriginKey, int] = {}
        self._touched: dict[int, float] = {}
        self._noted: dict[int, dict[int, float]] = {}
        self._noting: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self.generation = generations.current()
        """What is remembered is of this one."""

    def layout(self, digest: bytes) -> KnownLayout | None:
        """Returns a layout that `prepare` has seen."""
        return self._layouts.get(digest)

    def service(self, origin: str, key: ServiceKey) -> int:
        """Returns the id of a service that `prepare` has seen."""
        return self._services[origin, key]

    def forget(self) -> None:
        """Looks all up again when it is named next."""
        self.generation = generations.current()
        self._layouts, self._services, self._touched, self._noted = {}, {}, {}, {}

    def unnoted(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those (host, service) whose sighting was written longer ago than `NOTE_SECONDS`."""
        before = time.monotonic() - NOTE_SECONDS
        return [pair for pair in pairs if self._noted.get(pair[0], {}).get(pair[1], before) <= before]

    def note(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Sightings that are written in the transaction that runs."""
        self._noting += pairs

    def forget_host(self, host_id: int) -> None:
        """What is written of a host's services next is written whatever was noted."""
        self._noted.pop(host_id, None)

    def committed(self) -> None:
        """The transaction has committed: its sightings stand."""
        if len(self._noted) > MAX_KNOWN:
            self._noted = {}
        now = time.monotonic()
        for host_id, service_id in self._noting:
            self._noted.setdefault(host_id, {})[service_id] = now
        self._noting = []

    def prepare(self, group: Sequence[Incoming]) -> None:
        """Stores and looks up all layouts and services that a group names.

        Raises:
            OutdatedError: a restore or a purge came between; call `forget`, and this again.
        """
        if self.generation != generations.current():
            self.forget()
        self._noting = []
        new_layouts = {
            layout.hash: layout for item in group for layout in item.batch.layouts if layout.hash not in self._layouts
        }
        used = {block.layout_hash for item in group for block in item.batch.counters}
        missing = used - self._layouts.keys() - new_layouts.keys()
        names = {name for item in group for name in _services_of(item)}
        new_services = names - self._services.keys()
        old = self._untouched(names - new_services)
        if not (new_layouts or missing or new_services or old):
            return
        # The one who names commits first: a name that nobody uses does no harm, one that it does not know would.
        with self._lock, self._database.write() as transaction, numbering(transaction) as giving:
            if transaction.generation != self.generation:
                raise OutdatedError
            found_layouts = _store_layouts(giving, new_layouts.values())
            found_layouts |= _find_layouts(giving, missing)
            found_services = store_services(giving, new_services)
            _touch_services(giving, old)
            copy_rows(giving, transaction, layouts, (layout.id for layout in found_layouts.values()))
            copy_rows(giving, transaction, services, found_services.values())
        self._remember(found_layouts, found_services)
        now = time.monotonic()
        self._touched |= dict.fromkeys((*old, *found_services.values()), now)

    def _untouched(self, names: Iterable[OriginKey]) -> list[int]:
        """Services whose last sighting was written longer ago than `TOUCH_SECONDS`."""
        before = time.monotonic() - TOUCH_SECONDS
        ids = {self._services[name] for name in names}
        return sorted(service for service in ids if self._touched.get(service, before) <= before)

    def _remember(self, found_layouts: dict[bytes, KnownLayout], found_services: dict[OriginKey, int]) -> None:
        if len(self._layouts) > MAX_KNOWN:
            self._layouts = {}
        if len(self._services) > MAX_KNOWN:
            self._services = {}
        self._layouts |= found_layouts
        self._services |= found_services


class OutdatedError(Exception):
    """What the registry remembers may be of rows that a restore or a purge has ended; it has to be looked up again."""


def require_services(transaction: WriteTransaction, ids: Iterable[int]) -> None:
    """Checks that services are still there.

    Raises:
        OutdatedError: one of them is not.
    """
    wanted = sorted(set(ids))
    if not wanted:
        return
    (found,) = transaction.ask("SELECT count(*) AS n FROM services WHERE id = ANY(%(ids)s::bigint[])", {"ids": wanted})
    if found.n < len(wanted):
        raise OutdatedError


def register_host_layouts(
    transaction: WriteTransaction, wanted: Iterable[tuple[int, int]], *, per_day: int
) -> set[tuple[int, int]]:
    """Notes which host uses which layout; returns the (host, layout) pairs beyond the limit of a day, not noted.

    The caller holds the hosts' locks, so that the count stays true.
    """
    pairs = sorted(set(wanted))
    if not pairs:
        return set()
    rows = transaction.ask(
        "SELECT l.host_id, l.layout_id FROM unnest(%(hosts)s::bigint[], %(layouts)s::bigint[]) AS w (host, layout)"
        " JOIN host_layouts l ON l.host_id = w.host AND l.layout_id = w.layout",
        {"hosts": [host for host, _ in pairs], "layouts": [layout for _, layout in pairs]},
    )
    known = {(row.host_id, row.layout_id) for row in rows}
    new = [pair for pair in pairs if pair not in known]
    if not new:
        return set()
    statement = text(
        "SELECT host_id, count(*) AS n FROM host_layouts WHERE host_id = ANY(:hosts)"
        " AND first_seen_at > now() - interval '1 day' GROUP BY host_id"
    )
    counts = {row.host_id: row.n for row in transaction.execute(statement, {"hosts": [host for host, _ in new]})}
    refused = set()
    for host, layout in new:
        counts[host] = counts.get(host, 0) + 1
        if counts[host] > per_day:
            refused.add((host, layout))
    accepted = [{"host_id": host, "layout_id": layout} for host, layout in new if (host, layout) not in refused]
    if accepted:
        transaction.execute(insert(host_layouts).on_conflict_do_nothing(), accepted)
    return refused


def _services_of(item: Incoming) -> Iterable[OriginKey]:
    origin, batch = item.host.origin, item.batch
    for block in batch.heat:
        yield from {(origin, key) for key in block.services}
    for gap in batch.gaps:
        yield from {(origin, key) for key in gap.services}
    for epoch in batch.tile_epochs:
        yield origin, epoch.service
    for sample in batch.page_samples:
        yield origin, sample.service
    if batch.inventory is not None:
        for service in batch.inventory.services:
            yield origin, service.key


def _store_layouts(transaction: WriteTransaction, new: Iterable[Layout]) -> dict[bytes, KnownLayout]:
    ordered = sorted(new, key=lambda layout: layout.hash)
    if not ordered:
        return {}
    rows = [{"hash": layout.hash, "keys": list(layout.keys)} for layout in ordered]
    transaction.execute(insert(layouts).on_conflict_do_nothing(), rows)
    return _find_layouts(transaction, {layout.hash for layout in ordered})


def _find_layouts(transaction: WriteTransaction, digests: set[bytes]) -> dict[bytes, KnownLayout]:
    if not digests:
        return {}
    statement = text("SELECT hash, id, cardinality(keys) AS width FROM layouts WHERE hash = ANY(:digests)")
    rows = transaction.execute(statement, {"digests": list(digests)})
    return {bytes(row.hash): KnownLayout(row.id, row.width) for row in rows}


def store_services(transaction: WriteTransaction, names: set[OriginKey]) -> dict[OriginKey, int]:
    """Store services by origin and name, those that are known already too; their ids."""
    if not names:
        return {}
    found = _aliases(transaction, names)
    new = sorted(names - found.keys(), key=lambda name: (name[0], name[1].namespace, name[1].name))
    if new:
        rows = [
            {"public_id": "s" + secrets.token_hex(8), "namespace": key.namespace, "name": key.name, "origin": origin}
            for origin, key in new
        ]
        transaction.execute(
            insert(services).on_conflict_do_nothing(index_elements=["namespace", "name", "origin"]), rows
        )
        c = services.c
        wanted = [(key.namespace, key.name, origin) for origin, key in new]
        statement = sql_select(c.id, c.namespace, c.name, c.origin).where(
            tuple_(c.namespace, c.name, c.origin).in_(wanted)
        )
        for row in transaction.execute(statement):
            found[row.origin, ServiceKey(row.namespace, row.name)] = row.id
    return found


def _touch_services(transaction: WriteTransaction, ids: Sequence[int]) -> None:
    if ids:
        transaction.execute(
            text(
                "UPDATE services SET last_seen_at = now() WHERE id IN"
                " (SELECT id FROM services WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE)"
            ),
            {"ids": list(ids)},
        )


def _aliases(transaction: WriteTransaction, names: set[OriginKey]) -> dict[OriginKey, int]:
    c = service_aliases.c
    pairs = {(key.namespace, key.name) for _, key in names}
    statement = (
        sql_select(c.namespace, c.name, c.service_id, services.c.origin)
        .join(services, services.c.id == c.service_id)
        .where(tuple_(c.namespace, c.name).in_(pairs))
    )
    return {(row.origin, ServiceKey(row.namespace, row.name)): row.service_id for row in transaction.execute(statement)}
