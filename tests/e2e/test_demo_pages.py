"""The three pages show the demonstration's data, say that it is simulated, and keep their state in the address."""

import re

from playwright.sync_api import BrowserContext, Page, expect

from e2e.conftest import fetch
from fixtures.elsewhere import long

pytestmark = long


def open_page(page: Page, url: str, test_id: str) -> None:
    """Open an address and wait for its page to stand."""
    page.goto(url)
    expect(page.get_by_test_id(test_id)).to_be_visible()
    expect(page.get_by_test_id("simulated-banner")).to_be_visible()


def service_id(demo_url: str, name: str) -> str:
    services = fetch(f"{demo_url}/v1/services?limit=100")["items"]
    return str(next(service["id"] for service in services if service["name"] == name))


def test_the_fleet_page_shows_hosts_services_and_heat(page: Page, demo_url: str) -> None:
    open_page(page, demo_url, "page-fleet")
    expect(page.get_by_test_id("headline")).to_contain_text(re.compile(r"\d"))
    for name in ("web", "redis", "warehouse", "queue"):
        expect(page.get_by_text(name).first).to_be_visible()
    hot = page.get_by_test_id(re.compile(r"^figure-.*hot_ratio")).first
    expect(hot).to_contain_text("%")


def test_the_service_page_draws_heat_over_time_and_the_heatmap(page: Page, demo_url: str) -> None:
    service = service_id(demo_url, "web")
    open_page(page, f"{demo_url}/services/{service}", "page-service")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    page.get_by_role("tab", name="Heatmap").click()
    expect(page).to_have_url(re.compile("heatmap", re.IGNORECASE))
    expect(page.locator(".js-plotly-plot .heatmaplayer").first).to_be_attached()
    page.reload()
    expect(page.get_by_role("tab", name="Heatmap")).to_have_attribute("aria-selected", "true")


def test_a_host_page_shows_nodes_ledger_and_why_collectors_are_off(page: Page, demo_url: str) -> None:
    hosts = fetch(f"{demo_url}/v1/hosts?limit=200")["items"]
    host = next(host for host in hosts if host["name"] == "redis-2")
    open_page(page, f"{demo_url}/hosts/{host['id']}", "page-host")
    expect(page.get_by_test_id("node-0")).to_be_visible()
    expect(page.get_by_test_id("node-1")).to_be_visible()
    page.get_by_role("tab", name=re.compile("moves", re.IGNORECASE)).click()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_test_id("ping-pong-kind")).to_contain_text(re.compile("bound|measured|sampled", re.IGNORECASE))


def test_a_host_page_shows_its_agent_its_collectors_and_its_hardware(page: Page, demo_url: str) -> None:
    host = fetch(f"{demo_url}/v1/hosts?limit=1")["items"][0]
    open_page(page, f"{demo_url}/hosts/{host['id']}?tab=setup", "page-host")
    expect(page.get_by_test_id("agent")).to_be_visible()
    expect(page.get_by_test_id("collectors")).to_be_visible()
    page.get_by_role("tab", name="Hardware").click()
    expect(page.get_by_test_id("bench")).to_contain_text("tierscope-agent bench")
    expect(page.get_by_test_id("chart-loaded-latency")).to_be_visible()
    expect(page.get_by_test_id("unmovable")).to_be_visible()


def test_the_pages_can_be_reached_by_keyboard(page: Page, demo_url: str) -> None:
    open_page(page, demo_url, "page-fleet")
    page.keyboard.press("Control+k")
    page.keyboard.type("warehouse")
    expect(page.get_by_role("combobox", name=re.compile("Find"))).to_have_value("warehouse")
    # Hosts of the service may be found before the service itself, which then stands above them.
    expect(page.get_by_role("dialog").get_by_text("warehouse", exact=True).first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("page-service")).to_be_visible()


def test_an_unknown_host_is_explained(visitor: BrowserContext, demo_url: str) -> None:
    with visitor.new_page() as page:
        page.goto(f"{demo_url}/hosts/h_unknown")
        expect(page.get_by_text("No host has the id h_unknown")).to_be_visible()
        page.get_by_role("link", name="See all hosts").click()
        expect(page.get_by_test_id("page-hosts")).to_be_visible()
