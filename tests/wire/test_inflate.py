"""Inflating: bounded, complete, and nothing but one zstd frame."""

import pytest
import zstandard

from tierscope.core.errors import InflatedTooLarge, Unreadable
from tierscope.wire.inflate import inflate

CAP = 100_000


def streamed(data: bytes) -> bytes:
    """A frame that does not declare its size, as a streaming writer makes it."""
    compressor = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize("compress", [zstandard.ZstdCompressor().compress, streamed])
@pytest.mark.parametrize("size", [0, 1, CAP])
def test_a_frame_up_to_the_cap_is_inflated(compress: object, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    assert callable(compress)
    assert inflate(compress(data), cap_bytes=CAP) == data


@pytest.mark.parametrize("compress", [zstandard.ZstdCompressor().compress, streamed])
def test_one_byte_over_the_cap_is_refused(compress: object) -> None:
    assert callable(compress)
    with pytest.raises(InflatedTooLarge):
        inflate(compress(b"x" * (CAP + 1)), cap_bytes=CAP)


def test_a_bomb_is_refused_without_being_inflated() -> None:
    bomb = streamed(b"\0" * (512 << 20))
    assert len(bomb) < CAP
    with pytest.raises(InflatedTooLarge):
        inflate(bomb, cap_bytes=CAP)


def test_a_frame_that_lies_about_its_size_is_unreadable() -> None:
    body = bytearray(zstandard.ZstdCompressor().compress(b"a" * 1000))
    declared = body.index((1000 - 256).to_bytes(2, "little"))
    body[declared : declared + 2] = (10).to_bytes(2, "little")
    with pytest.raises(Unreadable):
        inflate(bytes(body), cap_bytes=CAP)


@pytest.mark.parametrize("compress", [zstandard.ZstdCompressor().compress, streamed])
def test_every_truncation_is_unreadable(compress: object) -> None:
    assert callable(compress)
    body = compress(bytes(range(256)) * 4)
    for length in range(len(body)):
        with pytest.raises(Unreadable):
            inflate(body[:length], cap_bytes=CAP)


def test_bytes_behind_the_frame_are_unreadable() -> None:
    with pytest.raises(Unreadable):
        inflate(zstandard.ZstdCompressor().compress(b"a") + b"x", cap_bytes=CAP)


def test_a_window_over_the_limit_is_unreadable() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    stream = compressor.compressobj()
    body = stream.compress(b"a" * 1000) + stream.flush()
    with pytest.raises(Unreadable, match="window"):
        inflate(body, cap_bytes=CAP)
