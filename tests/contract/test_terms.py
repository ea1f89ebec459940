"""The dashboard and the documentation explain terms in the same words."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_generator() -> ModuleType:
    """The generator, which is a script and not part of a package."""
    with mock.patch.object(sys, "path", [str(ROOT / "contract"), *sys.path]):
        return importlib.import_module("gen_terms")


gen_terms = load_generator()


def test_the_dashboard_and_the_page_of_concepts_are_up_to_date() -> None:
    terms = gen_terms.load()
    page = gen_terms.PAGE.read_text(encoding="utf-8")
    assert gen_terms.DASHBOARD.read_text(encoding="utf-8") == gen_terms.dashboard_text(terms)
    assert page == gen_terms.page_text(terms, page), "run contract/gen_terms.py and commit the result"


@pytest.mark.parametrize("key", list(gen_terms.load()))
def test_a_term_has_a_name_and_one_line(key: str) -> None:
    term = gen_terms.load()[key]
    assert set(term) == {"name", "says"}
    assert term["says"].endswith(".")
    assert "|" not in term["says"]


def test_every_term_of_the_dashboard_is_one_of_the_contract() -> None:
    listed = subprocess.run(
        ["git", "grep", "-hoE", '<Term name="[a-zA-Z]+"', "--", "frontend/src"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    used = {line.split('"')[1] for line in listed if line}
    assert used
    assert used <= set(gen_terms.load())
