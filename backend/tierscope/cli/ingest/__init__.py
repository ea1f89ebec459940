"""Commands that take recordings and history in."""
