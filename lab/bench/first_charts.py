"""When each page of a demonstration draws its first chart in a browser that has stored nothing.

Where another build's demonstration runs beside it (`TIERSCOPE_BENCH_BESIDE`), both are loaded in turn, and its times
are the reference.
"""

from contextlib import ExitStack

import httpx
from playwright.sync_api import Browser, Error, sync_playwright

from bench.figures import Row, Section, median
from bench.landing import WATCH_DRAWN, address, beside, launch
from bench.waits import Demonstration

LOADS = 3
LONGEST_MS = 20_000
GOAL = 1 / 2
PAGES = (
    "/",
    *(f"/services/{{service_id}}?tab={tab}" for tab in ("overview", "heatmap", "curve", "sensitivity", "moves")),
    *(f"/hosts/{{host_id}}?tab={tab}" for tab in ("overview", "moves", "counters")),
    "/capacity",
    "/alerts?tab=timeline",
)
"""Those that have a chart on the demonstration without a price or a question of one's own."""


def measure() -> Section:
    """Load each page cold, of each build in turn."""
    urls = [url for url in (address(), beside()) if url]
    times: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        clients = [stack.enter_context(httpx.Client(base_url=url, timeout=60.0)) for url in urls]
        first = Demonstration(clients[0])
        ids = [first.ids, *(Demonstration(client, first.service).ids for client in clients[1:])]
        browser = launch(stack.enter_context(sync_playwright()))
        for _ in range(LOADS):
            for page in PAGES:
                for url, own in zip(urls, ids, strict=True):
                    if (taken := _drawn_ms(browser, url + page.format_map(own))) is not None:
                        times.setdefault((page, url), []).append(taken)
        browser.close()
    rows = [_row(page, *(times.get((page, url), []) for url in urls)) for page in PAGES]
    return Section(
        title="The first chart of each page, cold",
        rows=rows,
        notes=[
            f"Medians of {LOADS} loads (slowest in brackets), 1440x900, headless Chromium beside the service.",
            f"No figure: no chart within {LONGEST_MS / 1000:.0f} s.",
        ],
    )


def _drawn_ms(browser: Browser, url: str) -> float | None:
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(LONGEST_MS)
        page.add_init_script(WATCH_DRAWN)
        page.goto(url, wait_until="commit")
        try:
            page.wait_for_selector("[data-chart] .main-svg", state="attached")
            return float(page.evaluate("() => window.drawn"))
        except Error:
            return None


def _row(page: str, ours: list[float], theirs: list[float] | None = None) -> Row:
    if not ours or not theirs:
        return Row(page, _shown(ours), _shown(theirs or []))
    ratio = median(ours) / median(theirs)
    return Row(page, _shown(ours), _shown(theirs), ratio, f"ratio at most {GOAL:g}", ratio <= GOAL)


def _shown(taken: list[float]) -> str:
    return f"{median(taken):,.0f} ms ({max(taken):,.0f})" if taken else "-"
