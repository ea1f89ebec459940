"""Inflates a zstd body without ever holding more than the cap."""

import io

import zstandard

from tierscope.core.errors import InflatedTooLarge, Unreadable

MAX_WINDOW_BYTES = 8 << 20


UNKNOWN_BYTES = 1 << 64
"""More than any frame declares."""


def declared_bytes(body: bytes) -> int:
    """Returns how many bytes a frame says that it holds; `UNKNOWN_BYTES` where it does not, or is none."""
    try:
        found = zstandard.frame_content_size(body)
    except zstandard.ZstdError:
        return UNKNOWN_BYTES
    return UNKNOWN_BYTES if found < 0 else found


def inflate(body: bytes, *, cap_bytes: int) -> bytes:
    """Returns the content of the one zstd frame that `body` is.

    Memory stays below `cap_bytes` plus one window, whatever the body claims: a frame that declares its size is refused
    before anything is inflated, another one is inflated into a buffer of the cap.

    Raises:
        InflatedTooLarge: the content is larger than `cap_bytes`.
        Unreadable: not zstd, truncated, corrupt, followed by other bytes, or with a window over 8 MiB.
    """
    try:
        parameters = zstandard.get_frame_parameters(body)
    except zstandard.ZstdError as error:
        raise Unreadable("the body is not a zstd frame, or stops within its header") from error
    # In a single segment the window is the content itself, which is capped below.
    single_segment = parameters.window_size == parameters.content_size
    if parameters.window_size > MAX_WINDOW_BYTES and not single_segment:
        raise Unreadable(f"the zstd window is {parameters.window_size} bytes, at most {MAX_WINDOW_BYTES} are accepted")
    declared = parameters.content_size != zstandard.CONTENTSIZE_UNKNOWN
    if declared and parameters.content_size > cap_bytes:
        raise InflatedTooLarge(f"the body declares {parameters.content_size} bytes inflated, the limit is {cap_bytes}")
    try:
        return zstandard.ZstdDecompressor().decompress(
            body, max_output_size=0 if declared else cap_bytes, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        if not declared and _exceeds(body, cap_bytes):
            raise InflatedTooLarge(f"the body is more than {cap_bytes} bytes inflated") from error
        raise Unreadable(f"the zstd frame is truncated or corrupt: {error}") from error


def _exceeds(body: bytes, cap_bytes: int) -> bool:
    """Whether the frame inflates to more than the cap; reads at most one byte beyond it."""
    reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).stream_reader(io.BytesIO(body))
    left = cap_bytes + 1
    try:
        while left > 0:
            part = reader.read(min(left, 1 << 18))
            if not part:
                return False
            left -= len(part)
    except zstandard.ZstdError:
        return False
    return True
