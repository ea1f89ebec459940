"""Every page and every type of chart in Chromium: nothing is refused by the policy, logged as an error, or unreadable.

No two pages of the fleet, a host and a service tell one thing differently: they are asked about the newest whole hour.
The demonstration's pages are opened as they are. Types of charts that it measures nothing for are drawn from the
answers that component specs use, under the same policy: the document still comes from the service.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from cli.commands import Tierscope
from e2e.all_pages import pages_of
from e2e.conftest import fetch, log_in
from e2e.mock_api import serve_mock_api
from e2e.page_visits import Visits, chart_types, look_at, watched_context
from e2e.test_demo_pages import service_id
from e2e.test_headlines import newest_hour
from e2e.told import Said, Told, contradictions
from fixtures.elsewhere import long

LEAST_SHARED = {"figure": 30, "label": 20, "verdict": 3, "setting": 3}
"""Values on more than one page, so that there is something to hold against each other."""
MOST_MOVED = 0.4
"""Of the screen. From 0.25 on a layout shift counts as poor (web.dev, Cumulative Layout Shift); the sum of a visit
depends on the order in which answers come, and a block that comes above what is read moves it by more than this."""
MOCKED = [
    "/experiments/exp-1",
    "/simulator/sweep-1?run=tpp-0.67",
    "/capacity",
    "/capacity?tab=plan",
    "/tco?compare=a,b",
    "/alerts/alert-1",
    "/alerts/rules/rule-1",
    "/data-quality",
]
"""Pages of things that the demonstration does not have, and those that draw more when they have them."""


def pages_of_demo(demo_url: str) -> list[str]:
    """Every page of the demonstration, of a service that is full of data and a host that runs it, about one hour."""
    service = service_id(demo_url, "cache-graph")
    host = fetch(f"{demo_url}/v1/hosts?service={service}&limit=1")["items"][0]["id"]
    start, end = newest_hour(demo_url)
    return pages_of(host, service, f"from={start}&to={end}")


@pytest.fixture(scope="module")
def visits(
    browser: Browser,
    demo: Tierscope,
    demo_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
) -> Visits:
    """All pages, looked at once as an administrator, and the mocked ones."""
    found, both_themes = Visits(), bool(pytestconfig.getoption("--elsewhere"))
    with watched_context(browser) as context:
        page = context.new_page()
        log_in(page, demo, "admin")
        look_at(page, demo_url, pages_of_demo(demo_url), found, both_themes=both_themes)
        look_at_mocked(context.new_page(), demo_url, tmp_path_factory.mktemp("mock-api"), found)
    return found


def look_at_mocked(page: Page, demo_url: str, directory: Path, found: Visits) -> None:
    """Looks at pages whose answers are the mock ones."""
    with serve_mock_api(directory) as mock_url:

        def send_on(route: Route) -> None:
            route.continue_(url=route.request.url.replace(demo_url, mock_url))

        page.route(f"{demo_url}/v1/**", send_on)
        look_at(page, demo_url, MOCKED, found, axe=False)
        page.unroute_all(behavior="ignoreErrors")


@long
def test_all_pages_come_to_rest(visits: Visits) -> None:
    assert visits.unsettled == []


@long
def test_every_type_of_chart_is_drawn(visits: Visits) -> None:
    assert chart_types() - visits.drawn == set()


@long
def test_the_policy_refuses_nothing_that_a_page_does(visits: Visits) -> None:
    assert visits.refused == []


@long
def test_no_page_logs_an_error(visits: Visits) -> None:
    assert visits.logged == []


@long
def test_no_page_is_unreadable_in_its_theme(visits: Visits) -> None:
    assert visits.unreadable == [], "\n".join(visits.unreadable)


@long
def test_no_page_tells_numbers_as_nobody_reads_them(visits: Visits) -> None:
    assert visits.misread == []


@long
def test_no_page_moves_under_its_reader(visits: Visits) -> None:
    moved = {path: sum_ for path, sum_ in visits.moved.items() if sum_ > MOST_MOVED}
    assert moved == {}


@long
def test_no_two_pages_tell_one_thing_differently(visits: Visits) -> None:
    apart = contradictions(visits.told, visits.told_again)
    assert not apart, "\n".join(apart[:20])


@long
@pytest.mark.parametrize("kind", LEAST_SHARED)
def test_pages_share_enough_to_be_held_against_each_other(visits: Visits, kind: str) -> None:
    shared = [said for said in visits.told.shared() if said[0] == kind]
    assert len(shared) >= LEAST_SHARED[kind], shared


def test_two_values_of_one_thing_are_found() -> None:
    first, second = Told(), Told()
    said: Said = ("verdict", "/hosts/h-1", "verdict", "now")
    for told in (first, second):
        told.values[said]["/hosts"] = {"healthy"}
        told.values[said]["/hosts/h-1"] = {"stalled"}
    assert len(contradictions(first, second)) == 1
    second.values[said]["/hosts"] = {"stalled"}
    assert contradictions(first, second) == [], "it changed between the walks"
