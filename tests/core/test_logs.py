"""Logs: what went wrong and where, never the values that were at hand."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from tierscope.core.logs import configure_logging
from tierscope.core.settings import Settings


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


@pytest.mark.parametrize("as_json", [False, True])
def test_a_traceback_names_the_place_and_no_local_values(*, as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Settings(_env_file=None, log_json=as_json))
    password = "".join(["hunter", "2"])  # noqa: FLY002 - the line itself is in the traceback
    try:
        int(f"x{len(password)}y")
    except ValueError:
        structlog.get_logger("test").exception("it broke", subject=7)
    written = capsys.readouterr().err
    assert "it broke" in written
    assert "test_a_traceback_names_the_place" in written
    assert "ValueError" in written
    assert password not in written
