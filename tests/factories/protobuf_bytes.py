"""Protobuf and snappy by hand, for bodies that no library writes."""


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(place: int, content: bytes) -> bytes:
    return number(place << 3 | 2) + number(len(content)) + content


def in_snappy(message: bytes) -> bytes:
    """The block format of snappy, with literals alone."""
    parts = [message[at : at + 60] for at in range(0, len(message), 60)]
    return number(len(message)) + b"".join(bytes([(len(part) - 1) << 2]) + part for part in parts)
