"""The jobs that people open the dashboard for, each within so many clicks, on the demonstration.

Clicks and seconds of each are properties of its test in a report (`PYTEST_ARGS=--junitxml=FILE`); only clicks are
judged: how long a job takes says as much of the machine.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from cli.commands import Tierscope
from e2e.conftest import fetch, log_in, watch_page
from e2e.page_visits import patient_context
from e2e.test_demo_pages import service_id
from e2e.test_dragging import drag
from factories.waiting import until
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now

pytestmark = long
SCREEN = {"width": 1440, "height": 900}
JUDGED_SECONDS = 600


class Clicks:
    """A page on which clicks are counted. Typing is none, nor is the address that a journey starts at."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.count = 0
        self._url = url

    def start(self, path: str) -> None:
        self.count = 0
        self.page.goto(f"{self._url}{path}")

    def click(self, what: Locator) -> None:
        self.count += 1
        what.click()

    def go(self, name: str) -> None:
        """Click an entry of the navigation."""
        self.click(self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True))


@pytest.fixture
def clicks(visitor: BrowserContext, demo_url: str, record_property: Callable[[str, object], None]) -> Iterator[Clicks]:
    """Someone who is not logged in, at a usual screen."""
    with watch_page(visitor) as page:
        page.set_viewport_size(SCREEN)  # type: ignore[arg-type]
        counted, began = Clicks(page, demo_url), utc_now()
        yield counted
        record_property("clicks", counted.count)
        record_property("seconds", (utc_now() - began).total_seconds())


def on_screen(part: Locator) -> bool:
    """Whether all of it is seen without scrolling."""
    box = part.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= SCREEN["height"]


def watch_one_host(operator: BrowserContext, url: str) -> None:
    """Stores a rule that fires: the shipped ones ask for harm that lasts, which the demonstration seldom has."""
    [host] = fetch(f"{url}/v1/hosts?limit=1")["items"]
    if any(rule["name"] == "DRAM in use" for rule in fetch(f"{url}/v1/rules")["items"]):
        return
    rule = {"name": "DRAM in use", "expression": "free_dram_ratio < 100%", "scope": {"hosts": [host["id"]]}}
    send = """async (rule) => {
        const key = { 'X-Session-Key': localStorage.getItem('tierscope-session-key') }
        const session = await (await fetch('/v1/session', { headers: key })).json()
        const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': session.csrf_token, ...key }
        return (await fetch('/v1/rules', { method: 'POST', headers, body: JSON.stringify(rule) })).status
    }"""
    with watch_page(operator) as page:
        page.goto(f"{url}/")
        assert page.evaluate(send, rule) == 201


def first_alert(url: str) -> dict[str, Any]:
    """The newest alert of the demonstration's hosts and services."""
    found: list[dict[str, Any]] = []

    def there() -> bool:
        found[:] = fetch(f"{url}/v1/alerts?state=firing&limit=50")["items"]
        return bool(found)

    until(there, "an alert fires", seconds=JUDGED_SECONDS)
    return found[0]


def test_the_first_screen_says_how_the_fleet_is_and_who_wastes_dram(clicks: Clicks, demo_url: str) -> None:
    opened = f"{demo_url}/v1/advice?status=open"
    until(lambda: bool(fetch(opened)["items"]), "workers have judged who sent", seconds=JUDGED_SECONDS)
    clicks.start("/")
    page = clicks.page
    expect(page.get_by_test_id("reclaimable-cost")).to_contain_text("a year")
    expect(page.get_by_test_id("fleet-next-action").get_by_role("link", name="Why")).to_be_visible()
    expect(page.get_by_test_id("chart-fleet-grid").locator(".main-svg").first).to_be_visible()
    trouble = page.get_by_test_id("fleet-causes")
    expect(trouble.get_by_role("link", name=re.compile("tiering disabled"))).to_be_visible()
    for part in ("fleet-reclaimable", "fleet-causes", "fleet-next-action"):
        assert on_screen(page.get_by_test_id(part)), part
    assert clicks.count == 0
    counted = trouble.get_by_role("link", name=re.compile("tiering disabled"))
    hosts = int(re.findall(r"(\d+) hosts?$", counted.inner_text().strip())[0])
    clicks.click(counted)
    expect(page.get_by_text(f"{hosts} shown")).to_be_visible()


def test_the_first_screen_holds_the_answers_and_both_maps(clicks: Clicks) -> None:
    clicks.start("/")
    page = clicks.page
    parts = ("fleet-reclaimable", "fleet-causes", "fleet-next-action", "chart-fleet-grid", "chart-service-heat")
    for part in parts:
        expect(page.get_by_test_id(part)).to_be_visible()
    for part in parts:
        assert on_screen(page.get_by_test_id(part)), part
    headline = page.get_by_test_id("headline")
    whole = headline.evaluate("(line) => [line.clientHeight, line.scrollHeight]")
    more = page.get_by_role("button", name="more", exact=True)
    if whole[1] > whole[0]:
        more.click()
        expect(headline).to_have_attribute("data-opened", "true")


def test_a_telephone_shows_what_an_alert_is_about(clicks: Clicks, operator: BrowserContext, demo_url: str) -> None:
    watch_one_host(operator, demo_url)
    alert = first_alert(demo_url)
    clicks.page.set_viewport_size({"width": 390, "height": 844})
    clicks.start("/alerts")
    row = clicks.page.get_by_role("row").filter(has=clicks.page.locator(f"a[href^='/alerts/{alert['id']}']")).first
    for part in (row.get_by_role("link").nth(1), row.locator("[data-numeric=true]").first, row.locator("time")):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390, "it is out of sight"
    for path in ("/alerts", f"/alerts/{alert['id']}", "/hosts"):
        clicks.start(path)
        expect(clicks.page.get_by_role("main").locator("[data-testid^=page-]")).to_be_visible()
        assert clicks.page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_a_heatmap_is_compared_within_three_clicks(clicks: Clicks, demo_url: str) -> None:
    clicks.start(f"/services/{service_id(demo_url, 'web')}")
    page = clicks.page
    clicks.click(page.get_by_role("tab", name="Heatmap"))
    clicks.click(page.get_by_role("combobox", name="Compare with"))
    clicks.click(page.get_by_role("option", name=re.compile("1 hour before")))
    expect(page).to_have_url(re.compile(r"compare=-1h"))
    expect(page.get_by_text("Activity against 1 hour before")).to_be_visible()
    expect(page.get_by_text(re.compile(r"sampled on both sides"))).to_be_visible()
    assert clicks.count <= 3


def test_a_ratio_and_why_take_two_clicks(clicks: Clicks, demo_url: str) -> None:
    clicks.start(f"/services/{service_id(demo_url, 'cache-graph')}")
    page = clicks.page
    clicks.click(page.get_by_role("tab", name="Advice"))
    expect(page.get_by_test_id("ratio-sentence")).to_be_visible()
    expect(page.get_by_text("Why this ratio")).to_be_visible()
    assert clicks.count <= 2


def test_a_ratio_for_other_hardware_takes_four_clicks(clicks: Clicks, demo_url: str) -> None:
    clicks.start(f"/services/{service_id(demo_url, 'cache-graph')}")
    page = clicks.page
    clicks.click(page.get_by_role("tab", name="Advice"))
    expect(page.get_by_test_id("ratio-sentence")).to_be_visible()
    clicks.click(page.get_by_role("combobox", name="Slow memory"))
    clicks.click(page.get_by_role("option", name=re.compile("FPGA")))
    expect(page).to_have_url(re.compile("device=cxl-fpga"))
    expect(page.get_by_test_id("slow-memory-source")).to_contain_text(re.compile(r"\d+ ns, \d+.* GB/s · .*, \d{4}"))
    expect(page.get_by_test_id("ratio-sentence")).to_be_visible()
    assert clicks.count <= 4


def test_which_service_to_move_first_and_what_that_saves_take_two_clicks(clicks: Clicks, demo_url: str) -> None:
    clicks.start("/")
    page = clicks.page
    clicks.click(page.get_by_test_id("fleet-reclaimable").get_by_role("link", name="By service"))
    rows = page.get_by_role("region", name="Services").get_by_role("row")
    expect(rows.nth(len(fetch(f"{demo_url}/v1/services?limit=100")["items"]))).to_be_visible()
    costed = rows.nth(1).locator("a[href^='/tco']")
    if costed.count():
        told = costed.inner_text()
        clicks.click(costed)
        expect(page).to_have_url(re.compile(r"service=\w+"))
        expect(page.get_by_test_id("tco-fleet-saving")).to_contain_text("$")
        assert told.startswith("+$"), "the highest saving comes first"
    assert clicks.count <= 2


def test_why_a_host_is_slow_takes_two_clicks(clicks: Clicks, demo_url: str) -> None:
    host = fetch(f"{demo_url}/v1/hosts?cause=setting:tiering_off&limit=1")["items"][0]
    clicks.start("/")
    page = clicks.page
    clicks.click(page.get_by_role("button", name=re.compile("Find a service")))
    page.keyboard.type(host["name"])
    expect(page.get_by_role("dialog").get_by_text(host["name"], exact=True).first).to_be_visible()
    page.keyboard.press("Enter")
    wrong = page.get_by_test_id("findings")
    expect(wrong.get_by_test_id("suffering-tiering_off")).to_be_visible()
    expect(wrong).not_to_contain_text("Nothing on this host needs fixing")
    expect(page.get_by_test_id("chart-host-triage").locator(".main-svg").first).to_be_visible()
    rows = fetch(f"{demo_url}/v1/hosts/{host['id']}/triage")["rows"]
    assert {row["key"] for row in rows if row["status"] == "ok"} >= {"throughput", "latency", "hot_outside", "pressure"}
    clicks.click(wrong.get_by_role("link").first)
    expect(page).to_have_url(re.compile("tab=advice"))
    assert clicks.count <= 2


def test_when_memory_runs_out_takes_one_click(clicks: Clicks, demo_url: str) -> None:
    clicks.start("/")
    page = clicks.page
    clicks.go("Capacity")
    expect(page.get_by_test_id("headline")).to_contain_text(re.compile(r"\w"))
    days = [one["days_to_exhaustion"]["median"]["value"] for one in fetch(f"{demo_url}/v1/capacity")["subjects"]]
    if any(day is not None and day > 0 for day in days):
        expect(page.get_by_test_id("headline")).to_contain_text(re.compile(r"\d{1,2} \w{3} \d{4}"))
    assert clicks.count == 1


def test_a_bundle_of_changes_takes_three_clicks(clicks: Clicks) -> None:
    clicks.start("/")
    page = clicks.page
    clicks.go("Advice")
    clicks.click(page.get_by_text("Change plan", exact=True))
    bundle = page.get_by_test_id("change-plan").get_by_role("button", name=re.compile("undle")).nth(1)
    with page.expect_download() as download:
        clicks.click(bundle)
    assert download.value.suggested_filename.endswith(".tar")
    assert clicks.count <= 3


def test_an_alert_leads_to_cause_and_fix_in_one_click(clicks: Clicks, operator: BrowserContext, demo_url: str) -> None:
    watch_one_host(operator, demo_url)
    alert = first_alert(demo_url)
    clicks.start("/alerts")
    page = clicks.page
    clicks.click(page.locator(f"a[href^='/alerts/{alert['id']}']").first)
    expect(page.get_by_test_id("incident-cause")).to_contain_text(re.compile(r"\w"))
    expect(page.get_by_test_id("incident-fix")).to_be_visible()
    assert clicks.count == 1


def test_costs_with_the_fleets_own_hosts_take_two_clicks(clicks: Clicks) -> None:
    clicks.start("/")
    page = clicks.page
    clicks.go("TCO")
    clicks.click(page.get_by_test_id("tco-presets").get_by_role("link", name="CXL at the advised ratio"))
    expect(page).to_have_url(re.compile("start=cxl"))
    expect(page.get_by_test_id("tco-saving")).to_contain_text("$")
    expect(page.get_by_test_id("tco-presets")).to_contain_text("33")
    assert clicks.count <= 2


def test_whether_data_can_be_trusted_takes_one_click(clicks: Clicks) -> None:
    clicks.start("/")
    clicks.go("Data quality")
    expect(clicks.page.get_by_test_id("page-data-quality")).to_contain_text("%")
    assert clicks.count == 1


def test_adding_a_host_takes_one_click(clicks: Clicks) -> None:
    clicks.start("/")
    clicks.click(clicks.page.get_by_role("link", name="Add hosts").first)
    expect(clicks.page.get_by_test_id("install")).to_contain_text("tierscope-agent")
    assert clicks.count == 1


def test_search_and_export_take_two_clicks(clicks: Clicks) -> None:
    clicks.start("/")
    page = clicks.page
    clicks.click(page.get_by_role("button", name=re.compile("Find a service")))
    page.keyboard.type("warehouse")
    expect(page.get_by_role("dialog").get_by_text("warehouse").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("page-service")).to_be_visible()
    assert clicks.count == 1
    clicks.start("/services")
    clicks.click(page.get_by_role("button", name="Download Services"))
    with page.expect_download() as download:
        clicks.click(page.get_by_role("menuitem", name="CSV"))
    assert download.value.suggested_filename.endswith(".csv")
    assert clicks.count <= 2


def test_ones_own_prices_reach_a_workbook_within_five_clicks(clicks: Clicks) -> None:
    clicks.start("/")
    page = clicks.page
    clicks.go("TCO")
    clicks.click(page.get_by_test_id("tco-presets").get_by_role("link", name="CXL at the advised ratio"))
    expect(page).to_have_url(re.compile("start=cxl"))
    before = page.get_by_test_id("tco-saving").inner_text()
    page.get_by_role("textbox", name="DRAM, USD/GiB").fill("8")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("prices.dram"))
    expect(page.get_by_test_id("tco-saving")).not_to_have_text(before, use_inner_text=True)
    with page.expect_download() as sheet:
        clicks.click(page.get_by_role("button", name="Export to Excel"))
    assert sheet.value.suggested_filename.endswith(".xlsx")
    assert clicks.count <= 5


def test_ping_pong_becomes_a_rule_whose_webhook_is_tried_within_thirteen_clicks(
    browser: Browser, demo: Tierscope, demo_url: str
) -> None:
    with patient_context(browser) as administrator, watch_page(administrator) as page:
        log_in(page, demo, "admin")
        page.set_viewport_size(SCREEN)  # type: ignore[arg-type]
        clicks = Clicks(page, demo_url)
        clicks.start("/")
        clicks.go("Alerts")
        clicks.click(page.get_by_role("tab", name="Rules"))
        clicks.click(page.get_by_role("link", name="New rule"))
        page.get_by_label("Condition", exact=True).fill("ping_pong_state >= warn")
        page.get_by_role("textbox", name="Name").fill("Ping-pong with a webhook")
        clicks.click(page.get_by_role("button", name="Add rule"))
        expect(page.get_by_test_id("page-rule")).to_contain_text("own")
        clicks.go("Alerts")
        clicks.click(page.get_by_role("tab", name="Routes and deliveries"))
        clicks.click(page.get_by_role("button", name="Edit").first)
        clicks.click(page.get_by_role("button", name="Add receiver"))
        receivers = page.get_by_test_id("edit-receivers")
        receivers.get_by_role("textbox", name="Name").last.fill("hook")
        receivers.get_by_role("textbox", name="url").last.fill("https://alerts.example.org/hook")
        clicks.click(page.get_by_role("button", name="Add route"))
        clicks.click(page.get_by_role("button", name="Save", exact=True))
        clicks.click(page.get_by_role("button", name="Send a test to hook"))
        # Whether it arrives depends on the network; that it was tried, and what came of it, is told.
        expect(page.get_by_test_id("receivers").locator("[role=status], [role=alert]")).to_contain_text(
            re.compile(r"\w{4}")
        )
        assert clicks.count <= 13


def test_what_lies_at_hot_addresses_takes_two_clicks_and_a_drag(clicks: Clicks, demo_url: str) -> None:
    clicks.start(f"/services/{service_id(demo_url, 'web')}")
    page = clicks.page
    clicks.click(page.get_by_role("tab", name="Heatmap"))
    heatmap = page.get_by_role("application", name=re.compile("Heatmap"))
    expect(heatmap.locator(".heatmaplayer image").first).to_be_attached()
    clicks.click(page.get_by_text("Select", exact=True))
    drag(page, heatmap.locator(".nsewdrag").first, (0.4, 0.2), (0.7, 0.5))
    expect(page.get_by_test_id("selection-memory")).to_contain_text(re.compile("[KMGT]iB"))
    shared = page.url
    assert "sel=" in shared
    page.goto("about:blank")
    page.goto(shared)
    expect(page.get_by_test_id("selection-memory")).to_contain_text(re.compile("[KMGT]iB"))
    assert clicks.count <= 2


def test_a_picture_of_a_chart_takes_two_clicks(clicks: Clicks) -> None:
    clicks.start("/")
    page = clicks.page
    expect(page.get_by_test_id("chart-fleet-moves").locator(".js-plotly-plot")).to_be_visible()
    clicks.click(page.get_by_role("button", name="Download Tier moves of all hosts over time", exact=True))
    with page.expect_download() as image:
        clicks.click(page.get_by_role("menuitem", name="PNG", exact=True))
    assert image.value.suggested_filename.endswith(".png")
    assert clicks.count <= 2


def test_advice_becomes_an_experiment_in_three_clicks(operator: BrowserContext, demo_url: str) -> None:
    with watch_page(operator) as page:
        page.set_viewport_size(SCREEN)  # type: ignore[arg-type]
        clicks = Clicks(page, demo_url)
        clicks.start("/")
        clicks.go("Advice")
        clicks.click(page.get_by_role("button", name="Start experiment").first)
        expect(page).to_have_url(re.compile("/experiments/new"))
        expect(page.get_by_test_id("page-new-experiment")).to_contain_text("hosts")
        assert clicks.count <= 3


def test_another_policy_takes_three_clicks(operator: BrowserContext, demo_url: str) -> None:
    with watch_page(operator) as page:
        page.set_viewport_size(SCREEN)  # type: ignore[arg-type]
        clicks = Clicks(page, demo_url)
        clicks.start(f"/services/{service_id(demo_url, 'redis')}")
        clicks.click(page.get_by_role("link", name="Simulate"))
        clicks.click(page.get_by_role("button", name="Start sweep"))
        expect(page).to_have_url(re.compile(r"/simulator/\w"))
        assert clicks.count <= 3
