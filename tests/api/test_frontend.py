"""Files of the dashboard: what is there, and names that no file can have."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from factories.services import running
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def client(database_url: str, tmp_path: Path) -> Iterator[httpx.Client]:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "app-1.js").write_text("let a")
    (tmp_path / "index.html").write_text("<!doctype html>")
    with running(Settings(database_url=database_url, frontend_dir=tmp_path)) as (_, made):
        yield made


def test_names_that_no_file_can_have_are_not_found(client: httpx.Client) -> None:
    assert client.get("/assets/app-1.js").text == "let a"
    for name in ("%00", "a" * 5000, "a/" * 2500, "%ff%fe", "..%2f..%2fetc%2fpasswd"):
        answer = client.get(f"/assets/{name}")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json"), name
    assert client.get(f"/{'a' * 5000}").text == "<!doctype html>"
