"""Every machine of the table gets the answer that its documents make right, and the page shows those answers."""

from collections.abc import Mapping
from functools import cache

import pytest

from machines.asking import Answers, ask, mistakes
from machines.document import PAGE, render
from machines.right import Kind
from machines.table import SECTIONS
from tierscope.cli.base.source_tree import find_agent

pytestmark = pytest.mark.skipif(find_agent() is None, reason="the agent's program is not built: run `make agent`")

KINDS: Mapping[str, Kind] = {kind.name: kind for kinds in SECTIONS.values() for kind in kinds}


@cache
def _asked(name: str) -> Answers:
    program = find_agent()
    assert program is not None
    return ask(program, KINDS[name])


@pytest.mark.parametrize("name", KINDS)
def test_a_machine_is_answered_as_its_documents_say(name: str) -> None:
    assert mistakes(KINDS[name].right, _asked(name)) == []


def test_machines_have_names_of_their_own() -> None:
    assert len(KINDS) == sum(len(kinds) for kinds in SECTIONS.values())


def test_the_page_shows_these_answers() -> None:
    asked = {title: [(kind, _asked(kind.name)) for kind in kinds] for title, kinds in SECTIONS.items()}
    assert PAGE.read_text(encoding="utf-8") == render(asked), "run `PYTHONPATH=tests .venv/bin/python -m machines`"


def test_advice_to_tier_is_given_over_slower_memory_alone() -> None:
    for name in KINDS:
        answers = _asked(name)
        slower = {node["tier_class"] for node in answers.nodes} & {"cxl", "pmem"}
        advice = [finding["fix"] for finding in answers.doctor["findings"]]
        assert slower or not any("`echo 1 > /sys/kernel/mm/numa" in fix for fix in advice), name
