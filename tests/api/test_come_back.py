"""Whoever is sent away for a while is told for how long."""

import pytest

from tierscope.api.base.problems import problem_response
from tierscope.core.errors import TierscopeError, all_errors

AWAY = [error for error in all_errors() if error.status in (429, 503)]


def make(error: type[TierscopeError], retry_after_seconds: int | None) -> TierscopeError:
    """An error of this kind, whatever else its own constructor takes."""
    made = error.__new__(error)
    TierscopeError.__init__(made, "cause", retry_after_seconds=retry_after_seconds)
    return made


@pytest.mark.parametrize("error", AWAY)
def test_every_429_and_503_says_when_to_come_back(error: type[TierscopeError]) -> None:
    assert int(problem_response(make(error, None)).headers["Retry-After"]) > 0
    assert problem_response(make(error, 9)).headers["Retry-After"] == "9"


def test_other_errors_do_not_ask_for_a_repeat() -> None:
    assert "Retry-After" not in problem_response(TierscopeError("cause")).headers
