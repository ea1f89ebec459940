"""Hosts are moved where they fit: their size, what is free, and what is said where there is no room."""

import pytest

from factories.populated import populate
from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.database import Database
from tierscope.core.errors import Conflict
from tierscope.storage.base.server_disk import data_place
from tierscope.storage.nodes.room import host_bytes
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.room import Room, require_fits, spread


@long_with_timescaledb
def test_hosts_take_their_share_of_each_table_and_need_it_elsewhere(fleet: Database) -> None:
    populate(fleet, n_hosts=4)
    with fleet.own_rows.read() as session:
        ids = [row[0] for row in session.driver.execute("SELECT id FROM hosts ORDER BY id")]
        size = [host_bytes(session, [(one, one + 1)]) for one in ids]
        both = host_bytes(session, [(ids[0], ids[-1] + 1)])
        whole = session.driver.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    assert len(ids) == 2
    assert all(part > 0 for part in size)
    assert abs(sum(size) - both) <= len(ids)
    assert both < whole[0]
    with Nodes(fleet).own(1).read() as session:
        assert host_bytes(session, [(0, ids[-1] + 1)]) == 0, "none of them is there"
        assert data_place(session) is not None, "the server runs on this machine"
    (_, node) = Nodes(fleet).listed()
    assert Room(Nodes(fleet)).require({node: 1}) == ()
    with pytest.raises(Conflict, match=r"the disk of n1 has .* bytes free: none is moved"):
        Room(Nodes(fleet)).require({node: 1 << 60})
    drained = Moves(fleet).drain("coordinator", actor="test")
    assert (drained.hosts, drained.disks_unseen) == (2, ())


def test_hosts_are_spread_over_the_emptiest() -> None:
    assert spread(5, {1: 0, 2: 3}) == {1: 4, 2: 1}
    assert spread(0, {1: 0}) == {1: 0}


def test_no_room_is_refused_with_both_numbers() -> None:
    require_fits(1000, 1000, ["n1"])
    with pytest.raises(Conflict, match="have 1,001 bytes, the disk of n1 and n2 has 1,000 bytes free") as refused:
        require_fits(1001, 1000, ["n1", "n2"])
    assert "nodes add" in (refused.value.next_step or "")
