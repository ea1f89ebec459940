"""Takes the pictures of the documentation anew from a demonstration that runs.

PYTHONPATH=tests .venv/bin/python -m e2e.pictures http://127.0.0.1:8481
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from e2e.conftest import CHROMIUM_FLAGS, fetch
from e2e.page_visits import PAGE_MS

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SERVICE = "redis"


def main() -> int:
    """One picture after the other, at the size of a usual screen."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    url = sys.argv[1].rstrip("/")
    expect.set_options(timeout=PAGE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for name, path in pages(url).items():
            page.goto(f"{url}{path}")
            _settle(page)
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()
    return 0


def pages(url: str) -> dict[str, str]:
    """What is shown, by the name of its picture."""
    services = fetch(f"{url}/v1/services?limit=100")["items"]
    service = next(item["id"] for item in services if item["name"] == SERVICE)
    alerts = fetch(f"{url}/v1/alerts?state=firing&limit=100")["items"]
    incident = next((alert["id"] for alert in alerts if "ping-pong" in alert["rule_id"]), alerts[0]["id"])
    return {
        "fleet": "/",
        "heatmap": f"/services/{service}?tab=heatmap",
        "heatmap-difference": f"/services/{service}?tab=heatmap&compare=-1d",
        "incident": f"/alerts/{incident}",
    }


def _settle(page: Page) -> None:
    """Nothing is on its way any more, and every chart is drawn."""
    page.wait_for_load_state("networkidle")
    expect(page.get_by_test_id("chart-skeleton")).to_have_count(0)
    expect(page.locator("[data-ready='false']")).to_have_count(0)


if __name__ == "__main__":
    raise SystemExit(main())
