"""Bodies that are files: of one media type alone, or written to disk as they come."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from tierscope.core.errors import UnsupportedMedia


@asynccontextmanager
async def spooled_body(request: Request) -> AsyncIterator[Path]:
    """Yields a file with the body, within the limit of its route; it is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="tierscope-") as folder:
        path = Path(folder) / "body"
        with path.open("wb") as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
        yield path


def read_body(media_type: str) -> Callable[[Request], Awaitable[bytes]]:
    """A dependency that reads a body of this type, within the limit of its route."""

    async def read(request: Request) -> bytes:
        sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if sent != media_type:
            raise UnsupportedMedia(f"content type {sent[:60]!r}", next_step=f"Send {media_type}.")
        return await request.body()

    return read
