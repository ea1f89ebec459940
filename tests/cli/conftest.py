"""A service that commands ask from elsewhere: they know its address and a token, and no database."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from factories.services import running
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.access.tokens import Access


@pytest.fixture
def asked(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database of the service that commands ask as an administrator."""
    monkeypatch.delenv("TIERSCOPE_DATABASE_URL", raising=False)
    for name, value in (("TIERSCOPE_DATA_DIR", tmp_path), ("XDG_CONFIG_HOME", tmp_path)):
        monkeypatch.setenv(name, str(value))
    chosen = Settings.model_validate({"database_url": database_url, "anonymous_reads": False})
    with closing(Database(database_url)) as database, running(chosen) as (_, client):
        token = Access(database).create_api_token(role="admin", note="tests", lifetime=None, actor="test")
        monkeypatch.setenv("TIERSCOPE_URL", str(client.base_url))
        monkeypatch.setenv("TIERSCOPE_TOKEN", token.secret)
        yield database
