"""When the fleet page draws its first chart in a real browser, and how much script it takes.

The page is the one of the demonstration that runs on this machine (`make demo`): 33 simulated hosts. Cold is a browser
that has stored nothing; warm is one that has opened the page before. The reference is the same browser's time for the
page's own answer, `/v1/fleet`, asked for alone: what no drawing could go below.
"""

import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright

from bench.figures import Row, Section, median

LOADS = 10
WARM_MS = 1000
SCRIPT_KIB = 400
DEMO = "http://127.0.0.1:8481"
CHARTS = "plotlyBundle"
WATCH_DRAWN = """
window.drawn = new Promise((resolve) => {
  const look = () => document.querySelector('[data-chart] .main-svg') && resolve(performance.now());
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
});
"""
_SCRIPTS = """
() => performance.getEntriesByType('resource').filter((entry) => entry.name.endsWith('.js'))
  .map((entry) => [entry.name, entry.encodedBodySize])
"""
_ANSWER = """
async () => {
  const begin = performance.now();
  await (await fetch('/v1/fleet?from=-6h', { cache: 'no-store' })).json();
  return performance.now() - begin;
}
"""


@dataclass(frozen=True, slots=True)
class Loads:
    """Milliseconds from the address to the first chart, those of its answer alone, and bytes of script by file."""

    drawn_ms: Sequence[float]
    answer_ms: Sequence[float]
    scripts: dict[str, int]


def address() -> str:
    """Where the demonstration answers: `TIERSCOPE_BENCH_URL`, or its usual port."""
    return os.environ.get("TIERSCOPE_BENCH_URL", DEMO)


def beside() -> str | None:
    """Where another build's demonstration answers (`TIERSCOPE_BENCH_BESIDE`), to be asked in turn."""
    return os.environ.get("TIERSCOPE_BENCH_BESIDE")


def unusable() -> str | None:
    """Why it cannot run here."""
    return "Chromium is not installed" if shutil.which("chromium") is None else unanswered()


def unanswered() -> str | None:
    """Why no demonstration can be asked."""
    try:
        with urllib.request.urlopen(f"{address()}/v1/fleet", timeout=10) as answer:  # noqa: S310 - our own service
            hosts = json.loads(answer.read())["hosts_total"]
    except (urllib.error.URLError, OSError, ValueError, KeyError):
        return f"no demonstration answers at {address()}: start one with `make demo`, or set TIERSCOPE_BENCH_URL"
    return None if hosts else f"the instance at {address()} has no hosts"


def launch(playwright: Playwright) -> Browser:
    """The machine's own browser, as every section measures it."""
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    return playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)


def measure() -> Section:
    """Cold and warm loads of the fleet page."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        cold: list[Loads] = []
        for _ in range(LOADS):
            with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
                cold.append(_load(context, 1))
        with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
            _load(context, 1)
            warm = _load(context, LOADS)
        browser.close()
    own = sum(size for name, size in cold[0].scripts.items() if CHARTS not in name) / 1024
    charts = sum(size for name, size in cold[0].scripts.items() if CHARTS in name) / 1024
    cold_ms, cold_answer_ms = [one.drawn_ms[0] for one in cold], [one.answer_ms[0] for one in cold]
    return Section(
        title="The fleet page in a browser",
        rows=[
            _row("first chart, warm", warm.drawn_ms, warm.answer_ms, WARM_MS),
            _row("first chart, cold", cold_ms, cold_answer_ms, None),
            Row(
                "script of the page, compressed",
                f"{own:.0f} KiB",
                f"{charts:.0f} KiB (charts' library)",
                own / charts if charts else None,
                f"under {SCRIPT_KIB} KiB",
                own < SCRIPT_KIB,
            ),
        ],
        notes=[
            f"Medians of {LOADS} loads (slowest in brackets), 1440x900, headless Chromium beside the service.",
            "The reference is the page's answer `/v1/fleet` asked for alone by the same browser.",
        ],
    )


def _load(context: BrowserContext, times: int) -> Loads:
    page = context.new_page()
    page.add_init_script(WATCH_DRAWN)
    drawn, answered, scripts = [], [], {}
    for _ in range(times):
        page.goto(address(), wait_until="commit")
        drawn.append(float(page.evaluate("() => window.drawn")))
        page.wait_for_load_state("networkidle")
        scripts = {name: int(size) for name, size in page.evaluate(_SCRIPTS)}
        answered.append(float(page.evaluate(_ANSWER)))
    page.close()
    return Loads(drawn, answered, scripts)


def _row(name: str, ours: Sequence[float], reference: Sequence[float], target_ms: float | None) -> Row:
    shown = f"{median(ours):.0f} ms ({max(ours):.0f})"
    ratio = median(ours) / median(reference)
    if target_ms is None:
        return Row(name, shown, f"{median(reference):.0f} ms", ratio)
    met = median(ours) < target_ms
    return Row(name, shown, f"{median(reference):.0f} ms", ratio, f"median under {target_ms:.0f} ms", met)
