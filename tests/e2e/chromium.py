"""The headless Chromium of the machine."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from e2e.page_visits import PAGE_MS

_FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages of a context share one process: what it has compiled of the dashboard serves the next page too.
    "--process-per-site",
]


@contextmanager
def launch_chromium() -> Iterator[Browser]:
    """A browser that ends with the block, and an event loop with it, beside which a test can start none."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    if binary is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=_FLAGS)
        expect.set_options(timeout=PAGE_MS)
        yield browser
        browser.close()
