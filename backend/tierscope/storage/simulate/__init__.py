"""Placement policies replayed on page traces, and sweeps of them."""
