"""The documentation site: what `make docs` builds is whole, and the service serves it."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from architecture.tree import load_script
from factories.services import serving
from factories.waiting import DEADLINE_SECONDS
from tierscope.api.base import frontend
from tierscope.api.base.problems import install_handlers


class Addresses(HTMLParser):
    """Collects ids, addresses, and scripts that stand in the page itself."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.inline_scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found["id"]} if "id" in found else set()
        self.targets += [found[name] for name in ("href", "src") if name in found]
        self.inline_scripts += tag == "script" and "src" not in found


def parsed(path: Path) -> Addresses:
    page = Addresses()
    page.feed(path.read_text(encoding="utf-8"))
    return page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output: Path = tmp_path_factory.mktemp("site") / "_site"
    load_script("deploy/site/build.py").build(output)
    return output


def test_every_link_of_the_site_leads_to_a_file_and_a_heading(site: Path) -> None:
    pages = {path.resolve(): parsed(path) for path in site.rglob("*.html")}
    assert len(pages) > 70
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            name, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target) or target == "/":
                continue
            wanted = (path.parent / name).resolve() if name else path
            if not wanted.is_file() or (anchor and anchor not in pages[wanted].ids):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert broken == []


def test_pages_hold_no_script_and_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert parsed(path).inline_scripts == 0, path
        assert not re.search(r'<(script|link|img)[^>]+(src|href)="(https?:)?//', path.read_text(encoding="utf-8")), path


def test_the_search_index_has_every_page(site: Path) -> None:
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    assert {entry["address"] for entry in index} == {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert all(entry["title"] and entry["words"] for entry in index)


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    app = FastAPI(docs_url=None, redoc_url=None)
    app.include_router(frontend.router)
    install_handlers(app)
    with serving(app) as address, httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as client:
        yield client


def test_the_service_serves_the_site(client: httpx.Client, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "docs_dir", lambda: site)
    assert client.get("/docs").headers["location"] == "/docs/"
    assert "Tierscope</strong> documentation" in client.get("/docs/").text
    assert client.get("/docs/howto/simulate.html").status_code == 200
    assert client.get("/docs/none.html").status_code == 404
    assert client.get("/docs/..%2f..%2fetc/passwd").status_code == 404


def test_without_a_site_the_service_says_how_to_build_it(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "docs_dir", lambda: None)
    answer = client.get("/docs/")
    assert answer.status_code == 404
    assert "make docs" in answer.text
