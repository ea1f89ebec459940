"""The shipped alert rules before recordings: what fires, and that the documentation has the counts."""

from pathlib import Path

import pytest
import yaml

from corpus.__main__ import KEPT
from corpus.alerts import Fired, describe_alerts, read_recording, watch
from corpus.packing import unpack
from fixtures.elsewhere import long
from tierscope.domain.alerts.machine import LEVEL_NAMES
from tierscope.domain.alerts.rule_tests import judge, read_tests
from tierscope.domain.alerts.rules import require_rule
from tierscope.usecases.alerts.rules import shipped_rules

ROOT = Path(__file__).resolve().parents[2]
FIRING = LEVEL_NAMES.index("firing")


def fired(name: str) -> dict[str, Fired]:
    rules = [rule for rule in shipped_rules() if rule.scope.kind == "host"]
    return {one.rule: one for one in watch(read_recording(unpack(KEPT / f"{name}.tar.zst"), name), rules)}


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("6.12-hmat-small-swapping-fast", {"swap-pressure"}),
        ("6.12-hmat-small-moves-slower-fast", set()),
        ("7.2-hmat-small-two-acts-default", set()),
    ],
)
def test_a_recording_raises_what_calls_for_somebody(name: str, rules: set[str]) -> None:
    found = fired(name)
    assert rules <= set(found)
    assert all(one.is_right for one in found.values())


@long
def test_the_documentation_has_the_counts() -> None:
    text = (ROOT / "docs" / "method" / "alerts.md").read_text(encoding="utf-8")
    assert describe_alerts(KEPT) in text


def test_no_rule_fires_for_want_of_an_input() -> None:
    """Without a series a rule may fire later or not at all, but not where it did not with all of them."""
    tests = read_tests(yaml.safe_load((ROOT / "tests/data/rules/shipped.yaml").read_text(encoding="utf-8"))["tests"])
    for rule in shipped_rules():
        checked = require_rule(rule)
        for test in tests:
            for subject, series in test.series.items():
                whole = bool((judge(checked, {subject: series})[0] == FIRING).any())
                for gone in series.keys() & checked.inputs:
                    kept = {name: values for name, values in series.items() if name != gone}
                    fires = bool(kept) and bool((judge(checked, {subject: kept})[0] == FIRING).any())
                    assert whole or not fires, (rule.name, test.name, gone)
