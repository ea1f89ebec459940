"""Storing batches: a group of them in one transaction, each exactly once (docs/decisions/0002-exactly-once.md)."""

from tierscope.storage.ingest.group import store_group
from tierscope.storage.ingest.incoming import Incoming, Outcome, Stored, StoreLimits
from tierscope.storage.ingest.registry import OutdatedError, Registry

__all__ = ["Incoming", "Outcome", "OutdatedError", "Registry", "StoreLimits", "Stored", "store_group"]
