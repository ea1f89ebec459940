"""Cases that are left to another verb: each is run by exactly one, and by hand without more ado."""

import pytest

pytest_plugins = ["pytester"]
CASES = """
import pytest
from fixtures.elsewhere import long

def test_short(): pass

@long
def test_long(): pass

@pytest.mark.elsewhere("make faults")
def test_fault(): pass
"""


@pytest.fixture
def cases(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a case of each kind."""
    pytester.makeini("[pytest]\nmarkers = elsewhere: another verb runs it\n")
    pytester.makepyfile(test_cases=CASES)
    return pytester


@pytest.mark.parametrize(
    ("words", "ran", "left"),
    [
        ((), 1, 2),
        (("--long",), 1, 0),
        (("--elsewhere",), 3, 0),
        (("test_cases.py",), 2, 1),
        (("test_cases.py::test_fault",), 1, 0),
    ],
    ids=["all", "long", "elsewhere", "file", "name"],
)
def test_each_case_is_run_by_its_verb_or_by_name(
    cases: pytest.Pytester, words: tuple[str, ...], ran: int, left: int
) -> None:
    done = cases.runpytest_inprocess("-p", "fixtures.elsewhere", "-p", "no:cacheprovider", *words)
    found = done.parseoutcomes()
    assert (found.get("passed", 0), found.get("skipped", 0)) == (ran, left)


def test_a_case_that_no_verb_runs_is_refused(cases: pytest.Pytester) -> None:
    cases.makepyfile(test_lost="import pytest\n@pytest.mark.elsewhere('make test-log')\ndef test_a(): pass\n")
    done = cases.runpytest_inprocess("-p", "fixtures.elsewhere", "-p", "no:cacheprovider")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "no verb that runs cases is called `make test-log`" in done.stderr.str() + done.stdout.str()
