"""Counts what a protobuf body holds on its bytes, so that no object is made of a body that holds too much.

A few bytes of a body become hundreds in memory: an empty message is two bytes on the wire. The walk stops at the first
bound that is passed, so that its time follows the bounds and not the body.
"""

from dataclasses import dataclass
from functools import cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from tierscope.core.errors import Unreadable

MAX_MESSAGES = 16_384
MAX_FIELDS = 98_304
MAX_ELEMENTS = 1 << 20
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MORE = 0x80  # a byte of a varint that is not its last
_NOT_LAST = bytes(range(_MORE, 256))
_VARINT_BITS = 64
_FIXED_BYTES = {
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
}
_TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Most messages (inner ones), fields (of all messages) and elements of packed columns of a body."""

    messages: int = MAX_MESSAGES
    fields: int = MAX_FIELDS
    elements: int = MAX_ELEMENTS


@dataclass(frozen=True, slots=True)
class Counted:
    """What a body holds."""

    messages: int
    fields: int
    elements: int


Table = dict[int, "Table | int"]
"""What the length-delimited fields of a message hold, by number: a message, or bytes per element (0 = varints)."""


def check_bounds(data: bytes, message: type[Message], bounds: Bounds | None = None) -> Counted:
    """Returns how much a body of this message holds; fields that the schema does not know are stepped over.

    Raises:
        Unreadable: more than the bounds, cut off, or with groups, which no message of the contract has.
    """
    try:
        return _count(data, _table(message.DESCRIPTOR), bounds or Bounds())
    except IndexError as error:
        raise _cut_off() from error


def _count(data: bytes, table: Table, bounds: Bounds) -> Counted:  # noqa: C901, PLR0912 - a call per field costs as much as its step
    messages = fields = elements = at = 0
    end, outer = len(data), list[tuple[int, Table]]()
    while at < end or outer:
        if at >= end:
            if at > end:
                raise _cut_off()
            end, table = outer.pop()
            continue
        fields += 1
        if fields > bounds.fields:
            raise _too_many("fields", bounds.fields)
        tag = data[at]
        at += 1
        if tag >= _MORE:
            if data[at] >= _MORE:
                raise Unreadable("the body has a field of a number beyond 2047, which no release has")
            tag, at = tag & 0x7F | data[at] << 7, at + 1
        wire = tag & 7
        if wire != _BYTES:
            at = _step_over(data, at, wire)
            continue
        length = data[at]
        at += 1
        if length >= _MORE:
            length, at = _varint(data, at - 1)
        after = at + length
        if after > end:
            raise _cut_off()
        inner = table.get(tag >> 3)
        if isinstance(inner, dict):
            messages += 1
            if messages > bounds.messages:
                raise _too_many("messages", bounds.messages)
            outer.append((end, table))
            table, end = inner, after
            continue
        if inner is not None:
            elements += length // inner if inner else len(data[at:after].translate(None, _NOT_LAST))
            if elements > bounds.elements:
                raise _too_many("elements", bounds.elements)
        at = after
    if at > end:
        raise _cut_off()
    return Counted(messages, fields, elements)


def _step_over(data: bytes, at: int, wire: int) -> int:
    """Returns where a field ends that is a number."""
    if wire == _VARINT:
        while data[at] >= _MORE:
            at += 1
        return at + 1
    if wire == _FIXED64:
        return at + 8
    if wire == _FIXED32:
        return at + 4
    raise Unreadable("the body is not a protobuf message of this contract: it has groups")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a varint and where it ends."""
    value = shift = 0
    while shift < _VARINT_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _MORE:
            return value, at
        shift += 7
    raise Unreadable("the body is not a protobuf message: a number has more than 64 bits")


@cache
def _table(descriptor: Descriptor) -> Table:
    return _fill(descriptor, {})


def _fill(descriptor: Descriptor, made: dict[str, Table]) -> Table:
    """The table of a message; `made` has those that are begun, since messages may hold their own kind."""
    if descriptor.full_name in made:
        return made[descriptor.full_name]
    found = made[descriptor.full_name] = {}
    for field in descriptor.fields:
        if field.message_type is not None:
            found[field.number] = _fill(field.message_type, made)
        elif field.type not in _TEXTS:
            found[field.number] = _FIXED_BYTES.get(field.type, 0)
    return found


def _cut_off() -> Unreadable:
    return Unreadable("the body is not a protobuf message, or is truncated")


def _too_many(what: str, most: int) -> Unreadable:
    return Unreadable(f"the body has more than {most} {what}, at most that many are accepted")
