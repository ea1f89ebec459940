"""Pages of a demonstration on several database servers: all of them there, and with one away."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import text

from cli.commands import Tierscope, fresh_tierscope
from e2e.conftest import HISTORY, LOAD_SECONDS, fetch, is_loaded, log_in
from e2e.page_visits import Visits, follow, look_at, watched_context
from e2e.test_every_page import pages_of_demo
from e2e.told import contradictions
from factories.waiting import until
from tierscope.cli.base.source_tree import FLEET, find_program
from tierscope.core.database import Database
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.postgres import open_cluster

pytestmark = pytest.mark.elsewhere("make e2e")
NODES = 3


@pytest.fixture(scope="module")
def spread() -> Iterator[Tierscope]:
    if find_program(FLEET) is None:
        pytest.skip("the program of simulated hosts is not built")
    with fresh_tierscope(HISTORY) as tierscope:
        tierscope.run("up", "--demo", "--nodes", str(NODES), "--detach", "--no-wait", "--port", "0")
        yield tierscope


def test_pages_say_how_many_nodes_they_are_of_and_draw_the_rest(browser: Browser, spread: Tierscope) -> None:
    url = str(spread.status("--demo", expect=None)["url"])
    until(lambda: is_loaded(url), "the demonstration is loaded and worked up", seconds=LOAD_SECONDS)

    def hosts() -> set[str]:
        return {host["id"] for host in fetch(f"{url}/v1/hosts?limit=200")["items"]}

    def nodes() -> str | None:
        parts = fetch(f"{url}/v1/status")["components"]
        return next((str(part["status"]) for part in parts if part["name"] == "nodes"), None)

    before, places = hosts(), find_places(spread.data_dir / "demo" / "nodes" / "n2")
    with watched_context(browser) as context:
        page, all_there, one_away = context.new_page(), Visits(), Visits()
        log_in(page, spread, "admin")
        assert nodes() == "healthy"
        look_at(page, url, pages_of_demo(url), all_there)
        assert page.get_by_test_id("nodes-banner").count() == 0
        server = open_cluster(places, choose_account()).url("postgres")
        with closing(Database(server)) as database, database.write() as transaction:
            transaction.execute(text("ALTER DATABASE tierscope ALLOW_CONNECTIONS false"))
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tierscope'"
            transaction.execute(text(ended))
        until(lambda: nodes() == "degraded", "the service leaves the node out")
        gone = before - hosts()
        assert 0 < len(gone) < len(before)
        # Those of a host are of one that answers: it is looked up now.
        look_at(page, url, pages_of_demo(url), one_away)
        assert page.get_by_test_id("nodes-banner").is_visible()
        follow(page, f"/hosts/{min(gone)}")
        expect(page.get_by_text("on the nodes that answer; away: n2").first).to_be_visible()
    for found in (all_there, one_away):
        assert (found.refused, found.unsettled, found.unreadable) == ([], [], [])
        assert contradictions(found.told, found.told_again) == []
    assert [line for line in all_there.logged + one_away.logged if "503" not in line] == []
    # Meanwhile more may have come to be told: what was drawn is drawn.
    assert all_there.drawn <= one_away.drawn
