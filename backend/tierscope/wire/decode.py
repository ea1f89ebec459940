"""A body of POST /v1/ingest/batches as a checked `Batch`: inflate within bounds, count, parse, check everything.

Whatever arrives, the outcome is a `Batch` or one of the errors below, each naming the field and what is wrong with it.
Nothing here asks the database: whether a layout is known, or a sequence number was seen, is decided by ingest.
"""

from dataclasses import dataclass

from google.protobuf.message import DecodeError

from tierscope.core.errors import UnknownVersion, Unreadable
from tierscope.domain.base.figures import Origin
from tierscope.domain.ingest.batch import Batch
from tierscope.wire import checks
from tierscope.wire._generated import batch_pb2
from tierscope.wire.bounds import check_bounds
from tierscope.wire.counters import decode_counters, decode_layout
from tierscope.wire.heat import decode_gaps, decode_heat
from tierscope.wire.inflate import inflate
from tierscope.wire.inventory import decode_inventory, decode_self
from tierscope.wire.tiles import decode_columns, decode_epoch
from tierscope.wire.traces import decode_page_samples

SCHEMA_VERSION = 1
STREAM_ID_BYTES = 16
MAX_SEQ = 1 << 62
MAX_ID_BYTES = 64
MAX_BLOCKS = 4096
_ORIGINS: dict[int, Origin] = {1: "live", 2: "import", 3: "simulated"}


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """Bounds of one batch."""

    inflated_bytes: int = 8 << 20
    counter_names: int = 4096
    services: int = 200


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch, and how many services of its inventory were beyond the limit."""

    batch: Batch
    services_left_out: int


def decode_body(body: bytes, limits: DecodeLimits) -> Decoded:
    """Decodes a compressed body.

    Raises:
        InflatedTooLarge: more than the cap once inflated.
        UnknownVersion: a major schema version that this release does not know.
        Unreadable: truncated, corrupt, or its parts contradict each other.
    """
    return decode_message(inflate(body, cap_bytes=limits.inflated_bytes), limits)


def decode_message(data: bytes, limits: DecodeLimits) -> Decoded:
    """Decodes an inflated body. Raises as `decode_body`."""
    check_bounds(data, batch_pb2.Batch)
    message = batch_pb2.Batch()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise Unreadable("the body is not a protobuf message, or is truncated") from error
    if message.schema_version != SCHEMA_VERSION:
        found = message.schema_version
        raise UnknownVersion(f"schema version {found}, this service reads {SCHEMA_VERSION}", schema_version=found)
    for name in ("layouts", "counters", "heat", "gaps", "tile_epochs", "tile_columns", "page_samples"):
        if len(getattr(message, name)) > MAX_BLOCKS:
            raise Unreadable(f"{name} has {len(getattr(message, name))} entries, at most {MAX_BLOCKS} are accepted")
    return _decode(message, len(data), limits)


def _decode(message: batch_pb2.Batch, inflated_bytes: int, limits: DecodeLimits) -> Decoded:
    strings = checks.Strings(message.strings)
    origin = _ORIGINS.get(message.origin)
    if origin is None:
        raise Unreadable(f"origin is {message.origin}")
    if len(message.stream_id) != STREAM_ID_BYTES:
        raise Unreadable(f"stream_id has {len(message.stream_id)} bytes, {STREAM_ID_BYTES} are needed")
    if not message.host_id:
        raise Unreadable("host_id is empty")
    inventory, left_out = (
        decode_inventory(message.inventory, max_services=limits.services)
        if message.HasField("inventory")
        else (None, 0)
    )
    keys = limits.counter_names
    epochs = tuple(decode_epoch(item, strings) for item in message.tile_epochs)
    batch = Batch(
        host_id=checks.check_text(message.host_id, "host_id", max_bytes=MAX_ID_BYTES),
        stream_id=message.stream_id,
        seq=checks.scalar(message.seq, "seq", 0, MAX_SEQ),
        boot_id=checks.check_text(message.boot_id, "boot_id", max_bytes=MAX_ID_BYTES),
        agent_version=checks.check_text(message.agent_version, "agent_version", max_bytes=MAX_ID_BYTES),
        origin=origin,
        sealed_wall_ns=checks.wall_time(message.sealed_wall_ns, "sealed_wall_ns"),
        sealed_boottime_ns=checks.scalar(message.sealed_boottime_ns, "sealed_boottime_ns") or None,
        inventory=inventory,
        layouts=tuple(decode_layout(item, max_keys=keys) for item in message.layouts),
        counters=tuple(decode_counters(item, max_keys=keys) for item in message.counters),
        heat=tuple(decode_heat(item, strings) for item in message.heat),
        gaps=tuple(decode_gaps(item, strings) for item in message.gaps),
        tile_epochs=epochs,
        tile_columns=decode_columns(message.tile_columns, epochs),
        page_samples=decode_page_samples(message.page_samples, strings),
        self_report=decode_self(message.self) if message.HasField("self") else None,
        inflated_bytes=inflated_bytes,
    )
    return Decoded(batch=batch, services_left_out=left_out)
