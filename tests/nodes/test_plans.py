"""What is asked of which server: of one host one alone, of the fleet all at once, each for its own sums."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from factories.node_fleets import several_servers
from factories.populated import Populated, populate
from factories.services import running
from fixtures.servers import Template
from tierscope.core import generations
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, ReadSession
from tierscope.core.settings import Settings
from tierscope.storage.base.binary import copy_out
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.counters.recent import read_recent
from tierscope.storage.fleet.grid import grid_now
from tierscope.storage.fleet.inventories import newest_inventories, read_parts
from tierscope.storage.fleet.reporting import Limits
from tierscope.storage.fleet.services import has_more_pairs
from tierscope.storage.heat import fleet as heat
from tierscope.storage.heat.fleet import read_newest_intervals, read_samples
from tierscope.storage.heat.rows import read_rows
from tierscope.storage.ledger.fleet import sum_minutes
from tierscope.storage.ledger.services import sum_hour
from tierscope.storage.tiles.grids import tile_spans
from tierscope.usecases.heat.services import read_heat_now

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
Statement = tuple[str, Any]
OF_ALL_NODES = {
    "hosts": "looked up by the id that people see",
    "marks": "they are numbered where they were made",
}
"""Tables that a page of one host asks of every node, and why."""


@pytest.fixture(scope="module")
def fleet(template: Template, storage_mode: str) -> Iterator[tuple[Database, Populated]]:
    with several_servers(template, storage_mode, "n1", "n2") as database:
        yield database, populate(database, n_hosts=3)


@contextmanager
def listened() -> Iterator[list[Statement]]:
    """Statements that are run meanwhile, with their values; without those with which sessions begin."""
    heard: list[Statement] = []

    def hear(_c: object, _cursor: object, statement: str, values: object, *_: object) -> None:
        if statement != generations.LOOK:
            heard.append((statement, values))

    event.listen(Engine, "before_cursor_execute", hear)
    try:
        yield heard
    finally:
        event.remove(Engine, "before_cursor_execute", hear)


def plans(database: Database, statements: list[Statement]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    # Sessions that were opened before there were nodes are as they were.
    with closing(Database(database.url)) as opened, opened.read() as session:
        for statement, values in statements:
            if statement.lstrip().startswith(("SELECT", "WITH")):
                asked = f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {statement}"
                ((told,),) = session.driver.execute(asked.encode(), values).fetchall()
                found.append((statement, told[0]["Plan"]))
    return found


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes_of(part)


def scans(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in nodes_of(plan) if part["Node Type"] == "Foreign Scan"]


def servers(scan: dict[str, Any]) -> set[str]:
    """Numbers of the servers that a scan names, with the tables that it reads."""
    said = f"{scan.get('Schema', '')} {scan.get('Relations', '')}"
    return set(re.findall(r"tierscope_node_(\d+)", said))


def tables(scan: dict[str, Any]) -> set[str]:
    return {scan["Relation Name"]} if "Relation Name" in scan else set(re.findall(r"(\w+) ", scan.get("Relations", "")))


def test_pages_of_one_host_ask_its_node_alone(fleet: tuple[Database, Populated]) -> None:
    database, made = fleet
    host = made.ids["host_id"][1]
    settings = Settings.model_validate({"database_url": database.url, "rate_limits": {"enabled": False}})
    with running(settings) as (_, client), listened() as heard:
        client.headers["Authorization"] = f"Bearer {made.token}"
        for path in ("", "/ledger", "/counters/names"):
            assert client.get(f"/v1/hosts/{host}{path}").status_code == 200
    several = {}
    asked: set[str] = set()
    for statement, plan in plans(database, heard):
        found = set().union(*map(servers, scans(plan)), set())
        asked |= found if len(found) == 1 else set()
        if len(found) > 1:
            several[statement] = set().union(*map(tables, scans(plan)))
    assert "1" in asked
    assert set().union(*several.values(), set()) <= OF_ALL_NODES.keys(), several


def hours_of(session: ReadSession) -> list[object]:
    """Sums of an hour of each host that a service runs on."""
    hosts = session.execute(text("SELECT id FROM hosts")).scalars().all()
    return [sum_hour(session, 1, hosts, utc_now() - timedelta(hours=1))]


def machines_of(session: ReadSession) -> object:
    """What the newest inventories say."""
    hosts, [times] = newest_inventories(session, [utc_now()])
    assert len(hosts) == 3
    return read_parts(session, list(zip(hosts.tolist(), times.tolist(), strict=True)), ("kernel_release", "nodes"))


def tiles_of(session: ReadSession) -> object:
    """Which hosts of a service have tiles."""
    service = session.execute(text("SELECT min(service_id) FROM tile_columns")).scalar_one()
    found = tile_spans(session, service, utc_now() - timedelta(days=7), utc_now())
    assert len(found) == 3
    return found


def test_tiles_of_a_service_are_asked_for_once_whatever_the_number_of_hosts(
    fleet: tuple[Database, Populated],
) -> None:
    database, _ = fleet
    with listened() as heard, database.read() as session:
        tiles_of(session)
    asked = [scan for _, plan in plans(database, heard[1:]) for scan in scans(plan)]
    of_tiles = [scan for scan in asked if tables(scan) & {"tiles", "tile_columns"}]
    assert of_tiles
    assert all("GROUP BY" in scan["Remote SQL"] for scan in of_tiles), "no rows of single columns are sent"
    # Each stretch asks each server once for each of the two tables; stretches grow, so that a week has few.
    assert len(of_tiles) <= 3 * 2 * 2 * 7


def counters_of(session: ReadSession) -> object:
    """The newest hour of counters, of hosts whose hour no worker has summed yet."""
    hosts = session.execute(text("SELECT id, layout_id, last_end_at FROM hosts WHERE layout_id IS NOT NULL")).all()
    after: dict[int, dict[int, datetime]] = {}
    for host, layout, at in hosts:
        after.setdefault(layout, {})[host] = at - timedelta(hours=1)
    found = read_recent(session, after, {layout: names[:2] for layout, names in read_layouts(session, after).items()})
    assert len(found) == 3
    return found


def intervals_of(session: ReadSession) -> object:
    """The newest intervals of services whose hours no worker has summed yet."""
    now = utc_now()
    found = read_newest_intervals(session, since=now - timedelta(days=7), until=now, service_ids=range(1, 9))
    assert found
    return found


def samples_of(session: ReadSession) -> object:
    """An interval in every ten minutes."""
    now = utc_now()
    found = read_samples(session, now - timedelta(hours=6), now, timedelta(minutes=10))
    assert found
    return found


@pytest.mark.parametrize("ask", [counters_of, intervals_of, samples_of])
def test_wide_rows_are_asked_for_by_host_or_time_and_newer_than_some_time(
    fleet: tuple[Database, Populated], ask: Callable[[ReadSession], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    database, _ = fleet
    with listened() as heard, database.read() as session:

        def hear(session: ReadSession, query: str) -> Iterator[list[bytes | None]]:
            heard.append((query, None))
            return copy_out(session, query)

        monkeypatch.setattr(heat, "copy_out", hear)
        ask(session)
    asked = [scan["Remote SQL"] for _, plan in plans(database, heard) for scan in scans(plan) if "Remote SQL" in scan]
    wide = [sql for sql in asked if "_live" in sql and re.search(r"\bvals\b|\bgroups\b", sql)]
    assert wide
    for sql in wide:
        assert re.search(r"ts >", sql), sql
        assert re.search(r"host_id = |ts = ANY", sql), sql


@pytest.mark.parametrize("later", [timedelta(0), timedelta(hours=5), timedelta(days=3)])
def test_the_newest_intervals_are_found_however_long_ago_they_ended(
    fleet: tuple[Database, Populated], later: timedelta
) -> None:
    now = utc_now()
    with fleet[0].read() as session:
        services = session.execute(text("SELECT DISTINCT service_id FROM heat_live")).scalars().all()
        found = read_newest_intervals(
            session, since=now - timedelta(days=2), until=now + later, rows=15, service_ids=services
        )
        stored = {one: read_rows(session, one, now - timedelta(days=2), now + later) for one in services}
    assert found.keys() == stored.keys()
    for service, hosts in stored.items():
        newest = {host: [row.end_us for row in rows][-15:] for host, rows in hosts.items()}
        assert {part.host_id: part.ends_us.tolist() for part in found[service]} == newest
        assert max(map(len, newest.values())) == 15, "an hour has one of them"


@pytest.mark.parametrize(
    ("ask", "remote"),
    [
        (lambda session: sum_minutes(session, utc_now() - timedelta(hours=1), utc_now()), "GROUP BY"),
        (hours_of, "GROUP BY"),
        (machines_of, "jsonb_path_query_first(body, "),
        (tiles_of, "GROUP BY"),
        (lambda session: grid_now(Limits(utc_now(), utc_now(), utc_now())).rows(session, limit=50), "JOIN"),
    ],
    ids=["minutes of the fleet", "an hour of a service", "machines", "tiles of a service", "the grid"],
)
def test_nodes_sum_and_join_by_themselves(
    fleet: tuple[Database, Populated], ask: Callable[[ReadSession], object], remote: str
) -> None:
    database, _ = fleet
    with listened() as heard, database.read() as session:
        ask(session)
    told = [(statement, scan) for statement, plan in plans(database, heard) for scan in scans(plan)]
    summed = [scan for _, scan in told if remote in scan.get("Remote SQL", "")]
    assert set().union(*map(servers, summed)) == {"0", "1", "2"}, json.dumps(told)
    if remote != "JOIN":
        assert all(scan.get("Async Capable") for scan in summed), "all at once"


def test_hosts_of_services_whose_newest_hours_are_stored_are_not_looked_for(fleet: tuple[Database, Populated]) -> None:
    database, _ = fleet
    with database.read() as session:
        known = read_heat_now(session, now=utc_now())
    assert known, "an hour of a service is stored"
    for service_id in known:
        with listened() as heard, database.read() as session:
            assert read_heat_now(session, now=utc_now(), service_id=service_id).keys() == {service_id}
        assert not [statement for statement, _ in heard if "host_services" in statement]


def test_pairs_are_counted_up_to_what_is_asked_alone(fleet: tuple[Database, Populated]) -> None:
    database, _ = fleet
    with database.read() as session:
        n_pairs = session.execute(text("SELECT count(*) FROM host_services")).scalar_one()
        with listened() as heard:
            assert [has_more_pairs(session, than) for than in (n_pairs - 1, n_pairs)] == [True, False]
    [(_, first), _] = plans(database, heard)
    assert any(part["Node Type"] == "Limit" for part in nodes_of(first))


def test_one_server_has_no_such_settings(fleet: tuple[Database, Populated], database_url: str) -> None:
    asked = "SELECT current_setting('enable_partitionwise_aggregate')"
    with closing(Database(database_url)) as one:
        for database, expected in ((one, "off"), (fleet[0].own_rows, "off")):
            with database.read() as session:
                assert session.execute(text(asked)).scalar_one() == expected
    with closing(Database(fleet[0].url)) as several, several.read() as session:
        assert session.execute(text(asked)).scalar_one() == "on"
