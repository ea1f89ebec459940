"""A picture of one page of the dashboard."""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from e2e.chromium import CHROMIUM_FLAGS

SETTLE_MS = 2_000


def take_picture(url: str, picture: Path) -> None:
    """Open `url` in a headless Chromium, wait for its heatmap, and write a PNG."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
        page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
        page.goto(url)
        try:
            page.locator(".js-plotly-plot .heatmaplayer").first.wait_for(state="attached", timeout=60_000)
            page.wait_for_timeout(SETTLE_MS)
        finally:
            # A page without its heatmap is the one that has to be looked at.
            page.screenshot(path=str(picture))
            browser.close()
