"""`tierscope threads`: MEMO's workloads, and what another device makes of them."""

import json
from typing import Any

from typer.testing import CliRunner

from tierscope.cli.main import app


def document(*words: str) -> dict[str, Any]:
    """What the command prints as JSON."""
    done = CliRunner().invoke(app, ["threads", *words, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def gains(found: dict[str, Any]) -> dict[tuple[int, float], float]:
    return {(run["threads"], run["slow_ratio"]): run["gain_ratio"] for run in found["runs"]}


def test_embedding_reduction_gains_from_cxl_where_two_channels_are_full_and_loses_on_eight() -> None:
    two, eight = gains(document("dlrm", "--channels", "2")), gains(document("dlrm"))
    assert two[8, 0.2] < 0.0, "eight threads leave bandwidth to spare"
    assert 0.05 < two[32, 0.2] < 0.25, "MEMO: 11 % at 32 threads with 20 % on CXL"
    assert two[24, 0.2] < two[32, 0.2]
    assert eight[32, 0.0323] < 0.0, "MEMO: with eight channels even 3.23 % costs throughput"


def test_redis_saturates_as_published_and_its_tail_follows_the_load() -> None:
    peaks = {peak["slow_ratio"]: peak for peak in document("redis")["peaks"]}
    assert round(peaks[0.0]["peak_per_s"]) == 80_000
    assert round(peaks[1.0]["peak_per_s"]) == 55_000
    assert abs(peaks[0.5]["peak_per_s"] / 65_000 - 1) < 0.05, "predicted"
    for peak in peaks.values():
        known = [tail["p99_seconds"] for tail in peak["tails"] if tail["p99_seconds"] is not None]
        assert known == sorted(known)
        assert [tail["p99_seconds"] is None for tail in peak["tails"]] == [
            tail["offered_per_s"] >= peak["peak_per_s"] for tail in peak["tails"]
        ]
    at_20k = [peaks[share]["tails"][0]["p99_seconds"] for share in (0.0, 1.0)]
    assert 1.5 < at_20k[1] / at_20k[0] < 3.0, "MEMO: about twice before saturation"


def test_a_faster_device_loses_less_and_what_is_unknown_is_named() -> None:
    near, far = (
        document("redis", "--device", name)["peaks"][-1]["peak_per_s"] for name in ("remote-dram", "cxl-switch")
    )
    assert near > 55_000 > far
    refused = CliRunner().invoke(app, ["threads", "nothing"])
    assert refused.exit_code == 2
    assert "dlrm" in refused.output
    text = CliRunner().invoke(app, ["threads", "dlrm", "--channels", "2"]).stdout
    assert "of accesses on slow memory" in text
    assert "saturated" in CliRunner().invoke(app, ["threads", "redis"]).stdout
