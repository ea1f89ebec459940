"""`tierscope rules`: files are tested and checked without a service; shipped rules are tested and explained."""

import json
import re
from pathlib import Path

import pytest
import yaml

from cli.commands import call
from tierscope.usecases.alerts.rules import shipped_rules

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "tests" / "data" / "rules" / "shipped.yaml"


def run(*arguments: str) -> tuple[int, str, str]:
    done = call("rules", *arguments)
    return done.status, done.stdout, done.stderr


def test_the_tests_of_the_shipped_rules_hold_and_cover_each() -> None:
    status, out, _ = run("test", str(SHIPPED), "--json")
    assert (status, json.loads(out)["failures"]) == (0, [])
    tested = {item["rule"] for test in yaml.safe_load(SHIPPED.read_text())["tests"] for item in test["expect"]}
    fired = {
        item["rule"]
        for test in yaml.safe_load(SHIPPED.read_text())["tests"]
        for item in test["expect"]
        if item["state"] == "firing"
    }
    assert tested == fired == {rule.name for rule in shipped_rules()}


def test_each_shipped_rule_is_explained_where_it_says() -> None:
    anchors = set(re.findall(r"^## ([\w-]+)$", (ROOT / "docs" / "alerts.md").read_text(), re.MULTILINE))
    for rule in shipped_rules():
        assert rule.runbook_url == f"https://tierscope.dev/alerts#{rule.name}"
    assert anchors == {rule.name for rule in shipped_rules()}


@pytest.mark.parametrize(
    ("text", "command", "status", "said"),
    [
        ("rules: [{name: a, expression: psi_some_ratio > 5%}]", "check", 0, "a: good"),
        ("rules: [{name: a, expression: psi_some_ratio > 5MB}]", "check", 1, "expression:16"),
        ("rules: [{name: a, expresion: x}]", "check", 2, "rules[0].expresion"),
        ("rules: [{name: a, expression: psi_some_ratio > 5%}]", "test", 2, "list of tests"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, command: str, status: int, said: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    found, out, err = run(command, str(file))
    assert found == status
    assert said in out + err


def test_a_test_that_fails_says_what_was_found(tmp_path: Path) -> None:
    file = tmp_path / "tests.yaml"
    file.write_text(
        "rules: [{name: a, expression: promoted_pages > 1/s}]\n"
        "tests: [{name: t, series: {h: {promoted_pages: 600x3}}, expect: [{rule: a, at: 2m, state: ok}]}]\n"
    )
    status, out, _ = run("test", str(file))
    assert status == 1
    assert "t: a on h at 2m is firing, expected ok" in out


def test_the_shipped_rules_are_printed_in_both_forms() -> None:
    assert len(yaml.safe_load(run("export", "--shipped")[1])["rules"]) == len(shipped_rules())
    assert yaml.safe_load(run("export", "--shipped", "--format", "prometheus")[1])["groups"]
