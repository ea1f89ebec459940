"""`tierscope recommend PATH`: the advice of services for a recorded trace, which agrees with the simulator."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from architecture.tree import ROOT
from factories.figures import figures, unregistered
from fixtures.elsewhere import long
from tierscope.cli.main import app

TRACES = sorted((ROOT / "tests" / "data" / "page-traces").glob("*.parquet"))
SHARES = (0.2, 0.3, 0.5, 0.7, 0.8, 0.9)
LITTLE_LOSS = 0.01
TARGET = 0.02
POLICY = "hot_page_selection_auto"

RUN = ("--policy", POLICY, "--set", "allocation_demotes=1")
"""What hosts without a slower tier are taken to run once they have one."""


def run(*words: str | float | Path) -> Result:
    """Runs a command without a database."""
    return CliRunner().invoke(app, [str(word) for word in words])


def document(*words: str | float | Path) -> dict[str, Any]:
    """What a command prints as JSON."""
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "trace",
    [pytest.param(path, marks=() if path.stem.startswith("sqlite") else long) for path in TRACES],
    ids=lambda path: path.stem,
)
def test_where_the_simulator_sees_little_loss_the_advice_is_not_all_dram(trace: Path) -> None:
    advice = document("recommend", trace, "--loss-target", TARGET)
    assert advice["placement"]["source"] == f"simulated:{POLICY}"
    runs = {
        share: document("simulate", trace, *RUN, "--dram-share", share)["runs"][0]["loss"]["value"] for share in SHARES
    }
    cheap = [share for share, loss in runs.items() if loss < LITTLE_LOSS]
    assert advice["answer"] in ("ratio", "range", "all_dram"), advice["sentence"]
    if cheap:
        assert advice["answer"] != "all_dram", f"{runs}: {advice['sentence']}"
        assert advice["range"]["plausible_dram_ratio"] <= max(cheap)


def test_the_simulator_sees_little_loss_on_some_recorded_trace() -> None:
    """Else the test above says nothing."""
    (trace,) = (path for path in TRACES if path.stem == "redis-zipf")
    (loss,) = document("simulate", trace, *RUN, "--dram-share", 0.5)["runs"]
    assert loss["loss"]["value"] < LITTLE_LOSS


def test_every_figure_is_known_or_says_why_not_and_steps_need_no_service() -> None:
    (trace,) = (path for path in TRACES if path.stem == "sqlite")
    advice = document("recommend", trace, "--loss-target", TARGET, "--growth", "0.1")
    assert not unregistered(advice)
    told = {path: figure for path, figure in figures(advice) if figure["status"] == "ok"}
    assert all(figure["reason"] for path, figure in figures(advice) if path not in told)
    evidence = {named["metric"]: named["figure"]["value"] for named in advice["evidence"]}
    assert 0 < evidence["hot_bytes_per_host"] <= evidence["required_bytes_per_host"]
    assert advice["grade"] == "early", "an hour and a half of one host"
    assert not [step for step in advice["next_steps"] if "--service" in (step["command"] or "")]
    text = run("recommend", trace, "--loss-target", TARGET)
    assert "What would firm it up" in text.stdout
    assert "MiB" in text.stdout


def test_what_cannot_be_read_or_is_asked_twice_is_named(tmp_path: Path) -> None:
    (wrong := tmp_path / "wrong.parquet").write_bytes(b"no parquet")
    for words, said in (
        ((wrong,), "page trace"),
        ((tmp_path / "none.parquet",), "is no file"),
        ((wrong, "--service", "demo/cache"), "once"),
        ((wrong, "--policy", "oracle"), "no policy"),
        ((), "once"),
    ):
        refused = run("recommend", *words)
        assert refused.exit_code == 2, refused.output
        assert said in refused.output
