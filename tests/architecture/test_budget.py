"""The house does not grow unseen: lines by language, kind and district are within a budget that gives its reasons."""

from pathlib import Path

import pytest

from architecture.budget import BUDGET, district, excesses, read_budget, render, split, sums


def test_no_district_is_over_its_budget() -> None:
    over = excesses(sums(), read_budget(BUDGET.read_text(encoding="utf-8")))
    assert over == [], 'remove lines, or add to the number in budget.toml with the reason: [5000, "+120: why"]'


def test_a_budget_is_raised_with_a_reason_alone() -> None:
    written = render({("rust", "source", "heat"): 100, ("python", "lab", "bench"): 7})
    assert read_budget(written) == {("rust", "source", "heat"): 100, ("python", "lab", "bench"): 7}
    raised = written.replace("[100]", '[100, "+20: uffd on ARM", "+3: its refusals"]')
    assert read_budget(raised)["rust", "source", "heat"] == 123
    with pytest.raises(ValueError, match=r"rust\.source\.heat"):
        read_budget(written.replace("[100]", '[100, "+20"]'))


def test_a_district_over_its_budget_or_without_one_is_named() -> None:
    lines = {("python", "source", "heat"): 11, ("python", "source", "tco"): 10, ("rust", "tests", "new"): 1}
    assert excesses(lines, {("python", "source", "heat"): 10, ("python", "source", "tco"): 10}) == [
        "python.source.heat: 11 lines, at most 10",
        "rust.tests.new: 1 lines, at most 0",
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("backend/tierscope/domain/heat/packs.py", "heat"),
        ("backend/tierscope/core/mail.py", "core"),
        ("backend/tierscope/core/embedded/process.py", "core"),
        ("backend/simcore/engine/src/run.rs", "simcore-engine"),
        ("backend/simcore/src/lib.rs", "simcore"),
        ("backend/tierscope_client/tables.py", "tierscope_client"),
        ("collector-agent/crates/heat/src/dump.rs", "heat"),
        ("frontend/src/pages/hosts/HostsTable.tsx", "pages"),
        ("lab/bench/fold.py", "bench"),
        ("conftest.py", "conftest"),
    ],
)
def test_a_file_belongs_to_one_district(path: str, expected: str) -> None:
    assert district(Path(path)) == expected


def test_blank_lines_do_not_count_and_tests_at_the_end_of_a_rust_file_are_tests() -> None:
    text = "fn a() {}\n\n#[cfg(test)]\n#[allow(clippy::unwrap_used)]\nmod tests {\n\n}\n"
    assert split(Path("collector-agent/crates/heat/src/a.rs"), text) == {"source": 1, "tests": 4}
    assert split(Path("collector-agent/crates/heat/tests/a.rs"), text) == {"tests": 5}
    assert split(Path("lab/bench/a.py"), "a\n") == {"lab": 1}
    assert split(Path("frontend/src/ui/a.spec.ts"), "a\n") == {"tests": 1}
