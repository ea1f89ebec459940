"""Counter schemas: the names of counters in order, which values are found by."""

import hashlib
from collections.abc import Sequence

HASH_BYTES = 16


def schema_hash(keys: Sequence[str]) -> bytes:
    """First 16 bytes of SHA-256 over the keys, each followed by a line feed, as the contract says."""
    return hashlib.sha256("".join(f"{key}\n" for key in keys).encode()).digest()[:HASH_BYTES]
