"""What bodies are: of one media type and encoding alone, or files that are written to disk as they come."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
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
        sent, _ = sent_as(request)
        if sent != media_type:
            raise UnsupportedMedia(f"content type {sent[:60]!r}", next_step=f"Send {media_type}.")
        return await request.body()

    return read


def sent_as(request: Request) -> tuple[str, str]:
    """Media type and encoding of a body as the headers say, in small letters; empty where they do not."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media, request.headers.get("content-encoding", "").strip().lower()


def check_sent_as(request: Request, media_type: str, encodings: Collection[str], next_step: str | None = None) -> None:
    """Refuse a body of another media type or encoding.

    Raises:
        UnsupportedMedia: it is one.
    """
    media, encoding = sent_as(request)
    if media != media_type or encoding not in encodings:
        raise UnsupportedMedia(f"content type {media[:60]!r}, encoding {encoding[:60]!r}", next_step=next_step)
