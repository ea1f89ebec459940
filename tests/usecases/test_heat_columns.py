"""Columns of heat are read once for whatever windows they are asked for, and anew where an hour was stored anew."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from factories.heat_rows import HOUR_US, METHOD, draw_hours
from tierscope.core import generations
from tierscope.core.database import ReadSession
from tierscope.domain.heat.columns import HeatColumns, Packed, make_columns, pack_columns
from tierscope.storage.heat.services import Bucket
from tierscope.usecases.heat import columns as heat_columns

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOURS = 5


class Store:
    """Five hours of a service in place of a database, and which of them were read."""

    def __init__(self, name: str) -> None:
        rng = np.random.default_rng(4)
        series = [draw_hours(rng, host, range(1, 60 * HOURS + 1)) for host in (3, 5, 8)]
        self.columns = make_columns(series)
        connection = SimpleNamespace(engine=SimpleNamespace(url=f"test:{name}"))
        self.session = cast("ReadSession", SimpleNamespace(connection=connection, generation=generations.current()))
        self.buckets = [
            Bucket(EPOCH + timedelta(microseconds=int(end) - HOUR_US), METHOD, EPOCH, 3) for end in self.columns.ends_us
        ]
        self.read: list[int] = []

    def bodies(
        self, _session: object, _table: object, _service: int, buckets: Sequence[Bucket], **_: object
    ) -> list[Packed]:
        places = [int((bucket.start - EPOCH) / timedelta(hours=1)) for bucket in buckets]
        self.read += places
        return [Packed(int(self.columns.ends_us[at]), *pack_columns(self.columns, at)) for at in places]

    def ask(self, first: int, last: int) -> HeatColumns:
        some = self.buckets[first:last]
        found = heat_columns.read_columns(self.session, "service_heat_1h", 1, some, counts=True)
        return found[METHOD].columns


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Store:
    made = Store(request.node.name)
    monkeypatch.setattr(heat_columns, "read_bodies", made.bodies)
    return made


def test_an_hour_is_read_once_for_all_windows(store: Store) -> None:
    store.ask(1, 3)
    assert store.read == [1, 2]
    wide = store.ask(0, 5)
    assert sorted(store.read) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(wide.ends_us, store.columns.ends_us)
    np.testing.assert_array_equal(wide.below, store.columns.below)
    store.ask(2, 5)
    store.ask(0, 5)
    assert len(store.read) == 5


def test_an_hour_that_was_stored_anew_is_read_anew(store: Store) -> None:
    store.ask(0, 4)
    store.read.clear()
    store.buckets[2] = replace(store.buckets[2], built_at=EPOCH + timedelta(days=1))
    doubled = replace(store.columns, resident=store.columns.resident * 2)
    before, store.columns = store.columns, doubled
    found = store.ask(0, 4)
    assert store.read == [2]
    np.testing.assert_array_equal(found.resident[2], before.resident[2] * 2)
    np.testing.assert_array_equal(found.resident[[0, 1, 3]], before.resident[[0, 1, 3]])
