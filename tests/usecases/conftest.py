"""What many tests of use cases begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from factories.receivers import WebReceiver, web_receiver
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext


@pytest.fixture
def context(database: Database, tmp_path: Path) -> ReadContext:
    return ReadContext(database, utc_now, Settings(data_dir=tmp_path))


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    with web_receiver() as running:
        yield running
