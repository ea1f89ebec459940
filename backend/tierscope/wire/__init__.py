"""Batches as they travel: inflated within bounds, parsed, checked, turned into typed records."""
