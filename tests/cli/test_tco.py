"""`tierscope tco`: costs from a file alone, and exit statuses that scripts can go by."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from factories.spreadsheets import stored_results
from tierscope.cli.main import app

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "half-reused.yaml"


@pytest.fixture(autouse=True)
def no_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing that the command could ask."""
    monkeypatch.delenv("TIERSCOPE_DATABASE_URL", raising=False)
    monkeypatch.setenv("TIERSCOPE_DATA_DIR", str(tmp_path / "nothing"))


def tco(*words: str) -> Result:
    return CliRunner().invoke(app, ["tco", *words])


def changed(tmp_path: Path, before: str, after: str) -> str:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert before in text
    path = tmp_path / "changed.yaml"
    path.write_text(text.replace(before, after), encoding="utf-8")
    return str(path)


def test_the_answer_for_scripts_and_for_people() -> None:
    answered = tco(str(EXAMPLE), "--json", "--draws", "500", "--seed", "5")
    assert answered.exit_code == 0, answered.output
    document = json.loads(answered.stdout)
    assert document["schema"] == "tierscope.tco/1"
    assert document["price_date"] == "2025-12-01"
    assert [option["distribution"]["draws"] for option in document["options"]] == [500] * 3
    again = json.loads(tco(str(EXAMPLE), "--json", "--draws", "500", "--seed", "5").stdout)
    assert again == document
    text = tco(str(EXAMPLE), "--draws", "500", "--seed", "5").stdout
    saving = document["options"][1]["saving"]
    assert saving == document["options"][1]["distribution"]["p50"]
    assert f"{saving:,.0f}" in text
    assert "breaks even at: DDR4 price" in text


def test_a_workbook_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.xlsx"
    done = tco(str(EXAMPLE), "--sheet", str(path), "--draws", "200")
    assert done.exit_code == 0, done.output
    assert stored_results(path.read_bytes()) == []
    assert tco(str(EXAMPLE), "--sheet", str(tmp_path / "none" / "out.xlsx"), "--draws", "200").exit_code == 1
    assert tco(str(EXAMPLE), "--sheet", str(path), "--draws", "50000").exit_code == 2


def test_what_is_missing_ends_with_its_own_status(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    path = tmp_path / "bare.yaml"
    path.write_text(text[: text.index("prices:")] + text[text.index("finance:") :], encoding="utf-8")
    done = tco(str(path), "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["missing"][0]["what"] == "dram price"
    assert "missing: dram price (prices.dram)" in done.stderr
    assert "11 (9 to 14) USD per GiB, 2025-12-01" in done.stderr
    asked = changed(tmp_path, "{kind: number, value: 0.02, low: 0.005, high: 0.06}", "{kind: service, service: a/b}")
    done = tco(asked)
    assert done.exit_code == 3
    assert "there is no database here" in done.stderr


def test_a_scenario_that_cannot_be_read_is_bad_usage(tmp_path: Path) -> None:
    done = tco(changed(tmp_path, "dram_gb: 768", "dram_gb: lots"))
    assert done.exit_code == 2
    assert "baseline.dram_gb: Input should be a valid number" in done.stderr
    done = tco(changed(tmp_path, "date: 2025-12-01", "date: 2025-12-01\n    currency: EUR"))
    assert done.exit_code == 2
    assert "the price is in EUR, the scenario in USD" in done.stderr
    assert tco(str(tmp_path / "none.yaml")).exit_code == 2
    assert tco(changed(tmp_path, "pool_gb: 48", "pool_gb: 4800")).exit_code == 2
