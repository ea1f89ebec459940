"""Protobuf by hand, for bodies that no library writes."""


def number(value: int) -> bytes:
    """A varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(place: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return number(place << 3 | 2) + number(len(content)) + content
