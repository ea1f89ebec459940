"""Storing batches: a group of them in one transaction, each exactly once (docs/decisions/0002-exactly-once.md)."""

from tierscope.storage.ingest.group import store_group
from tierscope.storage.ingest.incoming import Incoming, Outcome, Stored, StoreLimits
from tierscope.storage.ingest.registry import MAX_LOOKUPS, OutdatedError, Registry

__all__ = [
    "MAX_LOOKUPS",
    "Incoming",
    "Outcome",
    "OutdatedError",
    "Registry",
    "StoreLimits",
    "Stored",
    "store_group",
]
