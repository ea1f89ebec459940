"""Every page and every type of chart in Chromium: nothing is refused by the policy, logged as an error, or unreadable.

The demonstration's pages are opened as they are. Types of charts that it measures nothing for are drawn from the
answers that component specs use, under the same policy: the document still comes from the service.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, Route

from cli.commands import Tierscope
from e2e.conftest import fetch, log_in
from e2e.mock_api import serve_mock_api
from e2e.page_visits import Visits, chart_types, look_at, watched_context
from e2e.test_demo_pages import service_id

# A link as the page makes it when a price is confirmed: without one it draws no cost.
PRICE = {"value": 11, "low": 9, "high": 14, "source": "market report", "date": "2025-12-01"}
PRICED = f"/tco?set={quote(json.dumps({'prices.dram': PRICE}))}"
SERVICE_TABS = ("overview", "heatmap", "revisit", "curve", "sensitivity", "moves", "fairness", "hosts", "advice")
HOST_TABS = ("overview", "advice", "moves", "fairness", "counters", "hardware", "setup")
ADMIN_TABS = ("users", "teams", "tokens", "audit", "removals")
ALERT_TABS = ("alerts", "timeline", "rules", "silences", "routes")
INSTALL_WAYS = ("systemd", "deb", "kubernetes", "ansible", "prometheus")
MOCKED = [
    "/",
    *(f"/services/svc-redis?tab={tab}" for tab in SERVICE_TABS),
    *(f"/hosts/h-1?tab={tab}" for tab in ("overview", "moves", "fairness", "hardware")),
    "/experiments/new?service=svc-redis",
    "/experiments/exp-1",
    "/simulator/sweep-1?run=tpp-0.67",
    "/capacity",
    "/capacity?tab=plan",
    "/tco",
    "/tco?compare=a,b",
    "/alerts?tab=timeline",
    "/alerts/alert-1",
    "/alerts/rules/rule-1",
    "/agents",
    "/add-hosts",
    "/data-quality",
]


def pages_of(demo_url: str) -> list[str]:
    """Every page of the demonstration with each of its tabs."""
    service = service_id(demo_url, "cache-graph")
    host = fetch(f"{demo_url}/v1/hosts?limit=1")["items"][0]["id"]
    return [
        "/",
        "/services",
        *(f"/services/{service}?tab={tab}" for tab in SERVICE_TABS),
        "/hosts",
        *(f"/hosts/{host}?tab={tab}" for tab in HOST_TABS),
        *(f"/advice?tab={tab}" for tab in ("cards", "plan", "drift")),
        "/experiments",
        f"/experiments/new?service={service}",
        "/simulator?new=on",
        "/capacity",
        "/capacity?tab=plan",
        "/capacity?tab=reports",
        PRICED,
        *(f"/alerts?tab={tab}" for tab in ALERT_TABS),
        "/alerts/rules/new",
        "/agents",
        *(f"/add-hosts?how={way}" for way in INSTALL_WAYS),
        "/data-quality",
        *(f"/admin?tab={tab}" for tab in ADMIN_TABS),
        "/account",
        "/status",
        "/login",
    ]


@pytest.fixture(scope="module")
def visits(browser: Browser, demo: Tierscope, demo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Visits:
    """All pages, looked at once as an administrator, and the mocked ones."""
    found = Visits()
    with watched_context(browser) as context:
        page = context.new_page()
        log_in(page, demo, "admin")
        look_at(page, demo_url, pages_of(demo_url), found)
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


def test_all_pages_come_to_rest(visits: Visits) -> None:
    assert visits.unsettled == []


def test_every_type_of_chart_is_drawn(visits: Visits) -> None:
    assert chart_types() - visits.drawn == set()


def test_the_policy_refuses_nothing_that_a_page_does(visits: Visits) -> None:
    assert visits.refused == []


def test_no_page_logs_an_error(visits: Visits) -> None:
    assert visits.logged == []


def test_no_page_is_unreadable_in_either_theme(visits: Visits) -> None:
    assert visits.unreadable == [], "\n".join(visits.unreadable)
