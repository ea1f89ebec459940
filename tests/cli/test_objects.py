"""`tierscope objects`: what is in the store, in words and as JSON."""

import json
import os

import pytest

from cli.commands import call

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def test_the_status_of_an_installation_without_objects(database_url: str) -> None:
    env = os.environ | {"TIERSCOPE_DATABASE_URL": database_url, "TIERSCOPE_CONFIG": "/nonexistent"}
    told = call("objects", "status", "--json", env=env)
    assert (told.status, json.loads(told.stdout)) == (0, {"store": "database", "stored": 0, "size_bytes": 0, "due": 0})
    said = call("objects", "status", env=env)
    assert said.stdout == "0 objects (0 B) in the store, 0 to be deleted; new ones go to database\n"
