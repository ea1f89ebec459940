"""Bodies that are files: one media type, read up to a limit."""

from collections.abc import Awaitable, Callable

from fastapi import Request

from tierscope.core.errors import TooLarge, UnsupportedMedia


def read_body(media_type: str, limit_bytes: int) -> Callable[[Request], Awaitable[bytes]]:
    """A dependency that reads a body of this type and stops as soon as it is over the limit."""

    async def read(request: Request) -> bytes:
        sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if sent != media_type:
            raise UnsupportedMedia(f"content type {sent[:60]!r}", next_step=f"Send {media_type}.")
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > limit_bytes:
                raise TooLarge(f"the body has more than {limit_bytes} bytes")
            parts.append(part)
        return b"".join(parts)

    return read
