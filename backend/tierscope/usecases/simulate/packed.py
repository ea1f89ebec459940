"""Series and heat as they are stored: JSON, compressed."""

import json
import math
from typing import Any

import numpy as np
import zstandard

from tierscope.domain.simulate.bands import Bands

_MAX_BYTES = 64 << 20


def pack(document: object) -> bytes:
    """JSON, compressed."""
    return zstandard.ZstdCompressor(level=3).compress(json.dumps(document).encode())


def unpack(body: bytes) -> Any:  # noqa: ANN401 - whatever was packed
    """What was packed."""
    return json.loads(zstandard.ZstdDecompressor().decompress(body, max_output_size=_MAX_BYTES))


def pack_bands(bands: Bands) -> bytes:
    """The heat of a trace; cells where no page was there are null."""
    cells = [[None if math.isnan(value) else value for value in row] for row in bands.accesses.tolist()]
    return pack({"kinds": bands.kinds, "pages": bands.pages, "intervals": bands.intervals, "accesses": cells})


def unpack_bands(body: bytes) -> Bands:
    """The heat that was packed."""
    found = unpack(body)
    return Bands(
        tuple(found["kinds"]),
        tuple(found["pages"]),
        tuple(found["intervals"]),
        np.array(found["accesses"], np.float64),
    )
