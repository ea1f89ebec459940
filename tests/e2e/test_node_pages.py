"""Pages of a demonstration on several database servers: all of them there, and with one away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser
from sqlalchemy import text

from cli.commands import Tierscope, fresh_tierscope
from e2e.conftest import HISTORY, fetch
from e2e.page_visits import Visits, look_at, watched_context
from factories.waiting import until
from tierscope.cli.base.source_tree import find_agent
from tierscope.core.database import Database
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.postgres import open_cluster

pytestmark = pytest.mark.elsewhere("make e2e")
PAGES = ("/", "/services", "/hosts", "/alerts", "/capacity", "/status")
NODES = 2


@pytest.fixture(scope="module")
def spread() -> Iterator[Tierscope]:
    if find_agent() is None:
        pytest.skip("the agent's program is not built")
    with fresh_tierscope(HISTORY) as tierscope:
        tierscope.run("up", "--demo", "--nodes", str(NODES), "--detach", "--no-wait", "--port", "0")
        yield tierscope


def test_pages_say_how_many_nodes_they_are_of_and_draw_the_rest(browser: Browser, spread: Tierscope) -> None:
    url = str(spread.status("--demo", expect=None)["url"])

    def hosts() -> int:
        return len(fetch(f"{url}/v1/hosts?limit=200")["items"])

    def nodes() -> str | None:
        parts = fetch(f"{url}/v1/status")["components"]
        return next((str(part["status"]) for part in parts if part["name"] == "nodes"), None)

    until(lambda: hosts() >= 2 * (NODES + 1), "hosts are on all servers")
    before, places = hosts(), find_places(spread.data_dir / "demo" / "nodes" / "n2")
    with watched_context(browser) as context:
        page, found = context.new_page(), Visits()
        look_at(page, url, list(PAGES), found, axe=False)
        assert nodes() == "healthy"
        assert page.get_by_test_id("nodes-banner").count() == 0
        server = open_cluster(places, choose_account()).url("postgres")
        with closing(Database(server)) as database, database.write() as transaction:
            transaction.execute(text("ALTER DATABASE tierscope ALLOW_CONNECTIONS false"))
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tierscope'"
            transaction.execute(text(ended))
        until(lambda: nodes() == "degraded", "the service leaves the node out")
        assert 0 < hosts() < before
        for path in PAGES:
            look_at(page, url, [path], found, axe=False)
            assert page.get_by_test_id("nodes-banner").is_visible(), path
    assert (found.logged, found.refused, found.unsettled) == ([], [], [])
