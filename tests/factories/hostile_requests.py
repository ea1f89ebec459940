"""Requests that are small on the wire, or within their limit, and ask for much: what each is, and how it is sent."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import zstandard

from factories import batches
from factories.otlp_requests import HEADERS as EXPORT_HEADERS
from factories.otlp_requests import PATH, hostile_exports
from factories.protobuf_bytes import field, number
from factories.remote_writes import HEADERS, HEADERS_V2
from factories.services import batch_headers

MIB = 1 << 20
_INFLATED_BYTES = 8 * MIB
_COPY_BYTES = 64
"""The most that a copy of Snappy's block format is of."""
_LITERAL_BYTES, _LITERAL_OF_A_BYTE = 256, 60 << 2
"""The most that a literal is of whose length is one byte, and the tag of such a one."""
_STRINGS, _INVENTORY, _HEAT, _PAGE_SAMPLES = 10, 11, 14, 19
_BINARY = {"Content-Type": "application/octet-stream"}
Content = bytes | Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Hostile:
    """A request. `quick`: a test sends it too; `at_once`: so many of them side by side."""

    name: str
    path: str
    content: Callable[[], Content]
    headers: dict[str, str]
    quick: bool = True
    at_once: int = 1


def hostile_requests(*, host_id: str, credential: str, token: str) -> list[Hostile]:
    operator = {"Authorization": f"Bearer {token}"}
    return [
        *_batches(host_id, batch_headers(credential)),
        *_samples(operator | HEADERS),
        *_exports(operator | EXPORT_HEADERS | {"Content-Encoding": "gzip"}),
        *_documents(operator),
        *_files(operator),
    ]


def _batches(host_id: str, headers: dict[str, str]) -> Iterator[Hostile]:
    head = batches.make_batch(host_id=host_id).SerializeToString()

    def batch(name: str, content: Callable[[], bytes], *, at_once: int = 1, quick: bool = True) -> Hostile:
        def body() -> bytes:
            return zstandard.ZstdCompressor().compress((head + content())[:_INFLATED_BYTES])

        return Hostile(f"batch: {name}", "/v1/ingest/batches", body, headers, quick=quick, at_once=at_once)

    empty = field(_HEAT, b"")
    yield batch("4 M empty messages", lambda: empty * (4 * MIB))
    yield batch("4 M empty messages, two at once", lambda: empty * (4 * MIB), at_once=2)
    yield batch("4 M empty texts", lambda: field(_STRINGS, b"") * (4 * MIB))
    yield batch("a packed column of 8 M", lambda: field(_HEAT, field(4, b"\1" * (8_000_000))))
    yield batch("a packed column as long as one may be", lambda: field(_HEAT, field(4, b"\1" * MIB)))
    yield batch("as many texts as may be, of the longest", lambda: field(_STRINGS, "é".encode() * 60) * 65_000)
    knob = field(1, b"k" * 400) + field(2, b"v" * 1000)
    yield batch("an inventory as large as may be", lambda: field(_INVENTORY, field(12, knob) * 4096))
    figure = field(4, field(1, b"x"))
    yield batch("measurements as many as may be", lambda: field(_INVENTORY, field(21, figure * 15) * 1000))
    for name, made in (("counters", _counters), ("heat", _heat), ("page samples", _page_samples)):
        whole = made(host_id)
        body = zstandard.ZstdCompressor().compress(whole)
        yield Hostile(f"batch: as many {name} as may be", "/v1/ingest/batches", lambda body=body: body, headers)  # type: ignore[misc]
    bomb = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    yield Hostile(
        "batch: 512 MiB of zeros",
        "/v1/ingest/batches",
        lambda: b"".join([*(bomb.compress(bytes(MIB)) for _ in range(512)), bomb.flush()]),
        headers,
        quick=False,
    )


def _counters(host_id: str) -> bytes:
    batch = batches.make_batch(host_id=host_id)
    keys = [f"host|vmstat|c{place:04}" for place in range(4096)]
    batches.add_layout(batch, keys)
    rows = 240
    values = np.arange(rows * len(keys), dtype="<i8")
    ends = [batch.sealed_wall_ns - place * batches.MINUTE_NS for place in reversed(range(rows))]
    batch.counters.add(layout_hash=batches.layout_hash(keys), end_wall_ns=ends, values=values.tobytes())
    return batch.SerializeToString()


def _heat(host_id: str) -> bytes:
    batch = batches.make_batch(host_id=host_id)
    ends = [batch.sealed_wall_ns - place * batches.MINUTE_NS for place in range(100)]
    for end in ends:
        batches.add_heat(batch, services=[f"demo/s{place}" for place in range(199)], ends_ns=[end] * 199)
    return batch.SerializeToString()


def _page_samples(host_id: str) -> bytes:
    batch = batches.make_batch(host_id=host_id)
    batches.add_page_sample(batch, pages=4000, intervals=60)
    return batch.SerializeToString()


def _samples(headers: dict[str, str]) -> Iterator[Hostile]:
    def write(name: str, message: Callable[[], bytes]) -> Hostile:
        return Hostile(f"remote write: {name}", "/api/v1/write", lambda: _snappy(message()), headers)

    def series(place: int, labels: int) -> bytes:
        named = [(b"__name__", b"m"), (b"instance", b"h"), (b"n", str(place).encode())]
        named += [(f"l{at}".encode(), b"v") for at in range(labels)]
        sample = b"\x09" + struct.pack("<d", 1.0) + b"\x10" + number(batches.now_ns() // 10**6)
        inner = b"".join(field(1, field(1, name) + field(2, value)) for name, value in named)
        return field(1, inner + field(2, sample))

    yield write("16 M empty series", lambda: field(1, b"") * (16 * MIB))
    yield write("a series of 16 M empty labels", lambda: field(1, field(1, b"") * (16 * MIB - 5)))
    yield write("4 M native histograms", lambda: field(1, field(4, b"") * (4 * MIB)))
    yield write("more new series than may be", lambda: b"".join(series(place, 4) for place in range(50_000)))
    yield write("as many new series as may be", lambda: b"".join(series(place, 1) for place in range(30_000)))
    yield write("labels of 32 MiB", lambda: field(1, field(1, field(1, b"n") + field(2, b"x" * 4000))) * 8000)
    two = headers | HEADERS_V2
    symbols = field(4, b"") + field(4, b"__name__") + field(4, b"x" * 4000)
    repeated = symbols + field(5, field(1, b"\1\2" * 60)) * 50_000
    yield Hostile("remote write 2.0: one symbol again and again", "/api/v1/write", lambda: _snappy(repeated), two)
    many = field(4, b"") * (16 * MIB)
    yield Hostile("remote write 2.0: 16 M empty symbols", "/api/v1/write", lambda: _snappy(many), two)
    claim = b"\xff\xff\xff\xff\x0f"
    yield Hostile("remote write: a claim of 4 GiB", "/api/v1/write", lambda: claim, headers)


def _exports(headers: dict[str, str]) -> Iterator[Hostile]:
    for name, make in hostile_exports().items():
        quick = name != "as many buckets as may be"  # half of the service's time for all of them; series are alike
        yield Hostile(f"OTLP: {name}", PATH, lambda make=make: gzip.compress(make()), headers, quick=quick)  # type: ignore[misc]


def _snappy(message: bytes) -> bytes:
    """Snappy's block format, with copies where the bytes repeat, as a sender who wants to stay small writes them."""
    out = bytearray(number(len(message)))
    at = 0
    while at < len(message):
        period = next((period for period in (2, 4, 1) if _is_repeated(message, at, period, _COPY_BYTES)), 0)
        if period:
            run = _COPY_BYTES
            while _is_repeated(message, at, period, 2 * run):
                run *= 2
            out += (bytes([(_COPY_BYTES - 1) << 2 | 2]) + struct.pack("<H", period)) * (run // _COPY_BYTES)
        else:
            run = min(_LITERAL_BYTES, len(message) - at)
            out += bytes([_LITERAL_OF_A_BYTE, run - 1]) + message[at : at + run]
        at += run
    return bytes(out)


def _is_repeated(message: bytes, at: int, period: int, count: int) -> bool:
    """Whether so many bytes are those that stand `period` before them."""
    before = at - period
    return before >= 0 and at + count <= len(message) and message[before : before + count] == message[at : at + count]


def _documents(headers: dict[str, str]) -> Iterator[Hostile]:
    sent = {"Content-Type": "application/json"}
    rule = {"name": "r", "expression": "rate(allocation_spill, 5m) > 5/s"}
    documents: dict[str, tuple[str, bytes]] = {
        "arrays within arrays": ("/v1/session", b"[" * MIB),
        "objects within objects": ("/v1/session", b'{"a":' * (MIB // 5)),
        "a number of a million digits": ("/v1/session", b'{"link": ' + b"9" * (MIB - 100) + b"}"),
        "100,000 keys that nobody knows": (
            "/v1/session",
            b"{" + b",".join(b'"%x":1' % place for place in range(100_000)) + b"}",
        ),
        "one key 100,000 times": ("/v1/session", b"{" + b",".join([b'"link":1'] * 100_000) + b"}"),
        "a list of 500,000": ("/v1/rules/check", b'{"rule": {"labels": [' + b"0," * 500_000 + b"0]}}"),
        "empty objects": ("/v1/silences", b'{"matchers": [' + b"{}," * 340_000 + b"{}]}"),
        "NaN within a rule": ("/v1/rules/check", json.dumps({"rule": rule | {"for": float("nan")}}).encode()),
        "infinity": ("/v1/tco/evaluate", b'{"spec": {"prices": {"dram": {"value": Infinity}}}}'),
        "half of a character": ("/v1/events", b'{"text": "\\ud800"}'),
        "empty lists for a scenario": ("/v1/tco/evaluate", b'{"spec": {"skus": [' + b"{}," * 340_000 + b"{}]}}"),
    }
    for name, (path, body) in documents.items():
        yield Hostile(f"JSON: {name}", path, lambda body=body: body, headers | sent)  # type: ignore[misc]
    yield Hostile(
        "JSON: 600 MiB without a length",
        "/v1/session",
        lambda: (b'{"link": "' + b"x" * MIB for _ in range(600)),
        sent,
        quick=False,
    )
    squeezed = gzip.compress(bytes(64 * MIB))
    gzipped = headers | sent | {"Content-Encoding": "gzip"}
    yield Hostile("JSON: gzip of zeros", "/v1/events", lambda: squeezed, gzipped)
    laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + at)}: &{chr(98 + at)} [{','.join([f'*{chr(97 + at)}'] * 10)}]\n" for at in range(12)
    )
    texts = {
        "aliases of aliases": laughs,
        "500,000 scalars": "[" + "a," * 490_000 + "a]",
        "brackets within brackets": "[" * 500_000,
        "mappings within mappings": "{a: " * 200_000,
        "an anchor 100,000 times": "- &a x\n" * 140_000,
    }
    for name, text in texts.items():
        body = json.dumps({"yaml": text}).encode()
        yield Hostile(f"YAML of rules: {name}", "/v1/rules/import", lambda body=body: body, headers | sent)  # type: ignore[misc]
        cut = json.dumps({"yaml": text[:190_000]}).encode()
        yield Hostile(f"YAML of a scenario: {name}", "/v1/scenarios", lambda cut=cut: cut, headers | sent)  # type: ignore[misc]


def _files(headers: dict[str, str]) -> Iterator[Hostile]:
    csv = headers | {"Content-Type": "text/csv"}
    wide = "host," + ",".join(f"l{at}" for at in range(60)) + "\n"
    tables = {
        "600,000 rows": "host,r\n" + "h,1\n" * 900_000,
        "as many rows as may be": "host,r\n" + "".join(f"h{at},x{at}\n" for at in range(50_000)),
        "rows of 60 labels": wide + ("h" + ",v" * 60 + "\n") * 30_000,
        "one cell of 4 MiB": 'host,r\n"' + "x" * (4 * MIB - 100),
        "rows that are wrong": "host,r\n" + "h,1,2\n" * 49_000,
        "a wide character": "host,r\n\U0001f525,1\n" + "h,1\n" * 49_000 + "x" * (3 * MIB),
    }
    for name, text in tables.items():
        yield Hostile(f"labels: {name}", "/v1/hosts/labels?dry_run=true", lambda text=text: text.encode(), csv)  # type: ignore[misc]
    binary = headers | _BINARY
    uploads: dict[str, tuple[Callable[[], Content], bool]] = {
        "64 MiB of zeros": (lambda: (bytes(MIB) for _ in range(64)), True),
        "64 MiB between Parquet's marks": (_parquet_frame, True),
        "a footer longer than the file": (lambda: b"PAR1" + bytes(64) + struct.pack("<I", 0x7FFFFFF0) + b"PAR1", True),
        "a footer that claims 2^60 rows": (lambda: _lying_footer(b"\x16", number(1 << 61)), True),
        "a footer with a list of 2^31": (lambda: _lying_footer(b"\x29\xfc", number(1 << 31)), True),
        "a trace of a billion rows": (lambda: _long_trace(20_000_000), False),
        "a trace of as many rows as may be": (lambda: _long_trace(9_900_000), False),
        "a workbook of 1 GiB of zeros": (_workbook, False),
        "gzip of zeros": (lambda: gzip.compress(bytes(256 * MIB)), False),
    }
    for name, (content, quick) in uploads.items():
        yield Hostile(f"trace: {name}", "/v1/simulator/uploads?name=t", content, binary, quick=quick)


def _parquet_frame() -> Iterator[bytes]:
    yield b"PAR1"
    for _ in range(63):
        yield b"\x15" * MIB
    yield struct.pack("<I", 63 * MIB) + b"PAR1"


def _lying_footer(field_of_it: bytes, lie: bytes) -> bytes:
    footer = b"\x15\x02" + field_of_it + lie + bytes(64)
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _long_trace(rows: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415 - likewise

    zeros = np.zeros(rows, np.int32)
    page = np.arange(rows, dtype=np.uint64) % 1000
    kind = pa.DictionaryArray.from_arrays(pa.array(zeros), pa.array(["heap"])).cast(pa.string())
    interval = (np.arange(rows) // 1000).astype(np.int32)
    table = pa.table(
        {
            "interval": interval,
            "page": page,
            "loads": zeros.astype(np.uint32) + 1,
            "stores": zeros.astype(np.uint32),
            "kind": kind,
        }
    )
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _workbook() -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/worksheets/sheet1.xml", "w") as sheet,
    ):
        for _ in range(1024):
            sheet.write(bytes(MIB))
    return out.getvalue()
