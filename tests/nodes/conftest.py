"""A fleet of several database servers: `n1`, or the `SERVERS` that a module names."""

from collections.abc import Iterator

import pytest

from factories.node_fleets import several_servers
from fixtures.servers import Template
from tierscope.core.database import Database


@pytest.fixture
def fleet(request: pytest.FixtureRequest, template: Template, storage_mode: str) -> Iterator[Database]:
    with several_servers(template, storage_mode, *getattr(request.module, "SERVERS", ("n1",))) as database:
        yield database
