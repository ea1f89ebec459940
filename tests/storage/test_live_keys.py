"""Samples of some keys: as many as a host has, though a statement has fewer columns."""

from contextlib import closing
from datetime import timedelta

import pytest

from factories import batches
from factories.installations import enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.storage.counters.rows import layouts_in, read_keys

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)

KEYS = tuple(f"cgroup:/kubepods/poda/c{number:04}|memory.numa_stat|anon[N0]" for number in range(2000))


def test_more_keys_are_read_than_a_statement_has_columns(database_url: str) -> None:
    now = utc_now()
    with closing(Database(database_url)) as database:
        host = enrol(database, name="node-1")
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=(int(now.timestamp()) - 1) * batches.SECOND_NS)
        values: list[int | None] = [None, *range(1, len(KEYS))]
        batches.add_counters(batch, [values], keys=KEYS)
        assert store(database, host, [batch])
        start = now - timedelta(hours=1)
        with database.read() as session:
            layouts = layouts_in(session, host.identity.id, start, now)
            block = read_keys(session, host.identity.id, KEYS, layouts, start, now)
    assert block.keys == KEYS
    assert block.present[0].tolist() == [value is not None for value in values]
    assert block.values[0].tolist() == [value or 0 for value in values]
