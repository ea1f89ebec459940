"""Bodies of agents, of Prometheus and of OpenTelemetry that are small on the wire and large once they are read."""

import gzip
import io
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import zstandard

from attack.assault import Assault
from factories import batches
from factories.otlp_requests import HEADERS as EXPORT_HEADERS
from factories.otlp_requests import PATH, hostile_exports
from factories.protobuf_bytes import field, number
from factories.remote_writes import HEADERS, named, write_body
from factories.services import batch_headers
from tierscope.core.clock import utc_now
from tierscope.wire._generated import batch_pb2

_MIB = 1 << 20
_WHOLE_BYTES = 8 * _MIB
"""What a batch may have once it is inflated."""
_REFUSED = (400, 413, 415, 422, 429, 503)
_GROUP_BEGINS, _GROUP_ENDS = 3, 4
_SNAPPY_COPY_BYTES = 64
_NOISE = random.Random(7).randbytes(1 << 16)  # noqa: S311 - the same in every run


def attack(assault: Assault) -> None:
    """Each alone, then two and eight at once with one credential, then a body as it should be."""
    host = assault.arena.host
    frames, writes = dict(_frames()), dict(_writes())
    for name, body in assault.some(frames.items(), 8):
        _send_batch(assault, name, body)
    for together in (2, assault.of(8, 4)):
        with ThreadPoolExecutor(together) as pool:
            for _ in range(together):
                pool.submit(_send_batch, assault, f"{together} at once", frames["empty messages"])
    for name, body in assault.some(writes.items(), 6):
        _send_write(assault, name, body)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(assault.of(8, 4)):
            pool.submit(_send_write, assault, "several at once", writes["empty series"])
    exports = {name: gzip.compress(make()) for name, make in hostile_exports().items()}
    for name, body in assault.some(exports.items(), 4):
        _send_export(assault, name, body)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(assault.of(8, 4)):
            pool.submit(_send_export, assault, "several at once", exports["attributes of a scope in each series"])
    good = batches.make_batch(host_id=host.id, stream_id=assault.dice.randbytes(16))
    batches.add_counters(good, [[1, 2, 3]])
    headers = batch_headers(host.credential)
    assault.ask("POST", "/v1/ingest/batches", headers=headers, content=batches.compress(good), expect=(200,))


def _send_batch(assault: Assault, name: str, body: bytes) -> None:
    headers = batch_headers(assault.arena.host.credential)
    assault.ask("POST", "/v1/ingest/batches", headers=headers, content=body, expect=_REFUSED, what=f"batch: {name}")


def _send_write(assault: Assault, name: str, body: bytes) -> None:
    headers = {**HEADERS, **assault.arena.admin}
    assault.ask("POST", "/api/v1/write", headers=headers, content=body, expect=(204, *_REFUSED), what=f"write: {name}")


def _send_export(assault: Assault, name: str, body: bytes) -> None:
    headers = {**EXPORT_HEADERS, **assault.arena.admin, "Content-Encoding": "gzip"}
    assault.ask("POST", PATH, headers=headers, content=body, expect=(200, *_REFUSED), what=f"export: {name}")


def _frames() -> Iterator[tuple[str, bytes]]:
    """Bodies that no batch is."""
    for name, raw in _messages():
        yield name, zstandard.ZstdCompressor(level=3).compress(raw)
    yield from _zstd_frames()


def _messages() -> Iterator[tuple[str, bytes]]:
    """Protobuf that holds more than its bytes tell, or less."""
    places = {item.name: item.number for item in batch_pb2.Batch.DESCRIPTOR.fields}
    yield "empty messages", _repeated(field(places["layouts"], b""))
    for name in ("counters", "heat", "gaps", "tile_epochs", "tile_columns", "page_samples", "strings", "inventory"):
        yield f"empty {name}", _repeated(field(places[name], b""))
    yield "unknown fields", _repeated(number(900 << 3) + b"\x01")
    yield "groups", number(20 << 3 | _GROUP_BEGINS) * (_WHOLE_BYTES // 2)
    yield "groups that end", (number(20 << 3 | _GROUP_BEGINS) + number(20 << 3 | _GROUP_ENDS)) * (_WHOLE_BYTES // 4)
    yield "a length of 2^63", number(places["layouts"] << 3 | 2) + number(1 << 63) + b"x"
    yield "a length that is one too many", number(places["layouts"] << 3 | 2) + number(9) + b"12345678"
    yield "a number without end", b"\x08" + b"\xff" * (_WHOLE_BYTES - 1)
    yield "a number of 11 bytes", b"\x08" + b"\xff" * 10 + b"\x01"
    yield "field 0", b"\x02\x00" * 1000
    yield "reserved wire types", b"\x0e\x0f" * 1000
    yield "packed numbers", field(places["heat"], field(7, b"\x01" * (_WHOLE_BYTES - 64)))
    yield "packed numbers, spread", _repeated(field(places["heat"], field(7, b"\x01" * 100)))
    yield "deep in an inventory", _deep(places["inventory"])
    yield "random bytes", _NOISE
    yield "one large text", field(places["host_id"], b"x" * (_WHOLE_BYTES - 16))
    yield "text that is no UTF-8", field(places["host_id"], b"\xff\xfe" * 100)


def _repeated(part: bytes) -> bytes:
    return part * (_WHOLE_BYTES // len(part))


def _deep(place: int) -> bytes:
    """Messages within messages, as deep as 64 KiB can be."""
    body = b""
    while len(body) < 1 << 16:
        body = field(place, body)
    return body


def _zstd_frames() -> Iterator[tuple[str, bytes]]:
    """Frames that claim or give more than they may."""
    plain = zstandard.ZstdCompressor().compress(b"\x08\x01")
    yield "256 MiB of zeros", _zeros(256)
    yield "9 MiB of zeros", _zeros(9)
    yield "a claim of 2^62 bytes", b"\x28\xb5\x2f\xfd\xe0" + (1 << 62).to_bytes(8, "little") + b"\x01\x00\x00"
    yield "a window of 2 GiB", b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x03\xff\xff\xff" * 100
    yield "a claim of less than there is", _lying(1)
    yield "a claim of more than there is", _lying(_WHOLE_BYTES)
    yield "two frames", plain * 2
    yield "100,000 frames", plain[:14] * 70_000
    yield "skippable frames", b"\x50\x2a\x4d\x18\x00\x00\x00\x00" * 100_000
    yield "a dictionary that nobody has", b"\x28\xb5\x2f\xfd\x03\x01\xff\xff\xff\xff\x01\x00\x00"
    yield "cut off", plain[:-3]
    yield "nothing", b""
    yield "gzip", b"\x1f\x8b\x08\x00" + b"\x00" * 100


def _zeros(mib: int) -> bytes:
    """A frame that does not say what it holds."""
    made = io.BytesIO()
    with zstandard.ZstdCompressor(level=1).stream_writer(made, closefd=False) as writer:
        for _ in range(mib):
            writer.write(bytes(_MIB))
    return made.getvalue()


def _lying(claimed_bytes: int) -> bytes:
    """A frame of 4 MiB whose header claims something else."""
    good = zstandard.ZstdCompressor(level=1).compress(bytes(4 * _MIB))
    parameters = zstandard.get_frame_parameters(good)
    length = (4 * _MIB).to_bytes(4, "little")
    assert parameters.content_size == 4 * _MIB
    return good.replace(length, claimed_bytes.to_bytes(4, "little"), 1)


def _snappy(claimed: int, unit: bytes, copies: int) -> bytes:
    """A literal, and copies of it: each three bytes become 64."""
    literal = bytes([(len(unit) - 1) << 2]) + unit
    copy = bytes([(_SNAPPY_COPY_BYTES - 1) << 2 | 2]) + len(unit).to_bytes(2, "little")
    return number(claimed) + literal + copy * copies


def _writes() -> Iterator[tuple[str, bytes]]:
    """Bodies that no sender of Prometheus sends."""
    at_ms = int(utc_now().timestamp() * 1000)
    empty, copies = b"\x0a\x00", 32 * _MIB // _SNAPPY_COPY_BYTES - 1
    yield "empty series", _snappy(2 + copies * 64, empty, copies)
    yield "empty labels", _snappy(2 + copies * 64, b"\x0a\x02\x0a\x00", copies)
    yield "more than the claim", _snappy(10, empty, 1000)
    yield "less than the claim", _snappy(32 * _MIB, empty, 10)
    yield "a claim of 4 GiB", _snappy((1 << 32) - 1, empty, 100)
    yield "a claim without end", b"\xff" * 20
    yield "170 MiB", _snappy(170 * _MIB, empty, 170 * _MIB // 64)
    yield "copies from before the begin", number(64) + b"\xfe\xff\xff" * 20
    yield "random bytes", _NOISE
    yield "nothing", b""
    one = write_body((named("node_memory_Active_bytes"), [(at_ms, 1.0)]))
    yield "cut off", one[: len(one) // 2]
    yield "labels without end", write_body(({**named("m"), **{f"l{i}": "v" for i in range(20_000)}}, [(at_ms, 1.0)]))
    yield (
        "new series without end",
        write_body(*((named("m", instance=f"h{i}", **{f"k{i}": "v" * 20}), [(at_ms, 1.0)]) for i in range(30_000))),
    )
    yield (
        "values that are none",
        write_body(
            (named("node_vmstat_pgfault"), [(at_ms, float("nan")), (at_ms + 1, float("inf")), (-(1 << 62), 1.0)])
        ),
    )
