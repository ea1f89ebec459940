"""What is chosen by dragging: hosts over the tiles of the fleet, addresses and times over the heatmap."""

import re

from playwright.sync_api import Locator, Page, expect

from e2e.test_demo_pages import open_page, service_id
from fixtures.elsewhere import long
from tierscope.cli.instance.fleet import HOSTS

pytestmark = long

Place = tuple[float, float]
"""Across and down, as shares of what is dragged over."""


def drag(page: Page, over: Locator, start: Place, end: Place) -> None:
    """Press at one place, move to the other in steps, as a hand does, and let go."""
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    points = [(box["x"] + across * box["width"], box["y"] + down * box["height"]) for across, down in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=8)
    page.mouse.up()


def test_hosts_chosen_by_dragging_lead_to_exactly_those(page: Page, demo_url: str) -> None:
    open_page(page, demo_url, "page-fleet")
    grid = page.get_by_test_id("chart-fleet-grid")
    expect(grid.locator(".treemaplayer .slice").first).to_be_visible()
    grid.get_by_role("button", name="Choose hosts").click()
    drag(page, grid.get_by_test_id("brush-layer"), (0.02, 0.3), (0.3, 0.9))
    chosen = page.get_by_test_id("chosen-hosts")
    names = chosen.get_by_role("listitem").get_by_role("link")
    expect(names.nth(1)).to_be_visible()
    wanted = sorted(names.all_inner_texts())
    assert 1 < len(wanted) < HOSTS
    chosen.get_by_role("link", name=re.compile("in Hosts")).click()
    expect(page.get_by_text(f"{len(wanted)} shown")).to_be_visible()
    listed = page.get_by_test_id("page-hosts").get_by_role("table").get_by_role("link", name=re.compile(r"-\d+$"))
    assert sorted(set(listed.all_inner_texts())) == wanted


def test_a_selection_dragged_on_the_heatmap_tells_what_lies_there(page: Page, demo_url: str) -> None:
    open_page(page, f"{demo_url}/services/{service_id(demo_url, 'web')}?tab=heatmap", "page-service")
    heatmap = page.get_by_role("application", name=re.compile("Heatmap"))
    expect(heatmap.locator(".heatmaplayer image").first).to_be_attached()
    page.get_by_text("Select", exact=True).click()
    drag(page, heatmap.locator(".nsewdrag").first, (0.4, 0.2), (0.7, 0.5))
    expect(page).to_have_url(re.compile("sel="))
    panel = page.get_by_test_id("selection-panel")
    expect(panel.get_by_text(re.compile(r"in \d+ rows?"))).to_be_visible()
    expect(panel.get_by_test_id("selection-memory")).to_contain_text(re.compile("[KMGT]iB"))
