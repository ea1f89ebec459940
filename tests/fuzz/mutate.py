"""New bodies from old ones: flipped, cut, repeated and joined, with bytes that parsers stumble over."""

import random
from collections.abc import Sequence

MAX_BYTES = 1 << 16
_ODD = (
    b"\x00",
    b"\xff" * 10,
    b"\x80" * 9 + b"\x01",
    b"\xff\xff\xff\xff\x0f",
    b"[" * 200,
    b"{" * 200,
    b"\\u0000\\ud800",
    "\u202e\u0000".encode(),
    b"&a [*a,*a]",
    b"(" * 50,
    b"1e999999",
    b"-" + b"9" * 400,
    b'\n\r,;\t"',
    b"(?:.*){1000}",
)


def mutate(random_: random.Random, pool: Sequence[bytes]) -> bytes:
    """A body made from one or two of `pool` by up to six changes; at most `MAX_BYTES` long."""
    body = bytearray(random_.choice(pool))
    for _ in range(random_.randint(1, 6)):
        at = random_.randint(0, len(body))
        match random_.randrange(6):
            case 0 if body:
                body[at % len(body)] ^= 1 << random_.randrange(8)
            case 1:
                del body[at : at + random_.randint(1, 16)]
            case 2:
                body[at:at] = random_.choice(_ODD)
            case 3:
                start = random_.randint(0, len(body))
                body[at:at] = body[start : start + random_.randint(1, 64)] * random_.choice((1, 2, 100))
            case 4:
                body[at:] = random_.choice(pool)[at:]
            case _:
                body[at : at + 1] = random_.randbytes(random_.randint(1, 8))
    return bytes(body[:MAX_BYTES])
