"""Takes the pictures of the documentation anew from a demonstration that runs.

PYTHONPATH=tests .venv/bin/python -m e2e.pictures http://127.0.0.1:8481 [NAME...]

With names it takes those alone. A demonstration that has just started is still busy with its history: pictures then
take minutes.
"""

import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from e2e.chromium import launch_chromium
from e2e.conftest import fetch

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SERVICE = "redis"
BOUGHT_FOR = "warehouse"
"""The service of the tutorial; the share of its memory that its advice leaves in DRAM."""
ADVISED_SHARE = 1 / 3
SETTLED_MS = 240_000


def main() -> int:
    """One picture after the other, at the size of a usual screen."""
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    url = sys.argv[1].rstrip("/")
    with launch_chromium() as browser:
        expect.set_options(timeout=SETTLED_MS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(SETTLED_MS)
        for name, path in pages(url).items():
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            page.goto(f"{url}{path}")
            _settle(page)
            page.screenshot(path=IMAGES / f"{name}.png")
    return 0


def pages(url: str) -> dict[str, str]:
    services = fetch(f"{url}/v1/services?limit=100")["items"]
    ids = {item["name"]: item["id"] for item in services}
    service, bought_for = ids[SERVICE], ids[BOUGHT_FOR]
    cost = f"/tco?service={bought_for}&share={ADVISED_SHARE}"
    alerts = fetch(f"{url}/v1/alerts?state=firing&limit=100")["items"]
    incident = next((alert["id"] for alert in alerts if "ping-pong" in alert["rule_id"]), alerts[0]["id"])
    return {
        "fleet": "/",
        "heatmap": f"/services/{service}?tab=heatmap",
        "heatmap-difference": f"/services/{service}?tab=heatmap&compare=-1d",
        "incident": f"/alerts/{incident}",
        "tutorial-advice": "/advice",
        "tutorial-ratio": f"/services/{bought_for}?tab=advice",
        "tutorial-cost": f"{cost}&start=cxl",
        "tutorial-decision": f"{cost}&start=ddr4",
    }


def _settle(page: Page) -> None:
    """Nothing is on its way any more, and every chart is drawn."""
    page.wait_for_load_state("networkidle")
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0)
    expect(page.get_by_test_id("chart-skeleton")).to_have_count(0)
    expect(page.locator("[data-ready='false']")).to_have_count(0)


if __name__ == "__main__":
    raise SystemExit(main())
