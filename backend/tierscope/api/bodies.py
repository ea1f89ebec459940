"""Bodies that are files: one media type alone."""

from collections.abc import Awaitable, Callable

from fastapi import Request

from tierscope.core.errors import UnsupportedMedia


def read_body(media_type: str) -> Callable[[Request], Awaitable[bytes]]:
    """A dependency that reads a body of this type, within the limit of its route."""

    async def read(request: Request) -> bytes:
        sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if sent != media_type:
            raise UnsupportedMedia(f"content type {sent[:60]!r}", next_step=f"Send {media_type}.")
        return await request.body()

    return read
