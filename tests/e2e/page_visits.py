"""Looks at a page as it is served, with its content security policy in force: what it drew, refused and logged."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from e2e.mock_api import FRONTEND
from e2e.told import Told

PAGE_MS = 300_000
"""As long may a page take to show something: what a busy machine needs, not what a user should wait."""
Scheme = Literal["light", "dark"]

# An init script runs outside of the policy, so that axe can be there while the policy stays in force for the page.
_WATCH = """
window.violations = []
document.addEventListener('securitypolicyviolation', (event) =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`))
const ask = window.fetch
window.shifted = 0
new PerformanceObserver((seen) => {
  for (const { value, hadRecentInput } of seen.getEntries()) window.shifted += hadRecentInput ? 0 : value
}).observe({ type: 'layout-shift', buffered: true })
window.unanswered = 0
window.fetch = async (...request) => {
  window.unanswered += 1
  try {
    const answer = await ask(...request)
    await answer.clone().arrayBuffer()
    return answer
  } finally {
    window.unanswered -= 1
  }
}
"""
# What waits spins and pulses: sixty pictures a second, each drawn by the processor that is waited for. And colours that
# fade from theme to theme would be judged on their way.
_STILL = """
const still = new CSSStyleSheet()
still.replaceSync('*, *::before, *::after { transition: none !important; animation: none !important }')
document.adoptedStyleSheets = [still]
"""
# As a link that is followed.
_GO = "(path) => window.__TSR_ROUTER__.history.push(path)"
# At rest, and still so some frames later: an answer may lead to the next question.
_SETTLED = """async ([scheme, patience]) => {
  const giveUp = performance.now() + patience
  const atRest = () => {
    const { history, state } = window.__TSR_ROUTER__ ?? {}
    const wanted = history?.location.state.__TSR_key
    return wanted !== undefined && state.status === 'idle' && state.resolvedLocation?.state.__TSR_key === wanted
      && window.unanswered === 0
      && document.documentElement.dataset.mantineColorScheme === scheme
      && document.querySelector('[data-testid^=page-]') !== null
      && document.querySelector('[data-testid=chart-skeleton], .mantine-Skeleton-root, [data-ready=false]') === null
  }
  for (let still = 0; still < 4; still += 1) {
    while (!atRest()) {
      if (performance.now() > giveUp) return false
      still = 0
      await new Promise((done) => setTimeout(done, 50))
    }
    await new Promise((done) => requestAnimationFrame(done))
  }
  return true
}"""
_DRAWN = """() => [...document.querySelectorAll('[data-chart]')]
  .filter((panel) => panel.querySelector('.js-plotly-plot .main-svg, ul[aria-label] [role=img]') !== null)
  .map((panel) => panel.dataset.chart)"""
_AXE = """async (rules) => {
  const found = await window.axe.run(document, { resultTypes: ['violations'], runOnly: rules })
  return found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) =>
    `${id}: ${nodes.slice(0, 4).map(({ target, failureSummary }) =>
      `${target.join(' ')} (${failureSummary.split('\\n')[1]?.trim()})`).join('; ')}`)
}"""
_MISREAD = re.compile(
    r"[^\n]{0,40}(?:\d ?[KMGT]iB/s|\de[+-]\d|(?<![.\d])\d[\d,]{3,} s\b|\+-|\u2212\u2212|\bNaN\b)[^\n]{0,30}"
)
"""Flows in units of memory, exponents, hours as seconds, signs that stand twice, and no number."""
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
_OF_COLOURS = ["color-contrast"]
"""What is not about colours is the same in both themes."""


@dataclass
class Visits:
    """What pages drew and told, and what was wrong with them, by page."""

    drawn: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    misread: list[str] = field(default_factory=list)
    moved: dict[str, float] = field(default_factory=dict)
    """By page, how far what stood there was moved by what came later: the share of the screen times the distance."""
    told: Told = field(default_factory=Told)
    told_again: Told = field(default_factory=Told)
    """By pages that had told something else than another page."""


def chart_types() -> set[str]:
    folders = (FRONTEND / "src" / "charts").iterdir()
    return {folder.name for folder in folders if folder.is_dir() and folder.name != "__mocks__"}


@contextmanager
def patient_context(browser: Browser, **options: Any) -> Iterator[BrowserContext]:  # noqa: ANN401 - Playwright's own
    """A browser context of the usual width whose pages may take as long as a busy machine needs.

    Nothing fades, slides or spins: without a graphics processor each picture on the way takes the machine's time.
    """
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, reduced_motion="reduce", **options)
    context.set_default_timeout(PAGE_MS)
    context.add_init_script(_STILL)
    yield context
    context.close()


@contextmanager
def watched_context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser context whose pages note what their policy refuses, and have axe."""
    with patient_context(browser) as context:
        context.add_init_script(path=FRONTEND / "node_modules" / "axe-core" / "axe.min.js")
        context.add_init_script(_WATCH)
        yield context


def look_at(
    page: Page, base: str, paths: list[str], visits: Visits, *, axe: bool = True, both_themes: bool = False
) -> None:
    """Loads the first path, goes from each to the next within the application, and notes what was drawn and wrong.

    With axe, pages are judged light and dark by turns, or each in both themes, and what they tell is noted. Pages that
    tell other things than others are asked once more.
    """
    where = {"path": paths[0]}

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            visits.logged.append(f"{where['path']}: {message.text}")

    page.on("console", note)
    page.on("pageerror", lambda error: visits.logged.append(f"{where['path']}: {error}"))
    scheme: Scheme = "light"
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{base}{paths[0]}")
    for path in paths:
        where["path"] = path
        follow(page, path)
        _rest(page, scheme, path, visits)
        visits.moved[path] = float(
            page.evaluate("() => { const sum = window.shifted; window.shifted = 0; return sum }")
        )
        visits.drawn.update(_read(page, _DRAWN))
        if axe:
            visits.told.read(page, path)
            visits.misread.extend(f"{path}: {found}" for found in _MISREAD.findall(page.inner_text("main")))
            _judge(page, scheme, path, visits, _RULES)
            scheme = "dark" if scheme == "light" else "light"
            page.emulate_media(color_scheme=scheme)
            if both_themes:
                _rest(page, scheme, path, visits)
                _judge(page, scheme, path, visits, _OF_COLOURS)
        visits.refused.extend(f"{path}: {found}" for found in _read(page, "() => window.violations.splice(0)"))
    for path in sorted({path for by_page in visits.told.apart().values() for path in by_page} if axe else ()):
        where["path"] = path
        # Loaded anew: within the application an answer is used again for up to a minute, and would be no second word.
        page.goto(f"{base}{path}")
        _rest(page, scheme, path, visits)
        visits.told_again.read(page, path)


def follow(page: Page, path: str) -> None:
    """Goes there within the application, as by a link."""
    page.evaluate(_GO, path)


def is_settled(page: Page, scheme: Scheme) -> bool:
    """Waits until a page of a watched context rests in a theme, with all its answers drawn; whether it came to that."""
    return bool(page.evaluate(_SETTLED, [scheme, PAGE_MS]))


def _rest(page: Page, scheme: Scheme, path: str, visits: Visits) -> None:
    if not is_settled(page, scheme):
        visits.unsettled.append(f"{path}, {scheme}")


def _judge(page: Page, scheme: Scheme, path: str, visits: Visits, rules: list[str]) -> None:
    visits.unreadable.extend(f"{path}, {scheme}: {found}" for found in _read(page, _AXE, rules))


def _read(page: Page, script: str, argument: list[str] | None = None) -> list[Any]:
    found = page.evaluate(script, argument)
    assert isinstance(found, list)
    return found
