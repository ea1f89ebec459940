"""A chart is handed out as PNG, CSV and Parquet, a table as CSV and Parquet, each with what its reader must know."""

import csv
import json
from pathlib import Path

from playwright.sync_api import Page, expect
from pyarrow import parquet

from e2e.test_demo_pages import open_page
from fixtures.elsewhere import long
from tierscope.cli.instance.fleet import HOSTS

pytestmark = long

PNG = b"\x89PNG\r\n\x1a\n"


def download(page: Page, label: str, kind: str, directory: Path) -> Path:
    """The file that a download menu hands out."""
    page.get_by_role("button", name=f"Download {label}", exact=True).first.click()
    with page.expect_download() as found:
        page.get_by_role("menuitem", name=kind, exact=True).click()
    path = directory / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_a_chart_is_handed_out_in_three_forms(page: Page, demo_url: str, tmp_path: Path) -> None:
    open_page(page, demo_url, "page-fleet")
    expect(page.get_by_test_id("chart-fleet-moves").locator(".js-plotly-plot")).to_be_visible()
    label = "Tier moves of all hosts over time"
    image = download(page, label, "PNG", tmp_path)
    assert image.name.endswith("-simulated.png")
    assert image.read_bytes().startswith(PNG)
    with download(page, label, "CSV", tmp_path).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    table = parquet.read_table(download(page, label, "Parquet", tmp_path))
    assert table.column_names == header
    assert table.num_rows == len(rows) > 0
    assert str(table.schema.field("time (UTC)").type).startswith("timestamp")
    assert str(table.schema.field(1).type) == "double"
    facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    assert facts["origin"] == "simulated"
    assert facts["title"] == label
    assert json.loads(facts["units"])["time (UTC)"] == "UTC"


def test_a_table_is_handed_out_with_unrounded_values(page: Page, demo_url: str, tmp_path: Path) -> None:
    open_page(page, f"{demo_url}/hosts", "page-hosts")
    expect(page.get_by_role("region", name="Hosts").locator("tbody tr")).to_have_count(HOSTS)
    table = parquet.read_table(download(page, "Hosts", "Parquet", tmp_path))
    assert table.num_rows == HOSTS
    assert str(table.schema.field("Memory (bytes)").type) == "double"
    assert all(memory > 2**30 for memory in table.column("Memory (bytes)").to_pylist())
