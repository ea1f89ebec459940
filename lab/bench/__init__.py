"""Benchmarks: ratios against a reference in the same run. `make bench` runs them; nothing here is a test."""
