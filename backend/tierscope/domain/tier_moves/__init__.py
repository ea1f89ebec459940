"""Tier moves: the ledger of promotions and demotions, normalised over kernel dialects, and what it says."""

from tierscope.domain.tier_moves.columns import COLUMN_INDEX, COLUMN_KEYS, COLUMNS, Column, Dialect, Trust

__all__ = ["COLUMNS", "COLUMN_INDEX", "COLUMN_KEYS", "Column", "Dialect", "Trust"]
