"""The clock by which requests are counted stands still: no window of a limit ends while a slow machine asks.

Passwords are hashed with little memory: a hash as users get it takes as long as ten requests.
"""

from types import SimpleNamespace

import pytest

from tierscope.usecases.access import password_work
from tierscope.usecases.access.password_work import PasswordWork

_SECONDS = 1_750_000_000.0
_CLOCKS = ("limits.aio.storage.memory.time", "limits.aio.strategies.time", "tierscope.api.base.rate_limits.time")


@pytest.fixture(autouse=True)
def still_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits count within one moment."""
    for name in _CLOCKS:
        monkeypatch.setattr(name, SimpleNamespace(time=lambda: _SECONDS))


@pytest.fixture
def whole_passwords() -> None:
    """Asked for by tests of the parameters that users' passwords are hashed with."""


@pytest.fixture(autouse=True)
def quick_passwords(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Argon2id in one pass over 1 MiB."""
    if "whole_passwords" not in request.fixturenames:
        defaults = PasswordWork.__init__.__kwdefaults__
        assert defaults is not None
        monkeypatch.setattr(password_work, "TIME_COST", 1)
        monkeypatch.setitem(defaults, "memory_kib", 1024)
