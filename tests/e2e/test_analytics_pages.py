"""The analytics tabs show what the demonstration measured, say what it did not, and mark events."""

import json
import re
from datetime import timedelta

from playwright.sync_api import Page, expect

from e2e.conftest import fetch
from e2e.test_demo_pages import open_page, service_id
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now

pytestmark = long


def answer_with_event(page: Page, text: str) -> None:
    """Let the page see one event of the whole fleet, half an hour ago: storing one takes an operator's token."""
    at = utc_now() - timedelta(minutes=30)
    event = {"id": "1", "at": at.isoformat(), "kind": "knob", "text": text, "author": "test"}
    body = json.dumps({"items": [event | {"host_id": None, "service_id": None}], "next_cursor": None})
    page.route("**/v1/events?*", lambda route: route.fulfill(content_type="application/json", body=body))


def test_the_revisit_tab_draws_the_curve_on_both_clocks(page: Page, demo_url: str) -> None:
    service = service_id(demo_url, "cache-graph")
    open_page(page, f"{demo_url}/services/{service}?tab=revisit", "revisit")
    chart = page.get_by_test_id("chart-revisit")
    expect(chart.locator(".js-plotly-plot .xtitle")).to_have_text("minutes since last access")
    page.get_by_text("Since turning cold").click()
    expect(page).to_have_url(re.compile("clock=turned_cold"))
    expect(chart.locator(".js-plotly-plot .xtitle")).to_contain_text("since turning cold")
    expect(page.get_by_test_id("objectives")).to_be_visible()


def test_events_are_marked_on_charts_until_they_are_switched_off(page: Page, demo_url: str) -> None:
    service = service_id(demo_url, "web")
    answer_with_event(page, "vm.swappiness 60 -> 10 <b>bold</b>")
    open_page(page, f"{demo_url}/services/{service}", "page-service")
    marks = page.get_by_test_id("chart-class-time").locator(".annotation-text")
    expect(marks.first).to_have_text("◆")
    page.get_by_test_id("events-control").click()
    expect(page.get_by_role("list", name="Events, newest first")).to_contain_text("<b>bold</b>")
    page.get_by_role("switch", name="Mark events and alerts on charts").press("Space")
    expect(page).to_have_url(re.compile("marks=off"))
    expect(marks).to_have_count(0)


def test_curve_sensitivity_and_advice_answer_or_say_what_is_missing(page: Page, demo_url: str) -> None:
    service = service_id(demo_url, "web")
    open_page(page, f"{demo_url}/services/{service}?tab=curve", "curve")
    expect(
        page.get_by_test_id("chart-curve").locator(".js-plotly-plot, [data-testid=empty-state]").first
    ).to_be_visible()
    page.get_by_role("tab", name="Sensitivity").click()
    # Within hours the memory of a service hardly varies: that is said, and is no zero.
    expect(page.get_by_test_id("elasticity-anon")).to_contain_text("It hardly varies")
    expect(page.get_by_test_id("heat-index")).to_contain_text("%")
    expect(page.get_by_test_id("chart-stability")).to_be_visible()
    page.get_by_role("tab", name="Advice").click()
    expect(page.get_by_test_id("ratio-sentence")).to_contain_text(re.compile(r"\d:\d"))
    expect(page.get_by_test_id("slowdown-points")).to_be_visible()


def test_the_moves_tab_judges_ping_pong_over_time(page: Page, demo_url: str) -> None:
    service = service_id(demo_url, "cache-graph")
    open_page(page, f"{demo_url}/services/{service}?tab=moves", "page-service")
    expect(page.get_by_test_id("stop-moving")).to_contain_text(re.compile("moving|moves"))
    expect(page.get_by_test_id("chart-ping-pong").locator(".js-plotly-plot")).to_be_visible()


def test_a_host_page_advises_on_settings(page: Page, demo_url: str) -> None:
    hosts = fetch(f"{demo_url}/v1/hosts?limit=200")["items"]
    host = next(host for host in hosts if host["name"] == "warehouse-2")
    open_page(page, f"{demo_url}/hosts/{host['id']}?tab=advice", "knob-advice")
    expect(page.get_by_test_id("knob-verdict")).to_be_visible()
    expect(page.get_by_test_id(re.compile("^advice-")).first).to_contain_text("Risk")
    expect(page.get_by_test_id("knob-states")).to_contain_text("numa_balancing")
