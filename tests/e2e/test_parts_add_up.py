"""Totals of the fleet are the sums of their parts, by host, service and rack, as a reader adds up what pages say."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from e2e.conftest import fetch
from e2e.page_visits import follow, is_settled, watched_context
from fixtures.elsewhere import long

pytestmark = long
SCALES = {"": 1.0, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "$": 1.0}
ROUNDED = 0.01
"""Three digits of each part."""
MOVING = 0.1
"""Rates of the newest hour, which goes on between two pages."""
_COLUMN = """([table, header]) => {
  const words = (node) => node.innerText.replace(/\\s+/g, ' ').trim()
  const rows = [...document.querySelector(table).querySelectorAll('tr')]
  const place = [...rows[0].cells].findIndex((cell) => words(cell) === header)
  return rows.slice(1).map((row) => words(row.cells[place]))
}"""
_STAT = """(label) => {
  const found = [...document.querySelectorAll('[class*=_stat_]')].find((stat) => stat.innerText.startsWith(label))
  return found.querySelector('[class*=_value_]').innerText.replace(/\\s+/g, ' ').trim()
}"""


def number(text: str) -> float | None:
    """What a reader takes from `3.2 TiB`, `10,854` or `+$2,783 $1,625 to $3,804`; None without a number."""
    found = re.match(r"[+]?(-?)\$?([\d,.]+)(?: (MiB|GiB|TiB))?", text.replace("\N{MINUS SIGN}", "-"))
    if found is None:
        return None
    sign, digits, unit = found.groups()
    return float(sign + digits.replace(",", "")) * SCALES[unit or ""]


class Reader:
    """Someone who reads pages and adds up columns."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        page.goto(url)

    def open(self, path: str) -> None:
        """Go to a page and wait for its answers."""
        follow(self.page, path)
        assert is_settled(self.page, "light"), path

    def stat(self, label: str) -> float:
        """The figure beside a label."""
        return number(self.page.evaluate(_STAT, label)) or 0.0

    def column(self, header: str) -> list[float]:
        """The figures of a column of the page's first table."""
        texts: list[str] = self.page.evaluate(_COLUMN, ["table", header])
        assert texts, header
        return [found for text in texts if (found := number(text)) is not None]


@pytest.fixture(scope="module")
def reader(browser: Browser, demo_url: str) -> Iterator[Reader]:
    with watched_context(browser) as context:
        page = context.new_page()
        page.emulate_media(color_scheme="light")
        yield Reader(page, demo_url)


def test_the_fleet_is_the_sum_of_its_hosts(reader: Reader) -> None:
    reader.open("/hosts")
    memory, promoted, demoted = map(reader.column, ("Memory", "Promoted pages/s", "Demoted pages/s"))
    reader.open("/")
    assert reader.stat("Memory") == pytest.approx(sum(memory), rel=ROUNDED)
    assert reader.stat("Promoted") == pytest.approx(sum(promoted), rel=MOVING)
    assert reader.stat("Demoted") == pytest.approx(sum(demoted), rel=MOVING)


def test_the_fleet_is_the_sum_of_its_services(reader: Reader) -> None:
    reader.open("/services")
    cold, saved = reader.column("Cold in DRAM"), reader.column("Net saving a year")
    reader.open("/")
    assert reader.stat("Cold in DRAM") == pytest.approx(sum(cold), rel=ROUNDED)
    told = re.search(r"\$[\d,]+", reader.page.get_by_test_id("reclaimable-cost").inner_text())
    if told is not None and saved:
        assert number(told.group(0)) == pytest.approx(sum(one for one in saved if one > 0), rel=ROUNDED)


def test_the_fleet_is_the_sum_of_its_racks(reader: Reader) -> None:
    tags = fetch(f"{reader.url}/v1/tags")["tags"]
    racks = [tag["value"] for tag in tags if tag["key"] == "rack"]
    parts: dict[str, float] = dict.fromkeys(("Memory", "Hosts reporting", "Hot outside DRAM"), 0.0)
    for rack in racks:
        reader.open(f"/?tags=rack={rack}")
        for label in parts:
            parts[label] += reader.stat(label)
    reader.open("/")
    assert len(racks) > 1
    for label, told in parts.items():
        assert reader.stat(label) == pytest.approx(told, rel=2 * ROUNDED), label
