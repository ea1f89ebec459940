"""A worker of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from factories.workers import Worker


@pytest.fixture
def worker(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Worker]:
    made = Worker(database_url, redis_url, tmp_path)
    yield made
    made.kill()
