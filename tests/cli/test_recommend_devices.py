"""`tierscope recommend --device`: devices ranked by their loss, and what a GB of each is worth."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fixtures.page_traces import TRACES
from tierscope.cli.main import app

TRACE = str(TRACES / "sqlite.miss.parquet")
pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")


def run(*words: str) -> Result:
    """Runs a command without a database."""
    return CliRunner().invoke(app, list(words))


def test_devices_are_ranked_with_what_a_gb_of_each_is_worth(tmp_path: Path) -> None:
    bid = tmp_path / "bid.toml"
    bid.write_text("idle_ns = 260\nusd_per_gb = 7.5\n")
    words = ["recommend", TRACE, "--at", "2:1"]
    for device in ("cxl-switch", str(bid), "remote-dram"):
        words += ["--device", device]
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    ranked: list[dict[str, Any]] = json.loads(done.stdout)["devices"]
    assert [one["device"]["name"] for one in ranked] == ["remote-dram", "bid", "cxl-switch"]
    losses = []
    for one in ranked:
        (candidate,) = (item for item in one["answer"]["candidates"] if item["name"] == "2:1")
        losses.append(candidate["loss_median"]["value"])
    assert losses == sorted(losses)
    assert losses[-1] > 1.5 * losses[0]
    worth = [one["worth_usd_per_gb"] for one in ranked]
    hosts = 1 / (1 - losses[-1]) - 1 / (1 - losses[0])
    assert worth[0] == pytest.approx(hosts * 20_000 / (768 / 3))
    assert worth[-1] == 0.0
    text = run(*words).stdout
    assert f"remote-dram is worth ${worth[0]:,.2f} a GiB more, where one more host of 768 GiB" in text.splitlines()[0]
    assert "$7.50" in text
    assert "cxl-fpga" in run("recommend", "--device", "list").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--device", "nothing"), "no device 'nothing'"),
        (("--device", "pmem", "--at", "3:7"), "is no ratio"),
        (("--device", TRACE), "sqlite.miss.parquet"),
    ],
)
def test_what_is_no_device_is_named(words: tuple[str, ...], said: str) -> None:
    refused = run("recommend", TRACE, *words)
    assert refused.exit_code == 2, refused.output
    assert said in refused.output


def test_the_simulator_takes_the_same_devices() -> None:
    def loss(*words: str) -> float:
        done = run(
            "simulate",
            "workload:cache2",
            "--pages",
            "4000",
            "-p",
            "first_touch",
            "--dram-share",
            "0.6",
            *words,
            "--json",
        )
        assert done.exit_code == 0, done.output
        return float(json.loads(done.stdout)["runs"][0]["loss"]["value"])

    usual = loss()
    assert loss("--device", "remote-dram") < usual < loss("--device", "cxl-switch")
    assert loss("--set", "slow_latency_ns=3000") > loss("--set", "slow_latency_ns=300") > usual
