"""All pages of a host and of a service beside the lists: one quantity of one subject and window has one value on all.

So has the verdict on a host or a service, and the value of a setting. What is asked for over and over may change
between two pages: a page is held against another only where each said its own twice, before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page

from cli.commands import Tierscope
from e2e.conftest import fetch, log_in
from e2e.page_visits import follow, is_settled, watched_context
from e2e.test_demo_pages import service_id
from e2e.test_every_page import HOST_TABS, SERVICE_TABS
from e2e.test_headlines import newest_hour

LEAST_SHARED = {"figure": 30, "verdict": 3, "setting": 3}
"""Values on more than one page, so that there is something to hold against each other."""

Said = tuple[str, str, str, str]
"""What it is (figure, verdict, setting), its subject, its name, and its window."""

# The subject is what the row links to, else what the page is about; a row without a link tells of a part of it.
_READ = """() => {
  const about = (path) => /^\\/(hosts|services)\\/[^/]+/.exec(path)?.[0] ?? null
  const page = about(location.pathname)
  const subjectOf = (node, withPart) => {
    const row = node.closest('tr')
    if (row === null) return page ?? 'fleet'
    const linked = [...row.querySelectorAll('a')].map((link) => about(new URL(link.href).pathname)).find(Boolean)
    const noun = (subject) => subject.split('/')[1]
    if (linked && page && noun(linked) !== noun(page)) return [linked, page].sort().join(' ')
    if (linked) return linked
    const part = withPart ? ` ${row.closest('table').getAttribute('aria-label')}: ${row.cells[0].innerText}` : ''
    return `${page ?? 'fleet'}${part}`
  }
  const all = (selector) => [...document.querySelectorAll(selector)]
  return [
    ...all('[data-testid^=figure-][data-value]').map((node) =>
      ['figure', subjectOf(node, true), node.dataset.testid, node.dataset.window, node.dataset.value]),
    ...all('[data-verdict]').map((node) =>
      ['verdict', subjectOf(node, true), 'verdict', node.dataset.window, node.dataset.verdict]),
    ...all('[data-setting]').map((node) =>
      ['setting', subjectOf(node, false), node.dataset.setting, 'now', node.dataset.value]),
  ]
}"""


@dataclass
class Walk:
    """What each page said: values by page, of each thing that is told."""

    told: dict[Said, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def shared(self) -> dict[Said, dict[str, set[str]]]:
        """What more than one page tells."""
        return {said: by_page for said, by_page in self.told.items() if len(by_page) > 1}


def walk(page: Page, base: str, paths: Iterable[str]) -> Walk:
    """Opens each page and reads what it tells."""
    found = Walk()
    page.goto(base)
    for path in paths:
        follow(page, path)
        assert is_settled(page, "light"), f"{path} does not come to rest"
        for kind, subject, name, window, value in page.evaluate(_READ):
            found.told[kind, subject, name, window][path].add(_rounded(value))
    return found


def _rounded(value: str) -> str:
    try:
        return f"{float(value):.9g}"
    except ValueError:
        return value


def contradictions(first: Walk, second: Walk) -> list[str]:
    """Things of which two pages tell nothing in common, in both walks, while neither changed between them.

    A page with several values tells them of parts, too; one of them is that of the whole.
    """
    found = []
    for said, before in first.shared().items():
        after = second.told.get(said, {})
        steady = {path: values for path, values in before.items() if after.get(path) == values}
        if len(steady) > 1 and not set.intersection(*steady.values()):
            found.append(f"{said}: {steady}")
    return found


@pytest.fixture(scope="module")
def walks(browser: Browser, demo: Tierscope, demo_url: str) -> tuple[Walk, Walk]:
    """The pages, walked twice as an administrator, all asked about the newest whole hour."""
    with watched_context(browser) as context:
        page = context.new_page()
        page.emulate_media(color_scheme="light")
        log_in(page, demo, "admin")
        paths = pages_about(demo_url)
        return walk(page, demo_url, paths), walk(page, demo_url, paths)


def pages_about(url: str) -> list[str]:
    """The lists, a service's pages and those of a host that runs it."""
    service = service_id(url, "cache-graph")
    host = fetch(f"{url}/v1/hosts?service={service}&limit=1")["items"][0]["id"]
    start, end = newest_hour(url)
    window = f"from={start}&to={end}"
    lists = ("/", "/services", "/hosts", "/advice?tab=cards", "/advice?tab=plan", "/advice?tab=drift", "/capacity")
    return [f"{path}{'&' if '?' in path else '?'}{window}" for path in lists] + [
        f"/{noun}/{subject}?tab={tab}&{window}"
        for noun, subject, tabs in (("services", service, SERVICE_TABS), ("hosts", host, HOST_TABS))
        for tab in tabs
    ]


def test_no_two_pages_tell_one_thing_differently(walks: tuple[Walk, Walk]) -> None:
    apart = contradictions(*walks)
    assert not apart, "\n".join(apart[:20])


@pytest.mark.parametrize("kind", LEAST_SHARED)
def test_pages_share_enough_to_be_held_against_each_other(walks: tuple[Walk, Walk], kind: str) -> None:
    shared = [said for said in walks[0].shared() if said[0] == kind]
    assert len(shared) >= LEAST_SHARED[kind], shared


def test_two_values_of_one_thing_are_found() -> None:
    first, second = Walk(), Walk()
    said: Said = ("verdict", "/hosts/h-1", "verdict", "now")
    for walked in (first, second):
        walked.told[said]["/hosts"] = {"healthy"}
        walked.told[said]["/hosts/h-1"] = {"stalled"}
    assert len(contradictions(first, second)) == 1
    second.told[said]["/hosts"] = {"stalled"}
    assert contradictions(first, second) == [], "it changed between the walks"
