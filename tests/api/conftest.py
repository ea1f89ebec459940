"""The clock by which requests are counted stands still: no window of a limit ends while a slow machine asks."""

from types import SimpleNamespace

import pytest

_SECONDS = 1_750_000_000.0
_CLOCKS = ("limits.aio.storage.memory.time", "limits.aio.strategies.time", "tierscope.api.base.rate_limits.time")


@pytest.fixture(autouse=True)
def still_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits count within one moment."""
    for name in _CLOCKS:
        monkeypatch.setattr(name, SimpleNamespace(time=lambda: _SECONDS))
