"""Bodies are counted on their bytes: what is refused never becomes objects, and what is counted is what there is."""

import gc
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import batches
from factories.protobuf_bytes import field, number
from tierscope.core.errors import TierscopeError, Unreadable
from tierscope.wire._generated import batch_pb2
from tierscope.wire.bounds import MAX_ELEMENTS, MAX_FIELDS, MAX_MESSAGES, Bounds, Counted, check_bounds
from tierscope.wire.decode import DecodeLimits, decode_message

INFLATED_BYTES = DecodeLimits().inflated_bytes
STRINGS, INVENTORY, COUNTERS, HEAT, SELF = 10, 11, 13, 14, 18
KNOBS, BENCHES, FIGURES, COLLECTORS = 12, 21, 4, 11
HEAD = batches.make_batch().SerializeToString()


def full(part: bytes) -> bytes:
    """The head of a batch, and as much of `part` as a body holds."""
    return HEAD + part * ((INFLATED_BYTES - len(HEAD)) // len(part))


EXPLOSIVE: dict[str, Callable[[], bytes]] = {
    "empty messages": lambda: full(field(HEAT, b"")),
    "empty texts": lambda: full(field(STRINGS, b"")),
    "messages within the inventory": lambda: HEAD + field(INVENTORY, field(KNOBS, b"") * 4_000_000),
    "messages within messages": lambda: HEAD + field(INVENTORY, field(BENCHES, field(FIGURES, b"") * 5) * 500_000),
    "an inventory that is sent again and again": lambda: full(field(INVENTORY, field(KNOBS, b""))),
    "collectors": lambda: HEAD + field(SELF, field(COLLECTORS, b"") * 4_000_000),
    "a packed column": lambda: HEAD + field(HEAT, field(4, b"\1" * 8_000_000)),
    "packed columns": lambda: full(field(HEAT, field(4, b"\1" * 200))),
    "a column that is not packed": lambda: HEAD + field(HEAT, b"\x20\1" * 4_000_000),
    "numbers of ten bytes": lambda: HEAD + field(HEAT, (b"\x20" + b"\xff" * 9 + b"\1") * 700_000),
    "fields that nobody knows": lambda: full(field(1999, b"")),
}


@pytest.mark.parametrize("name", EXPLOSIVE)
def test_what_explodes_is_refused_before_protobuf_sees_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = EXPLOSIVE[name]()
    assert len(body) <= INFLATED_BYTES
    monkeypatch.setattr("tierscope.wire.decode.batch_pb2", SimpleNamespace(Batch=_NeverParsed))
    with pytest.raises(Unreadable, match="more than"):
        decode_message(body, DecodeLimits())


class _NeverParsed:
    DESCRIPTOR = batch_pb2.Batch.DESCRIPTOR

    def __init__(self) -> None:
        raise AssertionError("the body reached protobuf")


@pytest.mark.parametrize(
    "body",
    [
        field(HEAT, b"") * (MAX_MESSAGES + 1),
        field(STRINGS, b"") * (MAX_FIELDS + 1),
        field(HEAT, field(4, b"\1" * (MAX_ELEMENTS + 1))),
    ],
)
def test_the_bounds_are_exact(body: bytes) -> None:
    counted = check_bounds(body, batch_pb2.Batch, Bounds(1 << 30, 1 << 30, 1 << 30))
    roomy = Bounds(counted.messages, counted.fields, counted.elements)
    assert check_bounds(body, batch_pb2.Batch, roomy) == counted
    with pytest.raises(Unreadable, match="at most"):
        check_bounds(body, batch_pb2.Batch)


def test_a_full_batch_is_counted_as_protobuf_lists_it() -> None:
    batch = batches.full_batch()
    batch.tile_epochs[0].offset_bytes.extend([1 << 60, -1])
    assert check_bounds(batch.SerializeToString(), batch_pb2.Batch) == _listed(batch)


def _listed(message: object) -> Counted:
    """Messages, fields and elements of packed columns, from protobuf's own list."""
    messages = fields = elements = 0
    for described, value in message.ListFields():  # type: ignore[attr-defined]
        several = described.is_repeated
        if described.message_type is not None:
            for inner in value if several else [value]:
                found = _listed(inner)
                messages, fields, elements = (
                    messages + 1 + found.messages,
                    fields + 1 + found.fields,
                    elements + found.elements,
                )
        elif several and described.type not in {described.TYPE_STRING, described.TYPE_BYTES}:
            fields, elements = fields + 1, elements + len(value)
        else:
            fields += len(value) if several else 1
    return Counted(messages, fields, elements)


def test_fields_of_later_releases_are_stepped_over() -> None:
    later = field(200, b"new") + number(201 << 3) + number(1 << 40) + number(202 << 3 | 1) + bytes(8)
    later += number(203 << 3 | 5) + bytes(4)
    assert check_bounds(HEAD + later, batch_pb2.Batch).fields == len(batches.make_batch().ListFields()) + 4
    assert decode_message(HEAD + later, DecodeLimits()).batch.host_id == "h1"


@pytest.mark.parametrize(
    "body",
    [
        b"\x0b" * 100_000,
        b"\x0c",
        b"\x0e",
        field(14, b"")[:1],
        b"\x72\x05abc",
        b"\x72\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x72" + b"\xff" * 11,
        b"\x80\x80\x01",
        b"\x08",
        b"\x08\xff",
        b"\x09abc",
        b"\x0dab",
        field(HEAT, b"\x20"),
        field(HEAT, b"\x21abc"),
        field(HEAT, b"\x20\xff") + b"\1",
    ],
)
def test_what_is_no_message_is_told(body: bytes) -> None:
    with pytest.raises(Unreadable):
        check_bounds(body, batch_pb2.Batch)


@given(st.binary(max_size=200))
def test_whatever_the_bytes_the_walk_ends_and_takes_what_protobuf_takes(body: bytes) -> None:
    try:
        batch_pb2.Batch().ParseFromString(body)
        readable = True
    except Exception:  # noqa: BLE001 - whatever protobuf says
        readable = False
    cause = _cause(body)
    assert cause is None or not readable or "groups" in cause or "2047" in cause


def _cause(body: bytes) -> str | None:
    try:
        check_bounds(body, batch_pb2.Batch)
    except TierscopeError as error:
        return error.detail
    return None


def test_refusing_makes_no_more_objects_than_the_bounds() -> None:
    body = EXPLOSIVE["empty messages"]()
    before = len(gc.get_objects())
    with pytest.raises(Unreadable):
        decode_message(body, DecodeLimits())
    assert len(gc.get_objects()) - before < MAX_MESSAGES
