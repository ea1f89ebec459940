"""Counters of kernels and services, their schemas and rollups."""
