"""Figures of the service about itself, for /metrics."""
