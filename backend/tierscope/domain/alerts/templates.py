"""Texts of alerts: `{{ placeholder }}` and nothing else, so that no text of a host can do anything."""

import re
from collections.abc import Mapping

from tierscope.domain.alerts.problems import RuleProblem

PLACEHOLDERS = ("value", "threshold", "subject", "subject_kind", "rule", "severity")
_PLACE = re.compile(r"\{\{\s*([A-Za-z0-9_.\-]*)\s*\}\}")
_LABEL = "labels."
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
MAX_TEXT = 4000
_MAX_VALUE = 200


def check_template(text: str, field: str) -> list[RuleProblem]:
    """What is wrong with a text."""
    problems = []
    if len(text) > MAX_TEXT:
        problems.append(RuleProblem(field, f"A text has at most {MAX_TEXT} characters.", "Move it to the runbook."))
    for found in _PLACE.finditer(text):
        if found[1] not in PLACEHOLDERS and not found[1].startswith(_LABEL):
            message = f"There is no placeholder `{found[1]}`."
            known = ", ".join((*PLACEHOLDERS, "labels.<name>"))
            problems.append(RuleProblem(f"{field}:{found.start() + 1}", message, f"Use one of {known}."))
    rest = _PLACE.sub("", text)
    if "{{" in rest or "{%" in rest:
        message = "Only simple placeholders such as {{ value }} are understood."
        problems.append(RuleProblem(field, message, "Take out what is not a placeholder."))
    return problems


def fill(text: str, values: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The text with its placeholders filled; a label that is not there is empty. Values stay plain text."""

    def replaced(found: re.Match[str]) -> str:
        name = found[1]
        value = labels.get(name[len(_LABEL) :], "") if name.startswith(_LABEL) else values.get(name, "")
        return _UNPRINTABLE.sub("", value)[:_MAX_VALUE]

    return _PLACE.sub(replaced, text)
