"""What a page of another port of the machine gets of a session without TLS: browsers send it the cookie, too."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from playwright.sync_api import Browser, expect

from e2e.page_visits import patient_context
from factories.services import running
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@contextmanager
def another_program() -> Iterator[tuple[str, list[str]]]:
    """A program of somebody else on a port of its own: its address, and the cookies that it was sent."""
    cookies: list[str] = []

    class Noting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            del args

    with HTTPServer(("127.0.0.1", 0), Noting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", cookies
        finally:
            server.shutdown()


def test_another_port_cannot_use_the_cookie_of_a_session(database_url: str, browser: Browser) -> None:
    with (
        running(Settings(database_url=database_url, anonymous_reads=False)) as (app, client),
        another_program() as (elsewhere, cookies),
        patient_context(browser) as context,
    ):
        link = app.state.use_cases.access.create_link(actor="test").secret
        page = context.new_page()
        page.goto(f"{client.base_url}/login?link={link}")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_test_id("page-fleet")).to_be_visible()
        assert "#" not in page.url, "nor does the history hold the key"
        page.reload()
        expect(page.get_by_test_id("account-menu")).to_be_visible()
        context.new_page().goto(elsewhere)
        (cookie,) = {one for one in cookies if one}
        taken = httpx.get(f"{client.base_url}/v1/session", headers={"Cookie": cookie}).json()
        assert (taken["kind"], taken["csrf_token"]) == ("nobody", None)
        assert httpx.get(f"{client.base_url}/v1/hosts", headers={"Cookie": cookie}).status_code == 401
        page.get_by_test_id("account-menu").click()
        page.get_by_role("menuitem", name="Log out").click()
        expect(page.get_by_test_id("page-login")).to_be_visible()
        assert page.evaluate("localStorage.getItem('tierscope-session-key')") is None
