"""The pages of cost and capacity answer on the real service, and a link gives the same view again."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from e2e.conftest import fetch
from e2e.test_demo_pages import open_page
from fixtures.elsewhere import long

pytestmark = long


def open_priced(page: Page, demo_url: str) -> None:
    """Open the page of cost, and take another published price of DRAM for this scenario."""
    open_page(page, f"{demo_url}/tco", "page-tco")
    expect(page.get_by_test_id("tco-price-date")).to_contain_text(re.compile(r"11 .*as of 2025-12-01"))
    before = page.get_by_test_id("tco-saving").inner_text()
    page.get_by_role("button", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name=re.compile(r"\$32\.00")).check()
    dialog.get_by_role("button", name="Confirm this price").click()
    expect(page.get_by_test_id("tco-saving")).not_to_have_text(before, use_inner_text=True)


def test_a_total_stands_on_a_price_with_its_date_and_another_one_changes_it(page: Page, demo_url: str) -> None:
    open_priced(page, demo_url)
    expect(page.get_by_test_id("tco-price-date")).to_contain_text(re.compile(r"32 .*as of 2026-03-31"))
    for chart in ("cost-waterfall", "tornado", "saving-distribution"):
        expect(page.get_by_test_id(f"chart-{chart}").locator(".js-plotly-plot")).to_be_visible()
    expect(page.get_by_test_id("tco-chance")).to_contain_text("%")


def test_a_moved_slider_changes_the_total_and_the_link_gives_it_again(page: Page, demo_url: str) -> None:
    open_priced(page, demo_url)
    saving = page.get_by_test_id("tco-saving")
    before = saving.inner_text()
    slider = page.get_by_role("slider", name="Lost throughput, %")
    slider.focus()
    slider.press("ArrowRight")
    expect(saving).not_to_have_text(before, use_inner_text=True)
    expect(page).to_have_url(re.compile("options.0.loss.value"))
    assert "prices.dram" in parse_qs(urlsplit(page.url).query)["set"][0], "the confirmed price is part of the link"
    after = saving.inner_text()
    page.reload()
    expect(page.get_by_test_id("tco-saving")).to_have_text(after, use_inner_text=True)


def test_a_scenario_is_handed_out_as_a_sheet_and_as_yaml(page: Page, demo_url: str) -> None:
    open_priced(page, demo_url)
    with page.expect_download() as sheet:
        page.get_by_role("button", name="Export to Excel").click()
    assert sheet.value.suggested_filename.endswith(".xlsx")
    page.get_by_role("button", name="More for this scenario").click()
    with page.expect_download() as file:
        page.get_by_role("menuitem", name="Export YAML").click()
    assert 'format: "tierscope.scenario/1"' in file.value.path().read_text(encoding="utf-8")


def test_the_capacity_page_lists_services_and_says_when_they_are_full_or_why_not(page: Page, demo_url: str) -> None:
    open_page(page, f"{demo_url}/capacity", "page-capacity")
    expect(page.get_by_test_id("headline")).to_contain_text(re.compile(r"\w+ .*\."))
    subjects = page.get_by_test_id("capacity-subjects")
    if all(row["resident_bytes"]["window"] is None for row in fetch(f"{demo_url}/v1/capacity")["subjects"]):
        expect(subjects).to_contain_text("Capacity is of full days.")
        return
    expect(subjects).to_contain_text("web")
    subjects.get_by_role("link", name=re.compile("redis")).click()
    expect(page).to_have_url(re.compile("subject="))
    expect(page.get_by_test_id("chart-forecast")).to_contain_text("redis")


def test_the_capacity_page_plans_on_chosen_hosts(page: Page, demo_url: str) -> None:
    open_page(page, f"{demo_url}/capacity?tab=plan", "page-capacity")
    needed = page.get_by_test_id("chart-hosts-needed")
    expect(needed.locator(".js-plotly-plot, [data-testid=empty-state]").first).to_be_visible()
    page.get_by_role("button", name="Add a host type").click()
    expect(page).to_have_url(re.compile("plan="))
    expect(page.get_by_role("group", name="Host type type 2")).to_be_visible()
