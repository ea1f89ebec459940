"""Rebuilding: from marks to the ledger, rollups, packs and coarse tiles."""
