"""A worker outlives its queue."""

from typing import Any

import pytest
from pydantic import SecretStr

from tierscope.core.settings import Settings
from tierscope.worker.app import make_app


@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_connection_that_broke_hinders_nobody_to_go_on(redis_url: str, *, acknowledged: bool) -> None:
    connection: Any = make_app(Settings(_env_file=None, redis_url=SecretStr(redis_url))).connection()
    queue = connection.SimpleQueue("broken-queue")
    queue.put("wake")
    taken = queue.get(timeout=30)
    # As Celery finds it where the server died: the transport and its pools are gone before their channels.
    connection._do_close_transport()
    queue.channel._disconnect_pools()
    if acknowledged:
        taken.ack()
    queue.channel.close()
