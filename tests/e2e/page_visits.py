"""Looks at a page as it is served, with its content security policy in force: what it drew, refused and logged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from playwright.sync_api import TimeoutError as NotSettled

from e2e.mock_api import FRONTEND

SETTLE_MS = 60_000
"""How long a page may load; it is looked at as it is then."""

# An init script runs outside of the policy, so that axe can be there while the policy stays in force for the page.
_WATCH = """
window.violations = []
document.addEventListener('securitypolicyviolation', (event) =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`))
"""
_SETTLED = """() => document.querySelector('[data-testid^=page-]') !== null
  && document.querySelector('[data-testid=chart-skeleton]') === null
  && document.querySelector('.mantine-Skeleton-root') === null
  && [...document.querySelectorAll('[data-ready=false]')].length === 0"""
# The dashboard follows the system's theme by itself, a moment later.
_IN_SCHEME = """(scheme) => document.documentElement.dataset.mantineColorScheme === scheme
  && new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"""
_DRAWN = """() => [...document.querySelectorAll('[data-chart]')]
  .filter((panel) => panel.querySelector('.js-plotly-plot .main-svg, ul[aria-label] [role=img]') !== null)
  .map((panel) => panel.dataset.chart)"""
_AXE = """async () => {
  const found = await window.axe.run(document, {
    resultTypes: ['violations'],
    runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] },
  })
  return found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) =>
    `${id}: ${nodes.slice(0, 4).map(({ target, failureSummary }) =>
      `${target.join(' ')} (${failureSummary.split('\\n')[1]?.trim()})`).join('; ')}`)
}"""


@dataclass
class Visits:
    """What pages drew, and what was wrong with them, by page."""

    drawn: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)


def chart_types() -> set[str]:
    """All types of charts: each has a folder."""
    return {folder.name for folder in (FRONTEND / "src" / "charts").iterdir() if folder.is_dir()}


@contextmanager
def watched_context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser context whose pages note what their policy refuses, have axe, and do not fade from theme to theme."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, reduced_motion="reduce")
    context.add_init_script(path=FRONTEND / "node_modules" / "axe-core" / "axe.min.js")
    context.add_init_script(_WATCH)
    yield context
    context.close()


def look_at(page: Page, base: str, paths: list[str], visits: Visits, *, axe: bool = True) -> None:
    """Opens each path, light and dark, and notes what was drawn and what was wrong."""
    where = {"path": ""}

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            visits.logged.append(f"{where['path']}: {message.text}")

    page.on("console", note)
    page.on("pageerror", lambda error: visits.logged.append(f"{where['path']}: {error}"))
    for path in paths:
        where["path"] = path
        for scheme in ("light", "dark") if axe else ("light",):
            # Loaded anew: colours of a page whose theme changes under it are judged before they have changed.
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.goto(f"{base}{path}")
            try:
                page.wait_for_function(_SETTLED, timeout=SETTLE_MS)
                page.wait_for_load_state("networkidle", timeout=SETTLE_MS)
                page.wait_for_function(_IN_SCHEME, arg=scheme, timeout=SETTLE_MS)
            except NotSettled as error:
                visits.unsettled.append(f"{path}, {scheme}: {error}")
            visits.drawn.update(_read(page, _DRAWN))
            if axe:
                visits.unreadable.extend(f"{path}, {scheme}: {found}" for found in _read(page, _AXE))
        visits.refused.extend(f"{path}: {found}" for found in _read(page, "() => window.violations"))


def _read(page: Page, script: str) -> list[Any]:
    found = page.evaluate(script)
    assert isinstance(found, list)
    return found
