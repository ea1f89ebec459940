"""Expressions that explode in engines that go back, wherever somebody may write one."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from attack import application
from attack.arena import LONG_NAME
from attack.assault import Assault
from attack.worker_tasks import wake
from factories.waiting import until

PATTERNS = (
    "(x|x)*b",
    "(x+x+)+y",
    "((x*)*)*z",
    "(x|xx)+$b",
    "(.*)*(.*)*(.*)*b",
    "(x?){28}x{28}b",
    "(?:x{1,900}){1,900}b",
    "((((x{1,30}){1,30}){1,30}){1,30})",
    "(x)\\1{500}b",
    "(?=x)x*b",
    "(?i)" * 100 + "x",
    "(" * 240 + "x" + ")" * 240,
    "[x-" * 100,
    "\\pL" * 160 + "b",
    ".*" * 240 + "b",
)
CONDITIONS = (
    "(" * 900 + "1" + ")" * 900,
    "not " * 480 + "promoted_pages > 1",
    "-" * 1900 + "1 > 0",
    "promoted_pages > " + "9" * 1900,
    "promoted_pages > 1e" + "9" * 300,
    "avg(promoted_pages, 99999999999d) > 1",
    " and ".join(["promoted_pages > 1/s"] * 80),
    "promoted_pages" + "*promoted_pages" * 130 + " > 1",
    "promoted_pages > 1/s" + "/s" * 800,
    "\x00" * 100,
    "(((" * 600,
    "promoted_pages ^ " * 100 + "1",
)
_REFUSED = (400, 413, 422)
_TAKEN = (200, 201, *_REFUSED)


def rule(name: str, pattern: str, condition: str = "promoted_pages > 1/s") -> dict[str, Any]:
    """A rule about the hosts whose name or service meets a pattern."""
    labels = [{"name": name, "op": op, "value": pattern} for name, op in (("host", "=~"), ("service", "!~"))]
    return {"name": name, "expression": condition, "scope": {"labels": labels}}


def attack(assault: Assault) -> None:
    """Everywhere that takes one."""
    patterns = assault.some(PATTERNS, 4)
    for pattern in patterns:
        _judge(assault, pattern)
        _silence(assault, pattern)
        _route(assault, pattern)
    for condition in assault.some(CONDITIONS, 4):
        _conditions(assault, condition)
    _import(assault, patterns)
    _queries(assault, patterns)
    _live(assault, patterns)


def _judge(assault: Assault, pattern: str) -> None:
    """By anybody: a rule is tried on what is stored."""
    for condition in ("promoted_pages > 1/s", "promoted_pages >= 0/s"):
        body = {"rule": rule("bomb", pattern, condition), "from": "-3h", "to": "now"}
        assault.ask("POST", "/v1/rules/backtest", json=body, expect=_TAKEN, what=f"backtest of {pattern[:40]}")
        assault.ask("POST", "/v1/rules/check", json={"rule": body["rule"]}, expect=_TAKEN)


def _conditions(assault: Assault, condition: str) -> None:
    for body in (rule("bomb", "x+", condition), {**rule("bomb", "x+"), "recovery_expression": condition}):
        said = f"a condition of {condition[:30]!r}..."
        assault.ask("POST", "/v1/rules/check", json={"rule": body}, expect=_TAKEN, what=said)
        assault.ask("POST", "/v1/rules/backtest", json={"rule": body, "from": "-1h"}, expect=_TAKEN, what=said)


def _silence(assault: Assault, pattern: str) -> None:
    matchers = [{"name": name, "op": "=~", "value": pattern} for name in ("host", "service", "alertname")]
    made = assault.ask(
        "POST",
        "/v1/silences",
        headers=assault.arena.admin,
        json={"matchers": matchers, "ends_at": "2099-01-01T00:00:00Z"},
        expect=_TAKEN,
    )
    assault.ask("GET", "/v1/silences", headers=assault.arena.admin, expect=(200,))
    if made is not None and made.status_code == 201:
        assault.ask("POST", f"/v1/silences/{made.json()['id']}/expire", headers=assault.arena.admin, expect=(200,))


def _route(assault: Assault, pattern: str) -> None:
    receiver = {"name": "r", "kind": "webhook", "settings": {"url": "https://alerts.invalid/x"}}
    matcher = {"name": "host", "op": "=~", "value": pattern}
    leaf: dict[str, Any] = {"matchers": [matcher], "receiver": "r"}
    deep = leaf
    for _ in range(80):
        deep = {"routes": [deep], "matchers": [matcher]}
    inhibition = {"source_matchers": [matcher], "target_matchers": [matcher], "equal": ["host"]}
    for routes in ([leaf], [leaf] * 400, [deep]):
        body = {"receivers": [receiver], "routes": routes, "inhibitions": [inhibition]}
        assault.ask("PUT", "/v1/alert-routes", headers=assault.arena.admin, json=body, expect=_TAKEN)
    tried = {"receiver": "r"}
    assault.ask("POST", "/v1/alert-routes/test", headers=assault.arena.admin, json=tried, expect=(200, 404, 422))
    assault.ask("PUT", "/v1/alert-routes", headers=assault.arena.admin, json={}, expect=(200,))


def _import(assault: Assault, patterns: list[str]) -> None:
    """Rules in files, and files that are larger than they look."""
    for pattern in patterns:
        quoted = json.dumps(pattern)
        text = (
            "groups:\n- name: g\n  rules:\n  - name: bomb\n    expression: promoted_pages > 1/s\n"
            f"    scope: {{labels: [{{name: host, op: '=~', value: {quoted}}}]}}\n"
        )
        assault.ask("POST", "/v1/rules/import", headers=assault.arena.admin, json={"yaml": text}, expect=_TAKEN)
    for rule_id in _rules_named(assault, "bomb"):
        assault.ask("DELETE", f"/v1/rules/{rule_id}", headers=assault.arena.admin, expect=(204,))


def _rules_named(assault: Assault, name: str) -> Iterator[str]:
    listed = assault.ask("GET", "/v1/rules", headers=assault.arena.admin, expect=(200,))
    for item in listed.json()["items"] if listed is not None else ():
        if item["name"].startswith(name):
            yield item["id"]


def _queries(assault: Assault, patterns: list[str]) -> None:
    """Filters, selectors and searches: every query parameter that takes a text."""
    for path, name in assault.some(_texts(), 12):
        for pattern in assault.some(patterns, 1):
            for value in (pattern, f'{{instance=~"{pattern}"}}', f"host=~{pattern}"):
                assault.ask("GET", f"{path}?{urlencode({name: value})}", headers=assault.arena.admin)


def _texts() -> Iterator[tuple[str, str]]:
    """Path and name of each query parameter of each list."""
    for path, methods in application.document()["paths"].items():
        if "get" in methods and "{" not in path:
            for parameter in methods["get"].get("parameters", []):
                if parameter["in"] == "query":
                    yield path, parameter["name"]


def _live(assault: Assault, patterns: list[str]) -> None:
    """Stored rules, which the worker judges; `LONG_NAME` is a host's name for them to be tried on."""
    assert LONG_NAME
    made = []
    for number, pattern in enumerate(patterns):
        stored = {**rule("host", pattern), "name": f"live {number}"}
        answer = assault.ask("POST", "/v1/rules", headers=assault.arena.admin, json=stored, expect=_TAKEN)
        if answer is not None and answer.status_code == 201:
            made.append(answer.json()["id"])
    for failure in wake(assault.arena, "alerts.evaluate", "notifications.deliver"):
        assault.found(failure)
    if made and not assault.small:
        until(lambda: _judged(assault, made[-1]), "the worker judges a minute", log=assault.arena.worker.log)
    for rule_id in made:
        assault.ask("DELETE", f"/v1/rules/{rule_id}", headers=assault.arena.admin, expect=(204,))


def _judged(assault: Assault, rule_id: str) -> bool:
    answer = assault.ask("GET", f"/v1/rules/{rule_id}", expect=(200,))
    return answer is not None and answer.json()["evaluated_to"] is not None
