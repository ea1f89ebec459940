"""The simulator's pages start a sweep and show its grid; the alert pages try a rule on history and keep it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from e2e.conftest import watch_page
from e2e.test_demo_pages import open_page
from fixtures.elsewhere import long
from tierscope.cli.instance.fleet import HOSTS

pytestmark = long


@pytest.fixture
def operator_page(operator: BrowserContext) -> Iterator[Page]:
    with watch_page(operator) as page:
        yield page


def test_a_sweep_is_started_and_its_grid_opens_a_run(operator_page: Page, demo_url: str) -> None:
    page = operator_page
    open_page(page, f"{demo_url}/simulator?new=on", "new-sweep")
    form = page.get_by_role("form", name="New sweep")
    form.get_by_text("Synthetic workload").click()
    form.get_by_role("combobox", name="Workload").click()
    page.get_by_role("option").first.click()
    form.get_by_role("button", name="None", exact=True).click()
    form.get_by_role("checkbox", name="TPP", exact=True).check()
    form.get_by_role("checkbox", name="Default Linux (first touch)").check()
    form.get_by_role("textbox", name="Name").fill("two policies")
    expect(page.get_by_test_id("run-count")).to_have_text("12 runs for the grid")
    form.get_by_role("button", name="Start sweep").click()
    expect(page.get_by_test_id("page-sweep")).to_be_visible()
    cells = page.get_by_test_id("sweep-grid").locator("[data-state=run] button")
    expect(cells).to_have_count(12)
    expect(page.get_by_test_id("oracle-row")).to_contain_text("%")
    page.get_by_role("button", name=re.compile("^TPP at 1:1")).click()
    expect(page).to_have_url(re.compile("run="))
    replay = page.get_by_test_id("chart-replay")
    expect(replay.locator(".js-plotly-plot .heatmaplayer").first).to_be_attached()
    page.reload()
    expect(page.get_by_test_id("sweep-run")).to_contain_text("TPP at 1:1")


def test_a_rule_is_tried_on_history_and_stored(operator_page: Page, demo_url: str) -> None:
    page = operator_page
    open_page(page, f"{demo_url}/alerts/rules/new?from=-24h", "page-new-rule")
    condition = page.get_by_label("Condition", exact=True)
    condition.fill("ping_pong_stat >= warn")
    expect(page.get_by_test_id("rule-check")).to_contain_text("ping_pong_state")
    condition.fill("ping_pong_state >= warn")
    backtest = page.get_by_test_id("chart-backtest")
    counts = re.compile(rf"fired [\d,]+.*resolved [\d,]+.* at \d+ of {HOSTS} subjects")
    expect(backtest).to_contain_text(counts)
    expect(backtest.locator(".js-plotly-plot")).to_be_visible()
    page.get_by_role("textbox", name="Name").fill("Ping-pong of mine")
    page.get_by_role("button", name="Add rule").click()
    expect(page.get_by_test_id("page-rule")).to_contain_text("own")
    page.goto(f"{demo_url}/alerts?tab=rules")
    expect(page.get_by_test_id("rules-list")).to_contain_text("Ping-pong of mine")
