"""A picture of one page of the dashboard."""

from pathlib import Path

from e2e.chromium import launch_chromium

SETTLE_MS = 2_000


def take_picture(url: str, picture: Path) -> None:
    """Open `url` in a headless Chromium, wait for its heatmap, and write a PNG."""
    with launch_chromium() as browser:
        page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
        page.goto(url)
        try:
            page.locator(".js-plotly-plot .heatmaplayer").first.wait_for(state="attached", timeout=60_000)
            page.wait_for_timeout(SETTLE_MS)
        finally:
            # A page without its heatmap is the one that has to be looked at.
            page.screenshot(path=str(picture))
