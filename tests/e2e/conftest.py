"""The demonstration on real servers, and a real Chromium to look at it.

Both end with this package: Playwright holds an event loop while it runs, beside which other tests could start none.
"""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, expect

from cli.commands import Tierscope, fresh_tierscope
from e2e.chromium import launch_chromium
from e2e.page_visits import patient_context
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.cli.base.source_tree import FLEET, find_program
from tierscope.cli.instance.fleet import HOSTS

HISTORY = {"TIERSCOPE_DEMO_HOURS": "3", "TIERSCOPE_DEMO_OLDER_DAYS": "0"}
LOAD_SECONDS = 800
"""Generous: the machine may be busy with other tests. How long it takes is measured elsewhere."""


def fetch(url: str) -> Any:  # noqa: ANN401 - answers differ
    with urllib.request.urlopen(url, timeout=DEADLINE_SECONDS) as answer:  # noqa: S310 - an address of our own service
        return json.loads(answer.read())


@pytest.fixture(scope="package")
def demo() -> Iterator[Tierscope]:
    """A demonstration that runs; its history may still be on its way."""
    if find_program(FLEET) is None:
        pytest.skip("the program of simulated hosts is not built")
    with fresh_tierscope(HISTORY) as tierscope:
        tierscope.run("up", "--demo", "--detach", "--port", "0")
        yield tierscope


@pytest.fixture(scope="package")
def demo_url(demo: Tierscope) -> str:
    """The address of a demonstration whose history is loaded and worked up."""
    url = str(demo.status("--demo", "--wait", "300", expect=None)["url"])
    until(lambda: is_loaded(url), "the demonstration is loaded and worked up", seconds=LOAD_SECONDS)
    return url


def is_loaded(url: str) -> bool:
    """Whether all hosts of a demonstration have sent their history, and it is worked up."""
    # A live minute may be waiting at any moment; the history's marks are thousands.
    if fetch(f"{url}/v1/status")["marks_pending"] >= 200:
        return False
    hosts = fetch(f"{url}/v1/hosts?limit=200")["items"]
    whole = len(hosts) == HOSTS and all(host["last_seen"] for host in hosts)
    return whole and any(price["in_force"] for price in fetch(f"{url}/v1/prices")["items"])


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium of the machine."""
    with launch_chromium() as browser:
        yield browser


def log_in(page: Page, tierscope: Tierscope, role: str, *, demo: bool = True) -> None:
    """Logs the page in by a link of the demonstration, or of the instance itself; the fleet page follows."""
    page.goto(tierscope.run("token", "link", *(["--demo"] if demo else []), "--role", role).strip())
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_test_id("page-fleet")).to_be_visible()


@contextmanager
def kept_context(browser: Browser, url: str) -> Iterator[BrowserContext]:
    """A context whose pages share what the browser has loaded, which takes longer than most tests.

    A page that nobody looks at keeps their process alive between two tests.
    """
    with patient_context(browser) as context:
        context.new_page().goto(f"{url}/healthz")
        yield context


@pytest.fixture(scope="package")
def visitor(browser: Browser, demo_url: str) -> Iterator[BrowserContext]:
    """Someone who is not logged in."""
    with kept_context(browser, demo_url) as context:
        yield context


@pytest.fixture(scope="package")
def operator(browser: Browser, demo: Tierscope, demo_url: str) -> Iterator[BrowserContext]:
    """An operator who is logged in: starting sweeps and storing rules takes one."""
    with kept_context(browser, demo_url) as context:
        with watch_page(context) as page:
            log_in(page, demo, "operator")
        yield context


CLEAR_SETTINGS = """for (const name of Object.keys(localStorage)) {
    if (name !== 'tierscope-session-key') localStorage.removeItem(name)
}"""


@contextmanager
def watch_page(context: BrowserContext) -> Iterator[Page]:
    """A page of its own, which finds and leaves no settings; fails at the end when the page has logged an error."""
    faults: list[str] = []

    def note_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(message.text)

    def note_crash(error: Error) -> None:
        faults.append(str(error))

    page = context.new_page()
    try:
        page.on("console", note_console)
        page.on("pageerror", note_crash)
        yield page
        page.evaluate(CLEAR_SETTINGS)
    finally:
        page.close()
    assert not faults, "the page reported errors:\n" + "\n".join(faults)


@pytest.fixture
def page(visitor: BrowserContext) -> Iterator[Page]:
    """A page of its own; the test fails when the page logs an error."""
    with watch_page(visitor) as page:
        yield page
