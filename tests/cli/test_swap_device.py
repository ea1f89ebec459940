"""`tierscope swap-device`: the table, the document, and its errors."""

import json

import pytest
from typer.testing import CliRunner

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

from tierscope.cli.main import app

SMALL = ["--set", "slots=8192", "--set", "dies=4", "--set", "slots_per_page=8", "--set", "write_buffer_slots=256"]


def run(*words: str, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["swap-device", *SMALL, *words])
    assert done.exit_code == status, done.output
    return done.output


def test_devices_are_compared_at_every_use() -> None:
    found = json.loads(
        run("-d", "zns", "-d", "zram", "-u", "0.4", "-u", "0.8", "-l", "read_only", "-l", "mixed", "--json")
    )
    assert found["schema"] == "tierscope.swap-device/1"
    assert found["simulated"] is True
    assert [(point["device"], point["utilisation"]) for point in found["points"]] == [
        ("zns", 0.4),
        ("zns", 0.8),
        ("zram", 0.4),
        ("zram", 0.8),
    ]
    first = found["points"][0]
    assert len(first["tenants"]) == 2
    assert first["write_amplification"]["lo"] <= first["write_amplification"]["value"]
    assert found["points"][2]["write_amplification"] is None
    assert found["settings"]["slots"] == 8192


def test_people_get_a_table_with_intervals() -> None:
    lines = run("-d", "block_trim_coarse", "-u", "0.7", "--store-ratio", "0.2").splitlines()
    assert lines[0].startswith("Simulated: mixed; mean of 3 seeds")
    assert "[" in lines[3]


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["-d", "tape"], "there is no swap device tape"),
        (["-l", "idle"], "there is no load idle"),
        (["-u", "1.5"], "a utilisation is above 0 and at most 1"),
        (["--set", "slots"], "write --set key=value"),
        (["-u", "0.1"] * 40 + ["--seeds", "9"], "are 720 runs"),
    ],
)
def test_errors_name_the_cause(words: list[str], cause: str) -> None:
    assert cause in run(*words, status=2)
